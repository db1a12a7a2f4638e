/**
 * Lets the engines of a process close what is overdue in turns: such rounds wait for one another in the ledger's queue, and all
 * that a market's customers send meanwhile waits for the round of their market that has begun.
 */

/** One that is committed, and one behind it. */
const AT_ONCE = 2;

export class ExpiryTurns {
  #free: number = AT_ONCE;
  readonly #waiting = new Set<() => void>();

  get isFree(): boolean {
    return this.#free > 0;
  }

  /** @returns false if there is none: `wake` is called when there may be one. What was taken is to be given back. */
  take(wake: () => void): boolean {
    if (this.#free === 0) {
      this.#waiting.add(wake);
      return false;
    }
    this.#free -= 1;
    this.#waiting.delete(wake);
    return true;
  }

  giveBack(): void {
    this.#free += 1;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }
}
