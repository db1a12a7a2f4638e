/**
 * Commands whose rows are known, until they are decided: light ones by customer, and heavy ones, which engines commit, in the
 * order of their arrival. A batch has few heavy ones, and while it is being committed no other has any, so what is light waits
 * for one such batch, not for what all markets execute.
 */
import type { DecidedBatch } from "./decider.ts";
import type { PendingCommand } from "./pending-command.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";

/** Of a command, and of all heavy ones of a batch, in rows. A batch of as many takes some 50 ms. */
const HEAVY = { from: 200, mostOfBatch: 1_000 } as const;

/** Only of commands that say so themselves: a bulk of transfers is as long as its customer makes it, and waits in its queue. */
const isHeavy = ({ command }: PendingCommand): boolean => (command.weight ?? 0) >= HEAVY.from;

export class CommandQueue {
  readonly #light = new RoundRobinQueue<PendingCommand>(({ weight }) => weight);
  readonly #heavy: PendingCommand[] = [];

  push(pending: PendingCommand): void {
    if (isHeavy(pending)) this.#heavy.push(pending);
    else this.#light.push(pending.command.queueKey, pending);
  }

  /** Takes up to `max` commands, of up to `maxRows` together; the first one whatever it weighs. */
  take(max: number, maxRows: number, inFlight: readonly Pick<DecidedBatch, "decided">[]): PendingCommand[] {
    const isBesideHeavy = inFlight.some(({ decided }) => decided.some(({ pending }) => isHeavy(pending)));
    const heavy = isBesideHeavy ? [] : this.#takeHeavy();
    const rows = heavy.reduce((sum, { weight }) => sum + weight, 0);
    return [...heavy, ...this.#light.take(max - heavy.length, maxRows, rows)];
  }

  takeAll(): PendingCommand[] {
    return [...this.#heavy.splice(0), ...this.#light.take(this.#light.size)];
  }

  #takeHeavy(): PendingCommand[] {
    let rows = 0;
    const end = this.#heavy.findIndex(({ weight }, place) => {
      rows += weight;
      return place > 0 && rows > HEAVY.mostOfBatch;
    });
    return this.#heavy.splice(0, end < 0 ? this.#heavy.length : end);
  }
}
