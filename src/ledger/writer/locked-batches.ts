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
   * If another process was in the way of a batch, what it has claimed is found when the batch is decided again. If that fails
   * too, one command per batch, so that a poisonous command fails alone.
   * @param others to be decided in the first batch
   * @returns those of them that have to be decided elsewhere, because it was refused
   */
  async decide(
    { commands, line }: LockedTogether,
    others: readonly PendingCommand[] = [],
  ): Promise<readonly PendingCommand[]> {
    const [first, ...more] = inGroups(commands, this.#mostTogether);
    if (first === undefined) return others;
    const areOthersDone = await this.#decideGroup(first, others, line);
    for (const group of more) await this.#decideGroup(group);
    return areOthersDone ? [] : others;
  }

  /** @returns whether the first batch was committed */
  async #decideGroup(
    group: readonly PendingCommand[],
    others: readonly PendingCommand[] = [],
    line?: RowLine,
  ): Promise<boolean> {
    const together = [...group, ...others];
    const refused = await this.#ways.save(together, line);
    const claims = together.flatMap((pending) => pending.claims);
    const isInTheWay = refused !== undefined && isContention(refused, claims);
    const failure = isInTheWay ? await this.#ways.save(group) : refused;
    if (refused !== undefined) for (const pending of group) pending.wasRefused = true;
    if (failure === undefined) this.#queue.onLocked();
    else if (failure instanceof Held) this.#queue.onRefused(group);
    else for (const pending of group) await this.#decideAlone(pending);
    return refused === undefined;
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
