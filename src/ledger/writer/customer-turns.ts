/**
 * A customer's commands whose rows other processes change all the time are decided in turns, as many as have gathered since the
 * last one: of all processes that share the database one at a time, because they would each hold some rows and wait for others,
 * and in this one with pauses, because nobody else's commands are decided meanwhile.
 */
import { pause, restMs } from "../../std/pause.ts";
import { LIMITS } from "./lane-options.ts";

export class CustomerTurns {
  /** By customer: resolves when the next turn may begin. */
  readonly #next = new Map<string, Promise<void>>();

  /** Whether the customer waits for a turn, or has one, or had one a moment ago. */
  has(customer: string): boolean {
    return this.#next.has(customer);
  }

  /** @returns when the turn before it is over, and the pause after that */
  async until(customer: string): Promise<void> {
    await this.#next.get(customer);
  }

  /** @param turn resolves with how long it has kept others waiting, in ms, when it is over */
  add(customer: string, turn: Promise<number>): void {
    const next = turn.then((ms) => pause(restMs(ms, LIMITS.turnPauses)));
    this.#next.set(customer, next);
    void next.then(() => {
      if (this.#next.get(customer) === next) this.#next.delete(customer);
    });
  }
}

/** Returns when no other process has a turn of the customer: none can begin one before this transaction ends. */
export const TAKE_TURN = "select from pg_advisory_xact_lock(hashtextextended('turn of ' || $1, 0))";
