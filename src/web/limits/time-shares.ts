/**
 * How much of the thread's time the costly requests of each caller take, of all kinds together. While the thread is busy a
 * caller that took more than its share rests after each of them, until it is within its share again.
 */
import { LONGEST_REST_MS } from "../../std/pause.ts";
import { BUSY, ThreadLoad } from "../../std/thread-load.ts";
import { FULL, spendTokens } from "./token-bucket.ts";

/** Of the time, for one caller. */
const SHARE = 0.4;
/** So much at once is not too much: a list now and then does not rest. */
const AT_ONCE_MS = 200;
const SWEEP_MS = 1_000;

export class TimeShares {
  readonly #load: Pick<ThreadLoad, "utilization">;
  readonly #now: () => number;
  /** Of each caller that took some lately: when a bucket of its time is full again. */
  readonly #fullAt = new Map<string, number>();
  #sweptAt = 0;

  /** @param now monotonic, in milliseconds */
  constructor(load: Pick<ThreadLoad, "utilization"> = new ThreadLoad(), now: () => number = () => performance.now()) {
    this.#load = load;
    this.#now = now;
  }

  /** @returns for how long a caller rests whose request took so long */
  restMs(caller: string, tookMs: number): number {
    const now = this.#now();
    this.#sweep(now);
    const fullAt = spendTokens(this.#fullAt.get(caller) ?? FULL, SHARE * 1_000, now, tookMs);
    const withinShareAt = Math.min(fullAt - AT_ONCE_MS / SHARE, now + LONGEST_REST_MS);
    this.#fullAt.set(caller, withinShareAt + AT_ONCE_MS / SHARE);
    return this.#load.utilization > BUSY ? Math.max(withinShareAt - now, 0) : 0;
  }

  /** A full bucket need not be stored. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [caller, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(caller);
  }
}
