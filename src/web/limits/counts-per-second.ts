const SECOND_MS = 1_000;

/** Counts events by key, from zero again each second. Its size is bounded by the events of a second. */
export class CountsPerSecond {
  readonly #now: () => number;
  #counts = new Map<string, number>();
  #since = Number.NEGATIVE_INFINITY;

  /** @param now monotonic, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts one event, or some. @returns how many events of this key the current second has */
  add(key: string, some = 1): number {
    const now = this.#now();
    if (now - this.#since >= SECOND_MS) {
      this.#counts = new Map();
      this.#since = now;
    }
    const count = (this.#counts.get(key) ?? 0) + some;
    this.#counts.set(key, count);
    return count;
  }
}
