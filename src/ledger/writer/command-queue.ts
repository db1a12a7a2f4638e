/**
 * Commands whose rows are known, until they are decided: light ones by customer, and heavy ones, which engines commit, in the
 * order of their arrival. Heavy ones have batches of their own, one at a time, with light ones between two, so what is light
 * waits for one such batch, not for what all markets execute.
 */
import type { DecidedBatch } from "./decider.ts";
import type { PendingCommand } from "./pending-command.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";

/** In rows: of a command, and of all of a batch, which may have one that is larger. Such a batch takes some 50 ms. */
const HEAVY = { from: 200, mostTogether: 500 } as const;

/** Only of commands that say so themselves: a bulk of transfers is as long as its customer makes it, and waits in its queue. */
const isHeavy = ({ command }: PendingCommand): boolean => (command.weight ?? 0) >= HEAVY.from;

export class CommandQueue {
  readonly #light = new RoundRobinQueue<PendingCommand>(({ weight }) => weight);
  readonly #heavy: PendingCommand[] = [];
  /** Whether a light batch was taken since the last heavy one was in flight: what came meanwhile is not to wait for two. */
  #isHeavyNext = true;

  push(pending: PendingCommand): void {
    if (isHeavy(pending)) this.#heavy.push(pending);
    else this.#light.push(pending.command.queueKey, pending);
  }

  /** For one batch. Takes up to `max` light commands, of up to `maxRows` together; the first one whatever it weighs. */
  take(max: number, maxRows: number, inFlight: readonly Pick<DecidedBatch, "decided">[]): PendingCommand[] {
    const isBesideHeavy = inFlight.some(({ decided }) => decided.some(({ pending }) => isHeavy(pending)));
    const mayBeHeavy = this.#heavy.length > 0 && !isBesideHeavy;
    const takesHeavy = mayBeHeavy && (this.#isHeavyNext || this.#light.size === 0);
    this.#isHeavyNext = !takesHeavy && !isBesideHeavy;
    return takesHeavy ? this.#takeHeavy() : this.#light.take(max, maxRows);
  }

  takeAll(): PendingCommand[] {
    return [...this.#heavy.splice(0), ...this.#light.take(this.#light.size)];
  }

  #takeHeavy(): PendingCommand[] {
    let rows = 0;
    const end = this.#heavy.findIndex(({ weight }, place) => {
      rows += weight;
      return place > 0 && rows > HEAVY.mostTogether;
    });
    return this.#heavy.splice(0, end < 0 ? this.#heavy.length : end);
  }
}
