/** Long work in turns of the event loop: between two of them others have theirs. */
import { setImmediate as otherWork } from "node:timers/promises";

export class TurnsOfWork {
  readonly #ms: number;
  readonly #now: () => number;
  #began: number;

  /**
   * @param ms how long a turn takes; the piece of work in which it ends is finished
   * @param now monotonic, in milliseconds
   */
  constructor(ms: number, now: () => number = () => performance.now()) {
    this.#ms = ms;
    this.#now = now;
    this.#began = now();
  }

  get isOver(): boolean {
    return this.#now() - this.#began >= this.#ms;
  }

  async next(): Promise<void> {
    await otherWork();
    this.#began = this.#now();
  }
}
