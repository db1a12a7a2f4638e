/** Reads market data. A match is represented by its taker's execution, whose id is odd; ids encode times. */
import type { MarketCode } from "../../catalogue/market.ts";
import { type Amount, amountOf } from "../../money/amount.ts";
import type { Queryable } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { ExecutionId } from "../execution.ts";
import { executedAtOf, lowestId } from "../execution-id.ts";
import type { OrderSide } from "../order.ts";
import type { Minute, Sums } from "./minute-sums.ts";

export interface Level {
  readonly price: Amount;
  /** In the base asset. */
  readonly amount: Amount;
}

/** Best level first. */
export interface OrderBook {
  /** The order book version; 0 before an engine has opened the market. */
  readonly version: bigint;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

export interface Match extends Level {
  /** The taker's execution id; the maker's is the one before it. */
  readonly id: ExecutionId;
  /** The taker's side. */
  readonly side: OrderSide;
  readonly executedAt: Instant;
}

export interface MarketPrice {
  readonly market: MarketCode;
  readonly at: Instant;
  /** The prices of the last match, and of the last one that is at least 24 hours old. */
  readonly current: Amount | undefined;
  readonly yesterday: Amount | undefined;
}

const DAY = 24 * 60 * 60_000;

interface LevelRow {
  /** The order book version, in every row. The rest is null in the single row of an empty book. */
  readonly version: string;
  readonly side: OrderSide | null;
  readonly price: string;
  readonly amount: string;
}

/**
 * One statement reads both sides and the version, so the book is consistent and never crossed.
 * @param most the number of best levels of each side
 */
export async function readBook(database: Queryable, market: MarketCode, most: number | "all"): Promise<OrderBook> {
  const rows = await database.rows<LevelRow>(
    `select head.version, side, price, amount
       from (select coalesce((select version from market_head where market = $1), 0) as version) head
       left join (
         (select side, price, sum(base_amount - filled) as amount from booked_order
           where market = $1 and status = 'OPEN' and side = 'BUY' group by side, price order by price desc limit $2)
         union all
         (select side, price, sum(base_amount - filled) as amount from booked_order
           where market = $1 and status = 'OPEN' and side = 'SELL' group by side, price order by price limit $2)
       ) level on true
      order by case side when 'BUY' then -price else price end`,
    [market, most === "all" ? null : most],
  );
  const levels = (side: OrderSide): Level[] => rows.filter((row) => row.side === side).map(readLevel);
  const [first] = rows;
  const version = BigInt(must(first, "an empty book is one row").version);
  return { version, bids: levels("BUY"), asks: levels("SELL") };
}

/**
 * An order book as JSON text, which the database writes: parsing and serializing ten thousand rows per side would block
 * the process for about 50 ms.
 */
export interface WrittenBook {
  readonly version: bigint;
  /** The elements of a JSON array, without the brackets, best level first. */
  readonly bids: string;
  readonly asks: string;
}

/** The same as `readBook`, as JSON text. */
export async function writeBook(database: Queryable, market: MarketCode, most: number): Promise<WrittenBook> {
  const [row] = await database.rows<{ version: string; bids: string; asks: string }>(
    `select coalesce((select version from market_head where market = $1), 0) as version,
            (select coalesce(string_agg('{"price":"' || trim_scale(price) || '","amount":"' || trim_scale(amount) || '"}', ',' order by price desc), '')
               from (select price, sum(base_amount - filled) as amount from booked_order
                      where market = $1 and status = 'OPEN' and side = 'BUY'
                      group by price order by price desc limit $2) level) as bids,
            (select coalesce(string_agg('{"price":"' || trim_scale(price) || '","amount":"' || trim_scale(amount) || '"}', ',' order by price), '')
               from (select price, sum(base_amount - filled) as amount from booked_order
                      where market = $1 and status = 'OPEN' and side = 'SELL'
                      group by price order by price limit $2) level) as asks`,
    [market, most],
  );
  const { version, bids, asks } = must(row, "a query without a table returns one row");
  return { version: BigInt(version), bids, asks };
}

/** The order book version. */
export async function readHeadNumber(database: Queryable, market: MarketCode): Promise<bigint> {
  const [row] = await database.rows<{ version: string }>("select version from market_head where market = $1", [market]);
  return BigInt(row?.version ?? 0);
}

export async function readRecentMatches(database: Queryable, market: MarketCode, most: number): Promise<Match[]> {
  const rows = await database.rows<MatchRow>(
    `select id, side, price, amount from execution
      where market = $1 and (id & 1) = 1 order by id desc limit $2`,
    [market, most],
  );
  return rows.map(readMatch);
}

export interface MatchRow {
  readonly id: string;
  readonly side: OrderSide;
  readonly price: string;
  readonly amount: string;
}

export function readMatch(row: MatchRow): Match {
  const id = BigInt(row.id) as ExecutionId;
  return { id, side: row.side, executedAt: executedAtOf(id), ...readLevel(row) };
}

/** All markets, sorted by code. */
export async function readPrices(database: Queryable, now: Instant): Promise<MarketPrice[]> {
  const rows = await database.rows<{ market: MarketCode; current: string | null; yesterday: string | null }>(
    `select m.code as market, h.last_price as current, y.price as yesterday
       from market m
       left join market_head h on h.market = m.code
       left join lateral (
         select price from execution
          where market = m.code and (id & 1) = 1 and id < $1 order by id desc limit 1) y on true
      order by m.code`,
    [lowestId((now - DAY + 1) as Instant)],
  );
  return rows.map(({ market, current, yesterday }) => ({
    market,
    at: now,
    current: readAmount(current),
    yesterday: readAmount(yesterday),
  }));
}

/** The best levels, and the prices of certain matches. */
export interface Quotes {
  readonly bestBid: Level | undefined;
  readonly bestAsk: Level | undefined;
  /** The last match up to `last`. */
  readonly lastMatch: Level | undefined;
  /** The price of the first match at or after each of `begins`. */
  readonly opens: readonly (Amount | undefined)[];
}

interface QuoteRow {
  readonly bid_price: string | null;
  readonly bid_amount: string | null;
  readonly ask_price: string | null;
  readonly ask_amount: string | null;
  readonly last_price: string | null;
  readonly last_amount: string | null;
  readonly opens: readonly (string | null)[];
}

export async function readQuotes(
  database: Queryable,
  market: MarketCode,
  last: ExecutionId,
  begins: readonly bigint[],
): Promise<Quotes> {
  const [row] = await database.rows<QuoteRow>(
    `select bid.price as bid_price, bid.amount as bid_amount, ask.price as ask_price, ask.amount as ask_amount,
            last.price as last_price, last.amount as last_amount,
            array(select (select price from execution
                           where market = $1 and (id & 1) = 1 and id >= b.id order by id limit 1)::text
                    from unnest($3::bigint[]) with ordinality as b (id, n) order by b.n) as opens
       from (values (1)) as one
       left join (
         select price, sum(base_amount - filled) as amount from booked_order
          where market = $1 and status = 'OPEN' and side = 'BUY' group by price order by price desc limit 1) bid on true
       left join (
         select price, sum(base_amount - filled) as amount from booked_order
          where market = $1 and status = 'OPEN' and side = 'SELL' group by price order by price limit 1) ask on true
       left join (
         select price, amount from execution
          where market = $1 and (id & 1) = 1 and id <= $2 order by id desc limit 1) last on true`,
    [market, last, begins],
  );
  const quotes = must(row, "one row is joined with what there is");
  return {
    bestBid: findLevel(quotes.bid_price, quotes.bid_amount),
    bestAsk: findLevel(quotes.ask_price, quotes.ask_amount),
    lastMatch: findLevel(quotes.last_price, quotes.last_amount),
    opens: quotes.opens.map(readAmount),
  };
}

/** The matches of a minute that were read. */
export interface ReadMinute {
  readonly minute: Minute;
  readonly sums: Sums;
  readonly matches: number;
  readonly last: ExecutionId;
}

interface SumsRow {
  readonly high: string | null;
  readonly low: string | null;
  readonly volume: string | null;
  readonly gross: string | null;
}

/** Sums the first `most` matches after an id per minute, in time order. @param span a minute in ids */
export async function readMinutes(
  database: Queryable,
  market: MarketCode,
  after: ExecutionId,
  span: bigint,
  most: number,
): Promise<ReadMinute[]> {
  const rows = await database.rows<SumsRow & { minute: string; matches: string; last: string }>(
    `select id / $3::bigint as minute, max(price) as high, min(price) as low, sum(amount) as volume,
            sum(amount * price) as gross, count(*) as matches, max(id) as last
       from (select id, price, amount from execution
              where market = $1 and (id & 1) = 1 and id > $2 order by id limit $4) match
      group by 1 order by 1`,
    [market, after, span, most],
  );
  return rows.map((row) => ({
    minute: Number(row.minute) as Minute,
    sums: must(findSums(row), "a minute in the result has matches"),
    matches: Number(row.matches),
    last: BigInt(row.last) as ExecutionId,
  }));
}

/** Sums the matches from one id to before another. @returns undefined when there are none */
export async function readSums(
  database: Queryable,
  market: MarketCode,
  from: bigint,
  before: bigint,
): Promise<Sums | undefined> {
  const [row] = await database.rows<SumsRow>(
    `select max(price) as high, min(price) as low, sum(amount) as volume, sum(amount * price) as gross
       from execution where market = $1 and (id & 1) = 1 and id >= $2 and id < $3`,
    [market, from, before],
  );
  return row && findSums(row);
}

function findSums({ high, low, volume, gross }: SumsRow): Sums | undefined {
  if (high === null || low === null || volume === null || gross === null) return undefined;
  return { high: amountOf(high), low: amountOf(low), volume: amountOf(volume), gross: amountOf(gross) };
}

const readAmount = (text: string | null): Amount | undefined => (text === null ? undefined : amountOf(text));

function readLevel({ price, amount }: { readonly price: string; readonly amount: string }): Level {
  return { price: amountOf(price), amount: amountOf(amount) };
}

function findLevel(price: string | null, amount: string | null): Level | undefined {
  return price === null || amount === null ? undefined : readLevel({ price, amount });
}

export interface Candle {
  readonly at: Instant;
  readonly open: Amount;
  readonly high: Amount;
  readonly low: Amount;
  readonly close: Amount;
  /** In the base asset. */
  readonly volume: Amount;
}

/** A query in execution ids, which encode times: a candle is a range of their index. */
interface CandleIds {
  readonly from: bigint;
  readonly before: bigint;
  readonly length: bigint;
  /** How far into a candle the first id is. */
  readonly offset: bigint;
  readonly order: "ASC" | "DESC";
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
 * Walks in time from candle to candle, back or forth: the match that is nearest to the last candle determines the next.
 * Empty intervals cost nothing, and nothing beyond the page is read.
 */
export async function readCandles(database: Queryable, market: MarketCode, ids: CandleIds): Promise<Candle[]> {
  const back = ids.order === "DESC";
  const rows = await database.rows<CandleRow>(
    `with recursive candle (n, reached, begins, near, far, high, low, volume) as (
       select 0, ${back ? "$3" : "$2"}::bigint, 0::bigint, 0::numeric, 0::numeric, 0::numeric, 0::numeric, 0::numeric
       union all
       select c.n + 1, b.begins + ${back ? "0" : "$4"}, b.begins, near.price, far.price, total.high, total.low, total.volume
         from candle c
        cross join lateral (
          select id, price::numeric as price from execution
           where market = $1 and (id & 1) = 1
             and id >= ${back ? "$2" : "c.reached"} and id < ${back ? "c.reached" : "$3"}
           order by id ${back ? "desc" : "asc"} limit 1) near
        cross join lateral (select near.id - mod(mod(near.id, $4::bigint) + $5::bigint, $4::bigint) as begins) b
        cross join lateral (
          select price::numeric as price from execution
           where market = $1 and (id & 1) = 1 and id >= b.begins and id < b.begins + $4
           order by id ${back ? "asc" : "desc"} limit 1) far
        cross join lateral (
          select max(price) as high, min(price) as low, sum(amount) as volume from execution
           where market = $1 and (id & 1) = 1 and id >= b.begins and id < b.begins + $4) total
        where c.n < $6)
     select begins, ${back ? "far" : "near"} as open, high, low, ${back ? "near" : "far"} as close, volume
       from candle where n > 0 order by n`,
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

/** When the first match of a market was. */
export async function readFirstMatchTime(database: Queryable, market: MarketCode): Promise<Instant | undefined> {
  const [row] = await database.rows<{ id: string }>(
    "select id from execution where market = $1 and (id & 1) = 1 order by id limit 1",
    [market],
  );
  return row && executedAtOf(BigInt(row.id) as ExecutionId);
}

/** Intervals in milliseconds since the epoch of execution ids, of which they are the upper bits. */
interface MillisIntervals {
  readonly from: number;
  readonly length: number;
  readonly count: number;
}

/** The prices of an interval, each times the milliseconds for which it was the last one, and the sum of these. */
interface WeightedPrice {
  readonly begins: number;
  readonly weighted: string;
  readonly millis: string;
}

/**
 * The price before an interval holds until the first match in it. The interval of the market's first match counts from that
 * on; earlier ones are left out. Of matches in one millisecond the last one counts.
 */
export async function readWeightedPrices(
  database: Queryable,
  market: MarketCode,
  { from, length, count }: MillisIntervals,
): Promise<WeightedPrice[]> {
  const rows = await database.rows<{ begins: string; weighted: string; millis: string }>(
    `select i.begins, total.weighted, total.millis
       from generate_series($2::bigint, $2::bigint + ($4::bigint - 1) * $3::bigint, $3::bigint) as i (begins)
      cross join lateral (
        select sum(price * (until - since)) as weighted, sum(until - since) as millis
          from (select price, since, lead(since, 1, i.begins + $3) over (order by id) as until
                  from ((select id, price::numeric as price, i.begins as since from execution
                          where market = $1 and (id & 1) = 1 and id < (i.begins << 22) order by id desc limit 1)
                        union all
                        select id, price::numeric, id >> 22 from execution
                         where market = $1 and (id & 1) = 1
                           and id >= (i.begins << 22) and id < ((i.begins + $3) << 22)) match) held) total
      where total.millis > 0
      order by i.begins`,
    [market, from, length, count],
  );
  return rows.map(({ begins, weighted, millis }) => ({ begins: Number(begins), weighted, millis }));
}
