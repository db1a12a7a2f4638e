/**
 * Average prices: the price of the last trade, averaged over the time of each interval. Intervals are aligned like candles.
 * One without trades has the price that it began with, so there are no gaps from the first trade to the last complete
 * interval.
 */
import type { MarketCode } from "../../catalogue/market.ts";
import { type Amount, amountOf } from "../../money/amount.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { executedAtOf, NO_EXECUTION } from "../execution-id.ts";
import { averagePrice } from "../orders/orders.ts";
import { firstFrom, INCREMENTS, type Increment, LENGTHS_MS } from "./candles.ts";
import { readFirstMatchTime, readWeightedPrices } from "./store.ts";

/** Intervals that begin at or after `from` and before `before`. Undefined: from the first trade, up to now. */
export interface AveragePriceQuery {
  /** The length of the intervals, or the shortest with at most `most` of them. */
  readonly length: { readonly increment: Increment } | { readonly most: number };
  readonly from: Instant | undefined;
  readonly before: Instant | undefined;
  readonly skip: number;
  readonly limit: number;
}

export interface AveragePrice {
  readonly at: Instant;
  readonly price: Amount;
}

/** Of all in the range, some: oldest first. */
export interface AveragePrices {
  readonly total: number;
  readonly prices: readonly AveragePrice[];
}

/** The intervals of one length in a range. */
interface Intervals {
  readonly increment: Increment;
  readonly begin: Instant;
  readonly count: number;
}

interface AveragedMarket {
  readonly code: MarketCode;
  readonly priceDecimals: number;
}

/** @returns undefined when the range has more intervals of the greatest length than there may be */
export async function listAveragePrices(
  database: Queryable,
  { code, priceDecimals }: AveragedMarket,
  query: AveragePriceQuery,
  now: Instant,
): Promise<AveragePrices | undefined> {
  const first = await readFirstMatchTime(database, code);
  if (first === undefined) return { total: 0, prices: [] };
  const intervals = intervalsOf(query, first, now);
  if (intervals === undefined) return undefined;
  const { increment, begin, count } = intervals;
  const shown = Math.min(query.limit, count - query.skip);
  if (shown <= 0) return { total: count, prices: [] };
  const length = LENGTHS_MS[increment];
  const epoch = executedAtOf(NO_EXECUTION);
  const from = begin + query.skip * length - epoch;
  const rows = await readWeightedPrices(database, code, { from, length, count: shown });
  const prices = rows.map(({ begins, weighted, millis }) => ({
    at: (begins + epoch) as Instant,
    price: averagePrice({ filled: amountOf(millis), filledGross: amountOf(weighted) }, priceDecimals),
  }));
  return { total: count, prices };
}

function intervalsOf(query: AveragePriceQuery, first: Instant, now: Instant): Intervals | undefined {
  const { length } = query;
  if ("increment" in length) return intervalsIn(query, length.increment, first, now);
  const all = INCREMENTS.map((increment) => intervalsIn(query, increment, first, now));
  return all.find(({ count }) => count <= length.most);
}

/** The complete ones, from that of the first trade on. */
function intervalsIn(
  { from, before }: AveragePriceQuery,
  increment: Increment,
  first: Instant,
  now: Instant,
): Intervals {
  const length = LENGTHS_MS[increment];
  const ofFirst = firstFrom((first - length + 1) as Instant, length);
  const begin = Math.max(ofFirst, from === undefined ? ofFirst : firstFrom(from, length)) as Instant;
  const end = firstFrom(Math.min(before ?? now, now - length + 1) as Instant, length);
  return { increment, begin, count: Math.max(0, (end - begin) / length) };
}
