/**
 * How much of the thread's time the costly requests of each caller take, of all kinds together. While the thread is busy a
 * caller that took more than its share rests after each of them, until it is within its share again.
 */
import { LONGEST_REST_MS } from "../../std/pause.ts";
import { ThreadLoad } from "../../std/thread-load.ts";
import { SpentTime } from "./spent-time.ts";

/** Of the time of the thread. Beyond, who comes in between waits for several turns of one caller's work. */
const RESTS_ABOVE = 0.6;
/** Of the time, for one caller. */
const SHARE = 0.4;
/** So much at once is not too much: a list now and then does not rest. */
const AT_ONCE_MS = 200;

export class TimeShares {
  readonly #load: Pick<ThreadLoad, "utilization">;
  readonly #now: () => number;
  readonly #spent = new SpentTime(SHARE, AT_ONCE_MS);

  /** @param now monotonic, in milliseconds */
  constructor(load: Pick<ThreadLoad, "utilization"> = new ThreadLoad(), now: () => number = () => performance.now()) {
    this.#load = load;
    this.#now = now;
  }

  /** @returns for how long a caller rests whose request took so long */
  restMs(caller: string, tookMs: number): number {
    const now = this.#now();
    this.#spent.spend(caller, tookMs, now, LONGEST_REST_MS);
    return this.#load.utilization > RESTS_ABOVE ? Math.max(this.#spent.withinShareAt(caller) - now, 0) : 0;
  }
}
