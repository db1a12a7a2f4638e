/** Decides commands in batches whose rows are locked first, and anew when one of these is refused. */
import { pause } from "../../std/pause.ts";
import { Held, isContention } from "./batch-conflicts.ts";
import { LIMITS } from "./lane-options.ts";
import type { LockQueue } from "./lock-queue.ts";
import type { PendingCommand } from "./pending-command.ts";
import type { LockedTogether, RowLine } from "./row-lines.ts";

interface Ways {
  /** One batch. @returns the error when nothing was committed */
  readonly save: (group: readonly PendingCommand[], line?: RowLine) => Promise<Error | undefined>;
  readonly fail: (pending: PendingCommand, error: Error) => void;
}

export class LockedBatches {
  readonly #mostTogether: number;
  readonly #queue: Pick<LockQueue, "onLocked" | "onRefused">;
  readonly #ways: Ways;

  /** @param mostTogether commands of one batch */
  constructor(mostTogether: number, queue: Pick<LockQueue, "onLocked" | "onRefused">, ways: Ways) {
    this.#mostTogether = mostTogether;
    this.#queue = queue;
    this.#ways = ways;
  }

  /**
   * Others are decided in the first batch. If that is refused, it may be because of any of them, so each part has a batch of its
   * own: then it is refused because of its own commands only.
   */
  async decide({ commands, line, others = [] }: LockedTogether): Promise<void> {
    const [first = [], ...more] = inGroups(commands, this.#mostTogether);
    if (others.length === 0) await this.#decideGroup(first, line);
    else if ((await this.#ways.save([...first, ...others], line)) === undefined) this.#queue.onLocked();
    else for (const part of [first, others]) await this.#decideGroup(part);
    for (const group of more) await this.#decideGroup(group);
  }

  /**
   * If another process was in the way of a batch, what it has claimed is found when the batch is decided again. If that fails
   * too, each half is decided, and so on, so that a poisonous command fails alone.
   */
  async #decideGroup(group: readonly PendingCommand[], line?: RowLine): Promise<void> {
    const [pending] = group;
    if (pending === undefined) return;
    const claims = group.flatMap((one) => one.claims);
    let failure = await this.#ways.save(group, line);
    if (failure !== undefined && isContention(failure, claims)) failure = await this.#ways.save(group);
    if (failure === undefined) this.#queue.onLocked();
    else if (failure instanceof Held) this.#queue.onRefused(group);
    else if (group.length === 1) await this.#decideAlone(pending);
    else for (const half of inGroups(group, Math.ceil(group.length / 2))) await this.#decideGroup(half);
  }

  async #decideAlone(pending: PendingCommand): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const failure = await this.#ways.save([pending]);
      if (failure === undefined) return;
      if (failure instanceof Held) return this.#queue.onRefused([pending]);
      if (attempt === LIMITS.rounds || !isContention(failure, pending.claims)) return this.#ways.fail(pending, failure);
      await pause(Math.random() * 10 * 2 ** attempt);
    }
  }
}

const inGroups = <Item>(items: readonly Item[], size: number): (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
