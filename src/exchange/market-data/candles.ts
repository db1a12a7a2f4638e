/**
 * Candles: trades per interval. Intervals are aligned to midnight UTC on a Monday, so candles of up to a day are aligned
 * to days, and longer ones to weeks. Intervals without trades have no candle.
 */
import type { MarketCode } from "../../catalogue/market.ts";
import { type Amount, amountOf } from "../../money/amount.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import type { ExecutionId } from "../execution.ts";
import { executedAtOf, idSpan, lowestId, NO_EXECUTION } from "../execution-id.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

const LENGTHS_MS = {
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

export interface Candle {
  readonly at: Instant;
  readonly open: Amount;
  readonly high: Amount;
  readonly low: Amount;
  readonly close: Amount;
  /** In the base asset. */
  readonly volume: Amount;
}

/** Candles that begin at or after `from` and before `before`. Candles are always complete, even at the range's end. */
export interface CandleQuery {
  readonly increment: Increment;
  readonly from: Instant;
  readonly before: Instant;
  readonly limit: number;
}

/** Newest first. */
export async function listCandles(database: Queryable, market: MarketCode, query: CandleQuery): Promise<Candle[]> {
  const { increment, limit } = query;
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

/** The start of the first candle at or after a time. */
function firstFrom(time: Instant, length: number): Instant {
  return (Math.ceil((time - A_MONDAY) / length) * length + A_MONDAY) as Instant;
}

/** A query in execution ids, which encode times: a candle is a range of their index. */
interface CandleIds {
  readonly from: bigint;
  readonly before: bigint;
  readonly length: bigint;
  /** How far into a candle the first id is. */
  readonly offset: bigint;
  readonly limit: number;
}

interface CandleRow {
  readonly begins: string;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
  readonly volume: string;
}

/**
 * Walks back in time from candle to candle: the newest match before the last candle determines the next. Empty intervals
 * cost nothing, and nothing beyond the page is read.
 */
async function readCandles(database: Queryable, market: MarketCode, ids: CandleIds): Promise<Candle[]> {
  const rows = await database.rows<CandleRow>(
    `with recursive candle (n, begins, open, high, low, close, volume) as (
       select 0, $3::bigint, null::numeric, null::numeric, null::numeric, null::numeric, null::numeric
       union all
       select c.n + 1, b.begins, first.price, total.high, total.low, last.price::numeric, total.volume
         from candle c
        cross join lateral (
          select id, price from execution
           where market = $1 and (id & 1) = 1 and id >= $2 and id < c.begins order by id desc limit 1) last
        cross join lateral (select last.id - mod(mod(last.id, $4::bigint) + $5::bigint, $4::bigint) as begins) b
        cross join lateral (
          select price::numeric as price from execution
           where market = $1 and (id & 1) = 1 and id >= b.begins order by id limit 1) first
        cross join lateral (
          select max(price) as high, min(price) as low, sum(amount) as volume from execution
           where market = $1 and (id & 1) = 1 and id >= b.begins and id <= last.id) total
        where c.n < $6)
     select begins, open, high, low, close, volume from candle where n > 0 order by n`,
    [market, ids.from, ids.before, ids.length, ids.offset, ids.limit],
  );
  return rows.map((row) => ({
    at: executedAtOf(BigInt(row.begins) as ExecutionId),
    open: amountOf(row.open),
    high: amountOf(row.high),
    low: amountOf(row.low),
    close: amountOf(row.close),
    volume: amountOf(row.volume),
  }));
}
