/**
 * Candles: trades per interval. Intervals are aligned to midnight UTC on a Monday, so candles of up to a day are aligned
 * to days, and longer ones to weeks. Intervals without trades have no candle.
 */
import type { MarketCode } from "../../catalogue/market.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { executedAtOf, idSpan, lowestId, NO_EXECUTION } from "../execution-id.ts";
import { type Candle, readCandles } from "./store.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

export const LENGTHS_MS = {
  ONE_MINUTE: MINUTE,
  FIVE_MINUTES: 5 * MINUTE,
  FIFTEEN_MINUTES: 15 * MINUTE,
  THIRTY_MINUTES: 30 * MINUTE,
  ONE_HOUR: HOUR,
  TWO_HOURS: 2 * HOUR,
  TWELVE_HOURS: 12 * HOUR,
  ONE_DAY: DAY,
  ONE_WEEK: WEEK,
  TWO_WEEKS: 2 * WEEK,
  FOUR_WEEKS: 4 * WEEK,
} as const;

export type Increment = keyof typeof LENGTHS_MS;

/** The shortest first. */
export const INCREMENTS = Object.keys(LENGTHS_MS) as readonly Increment[];

/** The first Monday since 1970. */
const A_MONDAY = Date.UTC(1970, 0, 5);

/** Candles that begin at or after `from` and before `before`. Candles are always complete, even at the range's end. */
export interface CandleQuery {
  readonly increment: Increment;
  readonly from: Instant;
  readonly before: Instant;
  readonly order: "ASC" | "DESC";
  readonly limit: number;
}

export async function listCandles(database: Queryable, market: MarketCode, query: CandleQuery): Promise<Candle[]> {
  const { increment, order, limit } = query;
  const length = LENGTHS_MS[increment];
  // Both bounds are aligned to the start of a candle.
  const from = firstFrom(query.from, length);
  const before = firstFrom(query.before, length);
  if (from >= before) return [];
  return readCandles(database, market, {
    from: lowestId(from),
    before: lowestId(before),
    length: idSpan(length),
    offset: idSpan((executedAtOf(NO_EXECUTION) - A_MONDAY) % length),
    order,
    limit,
  });
}

/** The shortest increment with at most `most` candles in the range; undefined if there is none. */
export function incrementFor(from: Instant, before: Instant, most: number): Increment | undefined {
  return INCREMENTS.find((increment) => {
    const length = LENGTHS_MS[increment];
    return (firstFrom(before, length) - firstFrom(from, length)) / length <= most;
  });
}

/** The end of a candle, at which the next one may begin. */
export function endOf(begin: Instant, increment: Increment): Instant {
  return (begin + LENGTHS_MS[increment]) as Instant;
}

/** The start of the first candle at or after a time. */
export function firstFrom(time: Instant, length: number): Instant {
  return (Math.ceil((time - A_MONDAY) / length) * length + A_MONDAY) as Instant;
}
