/** Market data's SQL. A match is read by its taker's execution, whose id is odd; ids are times. */
import type { MarketCode } from "../catalogue/market.ts";
import { type Amount, amountOf, ZERO } from "../money/amount.ts";
import type { Queryable } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { ExecutionId } from "./execution.ts";
import { executedAtOf } from "./execution-id.ts";
import { lowestId } from "./executions.ts";
import type { OrderSide } from "./order.ts";
import { averagePrice } from "./orders.ts";

/** A price and what there is at it, or was. */
export interface Level {
  readonly price: Amount;
  /** In the base asset. */
  readonly amount: Amount;
}

/** The best level of each side comes first. */
export interface OrderBook {
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

/** A match as anybody may know it: without its parties. */
export interface Match extends Level {
  /** The taker's execution id; the maker's is the one before it. */
  readonly id: ExecutionId;
  /** The taker's side. */
  readonly side: OrderSide;
  readonly executedAt: Instant;
}

/** What was traded from some time to now. */
export interface Statistics {
  readonly begin: Instant;
  readonly end: Instant;
  /** In the base asset. */
  readonly volume: Amount;
  /** Undefined when nothing was traded. */
  readonly prices:
    | { readonly open: Amount; readonly high: Amount; readonly low: Amount; readonly average: Amount }
    | undefined;
}

export interface Ticker {
  readonly at: Instant;
  readonly bestBid: Level | undefined;
  readonly bestAsk: Level | undefined;
  readonly lastMatch: Level | undefined;
  /** The 24 hours up to now. */
  readonly lastDay: Statistics;
  /** Since midnight UTC. */
  readonly today: Statistics;
}

export interface MarketPrice {
  readonly market: MarketCode;
  readonly at: Instant;
  /** Of the last match, and of the last one that was 24 hours ago or earlier. */
  readonly current: Amount | undefined;
  readonly yesterday: Amount | undefined;
}

const DAY = 24 * 60 * 60_000;

/** Both sides are read by one statement, and so at one moment: a book is never seen crossed. */
export async function readBook(database: Queryable, market: MarketCode, most: number): Promise<OrderBook> {
  const rows = await database.rows<{ side: OrderSide; price: string; amount: string }>(
    `select side, price, amount from (
       (select side, price, sum(base_amount - filled) as amount from orders
         where market = $1 and status = 'OPEN' and side = 'BUY' group by side, price order by price desc limit $2)
       union all
       (select side, price, sum(base_amount - filled) as amount from orders
         where market = $1 and status = 'OPEN' and side = 'SELL' group by side, price order by price limit $2)) level
      order by case side when 'BUY' then -price else price end`,
    [market, most],
  );
  const levels = (side: OrderSide): Level[] => rows.filter((row) => row.side === side).map(readLevel);
  return { bids: levels("BUY"), asks: levels("SELL") };
}

export async function readRecentMatches(database: Queryable, market: MarketCode, most: number): Promise<Match[]> {
  const rows = await database.rows<{ id: string; side: OrderSide; price: string; amount: string }>(
    `select id, side, price, amount from execution
      where market = $1 and (id & 1) = 1 order by id desc limit $2`,
    [market, most],
  );
  return rows.map((row) => {
    const id = BigInt(row.id) as ExecutionId;
    return { id, side: row.side, executedAt: executedAtOf(id), ...readLevel(row) };
  });
}

/** Of all markets, in the order of their codes. */
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

interface TickerRow {
  readonly bid_price: string | null;
  readonly bid_amount: string | null;
  readonly ask_price: string | null;
  readonly ask_amount: string | null;
  readonly last_price: string | null;
  readonly last_amount: string | null;
  readonly open: string | null;
  readonly high: string | null;
  readonly low: string | null;
  readonly volume: string | null;
  readonly gross: string | null;
}

/**
 * One statement, so that its parts fit together: a row for each range, and in each row what is of now. Ranges have no
 * upper bound, so the last match is in them also when its engine's clock is ahead of this one.
 */
export async function readTicker(
  database: Queryable,
  market: MarketCode,
  now: Instant,
  priceDecimals: number,
): Promise<Ticker> {
  const begins = { day: (now - DAY) as Instant, today: (now - (now % DAY)) as Instant };
  const rows = await database.rows<TickerRow>(
    `select bid.price as bid_price, bid.amount as bid_amount, ask.price as ask_price, ask.amount as ask_amount,
            last.price as last_price, last.amount as last_amount,
            first.price as open, total.high, total.low, total.volume, total.gross
       from unnest($2::bigint[]) with ordinality as range (since, n)
      cross join lateral (
        select max(price) as high, min(price) as low, sum(amount) as volume, sum(amount * price) as gross
          from execution where market = $1 and (id & 1) = 1 and id >= range.since) total
       left join lateral (
         select price from execution
          where market = $1 and (id & 1) = 1 and id >= range.since order by id limit 1) first on true
       left join (
         select price, amount from execution
          where market = $1 and (id & 1) = 1 order by id desc limit 1) last on true
       left join (
         select price, sum(base_amount - filled) as amount from orders
          where market = $1 and status = 'OPEN' and side = 'BUY' group by price order by price desc limit 1) bid on true
       left join (
         select price, sum(base_amount - filled) as amount from orders
          where market = $1 and status = 'OPEN' and side = 'SELL' group by price order by price limit 1) ask on true
      order by range.n`,
    [market, [lowestId(begins.day), lowestId(begins.today)]],
  );
  const [day, today] = [must(rows[0], A_ROW_EACH), must(rows[1], A_ROW_EACH)];
  return {
    at: now,
    bestBid: findLevel(day.bid_price, day.bid_amount),
    bestAsk: findLevel(day.ask_price, day.ask_amount),
    lastMatch: findLevel(day.last_price, day.last_amount),
    lastDay: readStatistics(day, begins.day, now, priceDecimals),
    today: readStatistics(today, begins.today, now, priceDecimals),
  };
}

const A_ROW_EACH = "there is a row for each range";

function readStatistics(row: TickerRow, begin: Instant, end: Instant, priceDecimals: number): Statistics {
  const { open, high, low, volume, gross } = row;
  if (open === null || high === null || low === null || volume === null || gross === null) {
    return { begin, end, volume: ZERO, prices: undefined };
  }
  const traded = amountOf(volume);
  const average = averagePrice({ filled: traded, filledGross: amountOf(gross) }, priceDecimals);
  const prices = { open: amountOf(open), high: amountOf(high), low: amountOf(low), average };
  return { begin, end, volume: traded, prices };
}

const readAmount = (text: string | null): Amount | undefined => (text === null ? undefined : amountOf(text));

function readLevel({ price, amount }: { readonly price: string; readonly amount: string }): Level {
  return { price: amountOf(price), amount: amountOf(amount) };
}

function findLevel(price: string | null, amount: string | null): Level | undefined {
  return price === null || amount === null ? undefined : readLevel({ price, amount });
}
