import { done } from "../../std/result.ts";
import type { RefIdLookup } from "./claims.ts";
import { MicroBatcher } from "./micro-batcher.ts";
import type { Decided, PendingCommand, Steps } from "./pending-command.ts";

/**
 * Reports outcomes to callers once everything that they depend on is durable. A rejected command with a ref_id may be
 * the retry of one that succeeded, so its ref_id is looked up first.
 */
export class OutcomeReporter {
  readonly #refIds: RefIdLookup;
  readonly #steps: Steps;
  readonly #repeated: MicroBatcher<PendingCommand>;

  /** @param max commands per ref_id lookup */
  constructor(refs: RefIdLookup, max: number, steps: Steps) {
    this.#refIds = refs;
    this.#steps = steps;
    this.#repeated = new MicroBatcher(max, (group) => this.#admitFree(group.filter((pending) => !pending.isComplete)));
  }

  report(decided: readonly Decided[]): void {
    const toLookUp: Decided[] = [];
    for (const one of decided) {
      const { pending, decision } = one;
      if (decision.kind === "done") pending.complete(done(decision.value));
      else if (decision.kind === "rejected" && pending.command.claim === undefined) pending.complete(decision);
      else toLookUp.push(one);
    }
    if (toLookUp.length > 0) void this.#reportByRefId(toLookUp);
  }

  /** For a command that is probably a retry: it is admitted only if its ref_id is free. */
  lookUpFirst(pending: PendingCommand): void {
    this.#repeated.add(pending);
  }

  async #admitFree(some: readonly PendingCommand[]): Promise<void> {
    try {
      for (const free of await this.#refIds.lookUp(some)) this.#steps.admit(free);
    } catch (error) {
      for (const pending of some) this.#steps.fail(pending, error);
    }
  }

  async #reportByRefId(decided: readonly Decided[]): Promise<void> {
    try {
      const free = await this.#refIds.lookUp(decided.map(({ pending }) => pending));
      for (const { pending, decision } of decided) {
        if (!free.has(pending)) continue;
        if (decision.kind === "rejected") pending.complete(decision);
        else this.#steps.admit(pending);
      }
    } catch (error) {
      for (const { pending } of decided) this.#steps.fail(pending, error);
    }
  }
}
