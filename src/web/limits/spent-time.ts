/** How much of a thread's time each caller has taken lately, beside the share that it may have. */
import { FULL, spendTokens } from "./token-bucket.ts";

const SWEEP_MS = 1_000;

export class SpentTime {
  readonly #share: number;
  readonly #atOnceMs: number;
  /** Of each caller that took some lately: when a bucket of its time is full again. */
  readonly #fullAt = new Map<string, number>();
  #sweptAt = 0;

  /**
   * @param share of the time, for one caller
   * @param atOnceMs so much at once is not too much
   */
  constructor(share: number, atOnceMs: number) {
    this.#share = share;
    this.#atOnceMs = atOnceMs;
  }

  /** From when on a caller is within its share. */
  withinShareAt(caller: string): number {
    return (this.#fullAt.get(caller) ?? FULL) - this.#atOnceMs / this.#share;
  }

  /**
   * Counts time that was taken.
   * @param longestMs what was taken is held against the caller for so long at most
   */
  spend(caller: string, ms: number, now: number, longestMs = Number.POSITIVE_INFINITY): void {
    this.#sweep(now);
    const fullAt = spendTokens(this.#fullAt.get(caller) ?? FULL, this.#share * 1_000, now, ms);
    this.#fullAt.set(caller, Math.min(fullAt, now + longestMs + this.#atOnceMs / this.#share));
  }

  /** A full bucket need not be stored. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [caller, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(caller);
  }
}
