import type { RefIdLookup } from "./claims.ts";
import { MicroBatcher } from "./micro-batcher.ts";
import type { Decided, PendingCommand, Steps } from "./pending-command.ts";

/**
 * Tells the callers, once what their answers rest on is durable. Whoever was refused with a ref_id might be repeating
 * something that has succeeded, which the database is asked about first.
 */
export class Answers {
  readonly #refIds: RefIdLookup;
  readonly #steps: Steps;
  readonly #repeated: MicroBatcher<PendingCommand>;

  /** `most`: commands whose ref_ids are looked up at once. */
  constructor(refs: RefIdLookup, most: number, steps: Steps) {
    this.#refIds = refs;
    this.#steps = steps;
    this.#repeated = new MicroBatcher(most, (group) => this.#admitFree(group.filter((waiting) => !waiting.answered)));
  }

  tell(decided: readonly Decided[]): void {
    const toLookUp: Decided[] = [];
    for (const one of decided) {
      const { waiting, decision } = one;
      if (decision === "taken" || (!decision.accepted && waiting.command.claim !== undefined)) toLookUp.push(one);
      else if (decision.accepted) waiting.answer({ kind: "done", value: decision.value });
      else waiting.answer({ kind: "rejected", rejection: decision.rejection });
    }
    if (toLookUp.length > 0) void this.#tellByRef(toLookUp);
  }

  /** For a command that is probably repeated: it is only admitted when its ref_id is free. */
  lookUpFirst(waiting: PendingCommand): void {
    this.#repeated.add(waiting);
  }

  async #admitFree(some: readonly PendingCommand[]): Promise<void> {
    try {
      for (const free of await this.#refIds.lookUp(some)) this.#steps.admit(free);
    } catch (error) {
      for (const waiting of some) this.#steps.fail(waiting, error);
    }
  }

  async #tellByRef(decided: readonly Decided[]): Promise<void> {
    try {
      const free = await this.#refIds.lookUp(decided.map(({ waiting }) => waiting));
      for (const { waiting, decision } of decided) {
        if (!free.has(waiting)) continue;
        if (decision === "taken" || decision.accepted) this.#steps.admit(waiting);
        else waiting.answer({ kind: "rejected", rejection: decision.rejection });
      }
    } catch (error) {
      for (const { waiting } of decided) this.#steps.fail(waiting, error);
    }
  }
}
