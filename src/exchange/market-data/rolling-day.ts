/**
 * What was traded on a market in the last 24 hours, kept as the sums of its minutes. Within a market there are no late
 * executions, so a match is read once: whoever asks again has only what came since read and added. What is kept is
 * never more than a day's minutes, and no answer depends on it: a process that has just started reads them anew.
 */
import type { MarketCode } from "../../catalogue/market.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import type { ExecutionId } from "../execution.ts";
import { idSpan, NO_EXECUTION } from "../execution-id.ts";
import { lowestId } from "../executions/executions.ts";
import { readMinutes, readSums } from "./store.ts";
import { type Minute, MinuteSums, type Sums, sumOf } from "./traded-sums.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
/** How many matches one statement sums up. More of them are read by several. */
const MAX_AT_ONCE = 200_000;

export interface RollingDay {
  readonly at: Instant;
  /** The last match of all that are summed up, or an id below which there may be earlier ones. */
  readonly last: ExecutionId;
  /** When the last 24 hours began, and when today did, at midnight UTC. */
  readonly begins: { readonly lastDay: Instant; readonly today: Instant };
  /** Undefined where nothing was traded. */
  readonly lastDay: Sums | undefined;
  readonly today: Sums | undefined;
}

export class RollingDays {
  readonly #database: Queryable;
  readonly #market: MarketCode;
  readonly #maxAtOnce: number;
  readonly #minutes = new MinuteSums();
  /** Every match up to this one is in the sums. */
  #last: ExecutionId = NO_EXECUTION;
  /** When it was last asked for: the day never moves back, whatever the clock does. */
  #at = 0 as Instant;

  constructor(database: Queryable, market: MarketCode, maxAtOnce = MAX_AT_ONCE) {
    this.#database = database;
    this.#market = market;
    this.#maxAtOnce = maxAtOnce;
  }

  /** Not to be called again before it has answered. */
  async read(now: Instant): Promise<RollingDay> {
    const at = Math.max(now, this.#at) as Instant;
    const begins = { lastDay: (at - DAY_MS) as Instant, today: (at - (at % DAY_MS)) as Instant };
    const edge = minuteOf(begins.lastDay);
    await this.#readNew(edge);
    this.#at = at;
    this.#minutes.removeBefore(edge);
    // The day begins within a minute. What of that minute belongs to it is read by itself.
    const next = (edge + 1) as Minute;
    const cut = await readSums(this.#database, this.#market, lowestId(begins.lastDay), firstIdOf(next));
    const whole = this.#minutes.since(next);
    return {
      at,
      last: this.#last,
      begins,
      lastDay: cut && whole ? sumOf(cut, whole) : (cut ?? whole),
      today: this.#minutes.since(minuteOf(begins.today)),
    };
  }

  async #readNew(first: Minute): Promise<void> {
    const before = (firstIdOf(first) - 1n) as ExecutionId;
    if (this.#last < before) this.#last = before;
    let read: number;
    do {
      const news = await readMinutes(this.#database, this.#market, this.#last, idSpan(MINUTE_MS), this.#maxAtOnce);
      for (const { minute, sums, last } of news) {
        this.#minutes.add(minute, sums);
        this.#last = last;
      }
      read = news.reduce((count, { matches }) => count + matches, 0);
    } while (read === this.#maxAtOnce);
  }
}

const minuteOf = (instant: Instant): Minute => Number(lowestId(instant) / idSpan(MINUTE_MS)) as Minute;

const firstIdOf = (minute: Minute): ExecutionId => (BigInt(minute) * idSpan(MINUTE_MS)) as ExecutionId;
