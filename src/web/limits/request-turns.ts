/**
 * Spreads requests that arrive together over turns of the event loop, and takes them in turn by caller. Node hands over all
 * requests that a turn has read from its connections before it looks at anything else, and accepts one new connection in a
 * turn: without this, a hundred connections of one caller would make all others wait for a hundred requests, again and
 * again. What waits is bounded by the connections and by how many requests each may have unanswered.
 */

/** Some milliseconds of work. */
const PER_TURN = 16;

export class RequestTurns {
  /** The requests that wait, by caller; the caller whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #left = PER_TURN;
  #next: NodeJS.Immediate | undefined;

  /** Runs the work at once if nothing waits and the turn has room, else in one of the next turns. */
  run(caller: string, work: () => void): void {
    this.#next ??= setImmediate(() => this.#turn());
    if (this.#waiting.size === 0 && this.#left > 0) {
      this.#left -= 1;
      work();
      return;
    }
    const queue = this.#waiting.get(caller);
    if (queue === undefined) this.#waiting.set(caller, [work]);
    else queue.push(work);
  }

  #turn(): void {
    this.#next = undefined;
    this.#left = PER_TURN;
    while (this.#left > 0) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      this.#left -= 1;
      this.#takeOne(...first);
    }
    this.#next ??= setImmediate(() => this.#turn());
  }

  #takeOne(caller: string, queue: (() => void)[]): void {
    const work = queue.shift();
    this.#waiting.delete(caller);
    if (queue.length > 0) this.#waiting.set(caller, queue);
    work?.();
  }
}
