/**
 * The rolling day (24 h) of a market, cached as sums per minute. Within a market executions never arrive late, so each
 * match is read once, and a read only adds what is new. The cache holds a day's minutes at most, and results do not
 * depend on it: a new process reads them again. It is of one history of the database: a failover may have lost matches.
 */
import type { MarketCode } from "../../catalogue/market.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import type { ExecutionId } from "../execution.ts";
import { idSpan, lowestId, NO_EXECUTION } from "../execution-id.ts";
import { type Minute, MinuteSums, type Sums, sumOf } from "./minute-sums.ts";
import { readMinutes, readSums } from "./store.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
/** More than clocks differ that are right. */
const MOST_BACK_MS = MINUTE_MS;
/** Matches summed by one statement. More are read by several statements. */
const MAX_AT_ONCE = 200_000;

export interface RollingDay {
  readonly at: Instant;
  /** The last match in the sums, or an upper bound of its id if there is none. */
  readonly last: ExecutionId;
  /** 24 hours ago, and the last midnight UTC. */
  readonly begins: { readonly lastDay: Instant; readonly today: Instant };
  /** Undefined without trades. */
  readonly lastDay: Sums | undefined;
  readonly today: Sums | undefined;
}

export class RollingDays {
  readonly #database: Queryable;
  readonly #market: MarketCode;
  readonly #maxAtOnce: number;
  #minutes = new MinuteSums();
  /** The sums include every match up to this one. */
  #last: ExecutionId = NO_EXECUTION;
  /** The time of the last read. The day does not move back with a clock that is set back a little. */
  #at = 0 as Instant;

  constructor(database: Queryable, market: MarketCode, maxAtOnce = MAX_AT_ONCE) {
    this.#database = database;
    this.#market = market;
    this.#maxAtOnce = maxAtOnce;
  }

  /** Must not be called concurrently. */
  async read(now: Instant): Promise<RollingDay> {
    if (now < this.#at - MOST_BACK_MS) this.#forget();
    const at = Math.max(now, this.#at) as Instant;
    const begins = { lastDay: (at - DAY_MS) as Instant, today: (at - (at % DAY_MS)) as Instant };
    const edge = minuteOf(begins.lastDay);
    await this.#readNew(edge);
    this.#at = at;
    this.#minutes.removeBefore(edge);
    // The day begins within a minute, whose part is read separately.
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

  /** The clock was ahead, and what it took for older than a day is read anew. */
  #forget(): void {
    this.#minutes = new MinuteSums();
    this.#last = NO_EXECUTION;
    this.#at = 0 as Instant;
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
