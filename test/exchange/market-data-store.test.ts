/** Bounds of market data that only a known book and a known clock show. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { orderBookBody } from "../../src/api/routes/markets/market-data.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { NO_EXECUTION, nextMatchId, takerId } from "../../src/exchange/execution-id.ts";
import { listAveragePrices } from "../../src/exchange/market-data/average-prices.ts";
import { listCandles } from "../../src/exchange/market-data/candles.ts";
import { createMarketData } from "../../src/exchange/market-data/market-data.ts";
import {
  readBook,
  readHeadNumber,
  readPrices,
  readQuotes,
  readRecentMatches,
  writeBook,
} from "../../src/exchange/market-data/store.ts";
import { amountOf } from "../../src/money/amount.ts";
import { must } from "../../src/std/assert.ts";
import { formatInstant, type Instant } from "../../src/std/clock.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { copyOpenOrders } from "../support/exchange/open-orders.ts";

const BTCUSD = "BTCUSD" as MarketCode;
/** Of a lower and of a higher number, so that their ids of one millisecond are before and behind those of BTCUSD. */
const NEIGHBOURS = ["ETHUSD", "LTCUSD"] as MarketCode[];
const NOW = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
const DAY_MS = 24 * 60 * 60_000;

let db: TestDatabase;
let numbers: ReadonlyMap<MarketCode, number>;
beforeAll(async () => {
  db = await testDatabase();
  const markets = await db.owner.rows<{ code: MarketCode; number: number }>("select code, number from market");
  numbers = new Map(markets.map(({ code, number }) => [code, number]));
  await db.owner.rows(
    `insert into market_head (market, fence, last_price, last_execution_id, last_sequence, version, slot, batch)
     values ('ETHUSD', 1, null, 0, 1, 9, 1, 1), ($1, 1, 5, 2, 1, 7, 1, 1), ('LTCUSD', 1, 6, 2, 1, 8, 1, 1)`,
    [BTCUSD],
  );
  // Better levels, but of another market, or of stops that wait.
  await db.owner.rows(
    `insert into orders (profile_id, id, customer_id, market, side, type, time_in_force, base_amount, price, stop_price, taker_rate,
                         maker_rebate, created_at, status, sequence, priority, filled, filled_gross, held, is_triggered,
                         updated_at, version, slot, batch)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), market, side::order_side, type::order_type, 'GTC', 2, price, stop_price, 0, 0,
            now(), status::order_status, 1, priority, filled, 0, 1, false, now(), 1, 1, 1
       from (select *, case status when 'OPEN' then 1 end as priority, case status when 'OPEN' then null else 95 end as stop_price,
                    case status when 'OPEN' then 'LIMIT' else 'STOP_LIMIT' end as type
               from (values ($1, 'BUY', 90, 0, 'OPEN'), ($1, 'BUY', 99, 0, 'OPEN'), ($1, 'BUY', 99, 0.5, 'OPEN'),
                            ($1, 'SELL', 110, 0, 'OPEN'), ($1, 'SELL', 101, 1.25, 'OPEN'),
                            ($1, 'BUY', 99.5, 0, 'SUBMITTED'), ($1, 'SELL', 100.5, 0, 'SUBMITTED'),
                            ('LTCUSD', 'BUY', 99.7, 0, 'OPEN'), ('LTCUSD', 'SELL', 100.3, 0, 'OPEN'))
                    as v (market, side, price, filled, status)) placed`,
    [BTCUSD],
  );
  await copyOpenOrders(db.owner);
});
afterAll(() => db.close());

const level = (price: string, amount: string) => ({ price: amountOf(price), amount: amountOf(amount) });

test("a book with a limit has that many levels per side, the best ones", async () => {
  const [bids, asks] = [
    [level("99", "3.5"), level("90", "2")],
    [level("101", "0.75"), level("110", "2")],
  ];
  expect(await readBook(db.database, BTCUSD, "all")).toEqual({ version: 7n, bids, asks });
  expect(await readBook(db.database, BTCUSD, 1)).toEqual({
    version: 7n,
    bids: bids.slice(0, 1),
    asks: asks.slice(0, 1),
  });
});

test("a market without orders has an empty book, of version 0 before an engine has opened it", async () => {
  const empty = { bids: [], asks: [] };
  expect(await readBook(db.database, "ETHUSD" as MarketCode, "all")).toEqual({ version: 9n, ...empty });
  expect(await readBook(db.database, "BCHUSD" as MarketCode, "all")).toEqual({ version: 0n, ...empty });
  const written = { bids: "", asks: "" };
  expect(await writeBook(db.database, "ETHUSD" as MarketCode, 1)).toEqual({ version: 9n, ...written });
  expect(await writeBook(db.database, "BCHUSD" as MarketCode, 1)).toEqual({ version: 0n, ...written });
  const heads = [BTCUSD, "BCHUSD" as MarketCode].map((market) => readHeadNumber(db.database, market));
  expect(await Promise.all(heads)).toEqual([7n, 0n]);
});

test("a stored book is read back exactly, level by level", async () => {
  for (const most of [10_000, 1]) {
    const book = await readBook(db.database, BTCUSD, most);
    const { version, bids, asks } = await writeBook(db.database, BTCUSD, most);
    const written = `{"market":"BTCUSD","sequence":"${version}","bids":[${bids}],"asks":[${asks}]}`;
    expect(written).toBe(JSON.stringify(orderBookBody(BTCUSD, book)));
  }
});

/** A match at this time; the neighbours have matches of other prices and amounts in the same millisecond. */
async function addMatch(at: number, price: string) {
  for (const [place, market] of NEIGHBOURS.entries()) await addSides(market, at, String(1_000 * (place + 1)), "3");
  return addSides(BTCUSD, at, price, "1");
}

/** Both sides of a match. */
async function addSides(market: MarketCode, at: number, price: string, amount: string) {
  const maker = nextMatchId(NO_EXECUTION, numbers.get(market) ?? 0, at as Instant);
  await db.owner.rows(
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select gen_random_uuid(), id, gen_random_uuid(), gen_random_uuid(), $1, 'BUY', $5::numeric, $3::numeric, 0, 0, $4::timestamptz, 1, 1
       from unnest($2::bigint[]) as id`,
    [market, [maker, takerId(maker)].map(String), price, formatInstant(at as Instant), amount],
  );
  return takerId(maker);
}

test("yesterday's price is that of the last match of 24 hours ago or earlier, to the millisecond", async () => {
  const yesterday = async (now: number) =>
    (await readPrices(db.database, now as Instant)).find(({ market }) => market === BTCUSD)?.yesterday;
  await addMatch(NOW - DAY_MS - 1_000, "100");
  await addMatch(NOW - DAY_MS, "200");
  expect(await yesterday(NOW - 1_001)).toBeUndefined();
  expect(await yesterday(NOW - 1_000)).toBe(amountOf("100"));
  expect(await yesterday(NOW - 1)).toBe(amountOf("100"));
  expect(await yesterday(NOW)).toBe(amountOf("200"));
  const current = new Map([
    [BTCUSD, "5"],
    ["LTCUSD", "6"],
  ] as [MarketCode, string][]);
  const before = new Map([
    ["ETHUSD", "1000"],
    [BTCUSD, "200"],
    ["LTCUSD", "2000"],
  ] as [MarketCode, string][]);
  const amountIn = (texts: ReadonlyMap<MarketCode, string>, market: MarketCode) => {
    const text = texts.get(market);
    return text === undefined ? undefined : amountOf(text);
  };
  const prices = [...numbers.keys()].sort().map((market) => ({
    ...{ market, at: NOW },
    ...{ current: amountIn(current, market), yesterday: amountIn(before, market) },
  }));
  expect(await readPrices(db.database, NOW)).toEqual(prices);
});

test("an increment is complete at the millisecond of its end", async () => {
  const minutesUntil = async (now: number): Promise<number | undefined> => {
    const query = { length: { increment: "ONE_MINUTE" }, before: undefined, skip: 0, limit: 1 } as const;
    const market = { code: BTCUSD, priceDecimals: 2 };
    const from = (NOW - 60_000) as Instant;
    return (await listAveragePrices(db.database, market, { ...query, from }, now as Instant))?.total;
  };
  expect([await minutesUntil(NOW - 1), await minutesUntil(NOW), await minutesUntil(NOW + 59_999)]).toEqual([0, 1, 1]);
});

test("a range opens with its first match, and the last match is the one with the requested id", async () => {
  const first = await addMatch(NOW, "300");
  const second = await addMatch(NOW + 1, "400");
  const quotes = await readQuotes(db.database, BTCUSD, first, [first, first + 1n, second + 1n]);
  expect(quotes).toEqual({
    bestBid: level("99", "3.5"),
    bestAsk: level("101", "0.75"),
    lastMatch: level("300", "1"),
    opens: [amountOf("300"), amountOf("400"), undefined],
  });
  expect(await readQuotes(db.database, "BCHUSD" as MarketCode, second, [first])).toEqual({
    ...{ bestBid: undefined, bestAsk: undefined, lastMatch: undefined },
    opens: [undefined],
  });
  const match = (id: typeof first, price: string, executedAt: number) => ({
    ...{ id, side: "BUY", executedAt },
    ...level(price, "1"),
  });
  expect(await readRecentMatches(db.database, BTCUSD, 2)).toEqual([
    match(second, "400", NOW + 1),
    match(first, "300", NOW),
  ]);
});

test("the last day opens with its first match, and today with the first one since midnight", async () => {
  const midnight = Date.parse("2026-11-22T00:00:00.000Z");
  await addMatch(midnight + 600_000, "250");
  const now = (midnight + 1_800_000) as Instant;
  const catalogue = { findMarket: () => ({ priceDecimals: 10 }) } as never;
  const data = createMarketData({ database: db.database, catalogue, clock: { now: () => now } });
  const tickers = await Promise.all([1, 2, 3].map(() => data.ticker(BTCUSD)));
  const [ticker] = tickers;
  // Who asks at the same time adds nothing twice.
  expect(tickers).toEqual([ticker, ticker, ticker]);
  const { lastDay, today } = must(ticker, "three were read");
  const prices = (open: string, high: string, low: string, average: string) =>
    Object.fromEntries(Object.entries({ open, high, low, average }).map(([name, text]) => [name, amountOf(text)]));
  const lastDayBegins = now - DAY_MS;
  expect(lastDay).toEqual({
    ...{ begin: lastDayBegins, end: now, volume: amountOf("3") },
    prices: prices("300", "400", "250", "316.6666666667"),
  });
  expect(today).toEqual({
    ...{ begin: midnight, end: now, volume: amountOf("1") },
    prices: prices("250", "250", "250", "250"),
  });
});

test("a page of candles is as long as its limit, from either end", async () => {
  const beginnings = async (order: "ASC" | "DESC", limit: number) => {
    const range = { from: (NOW - 2 * DAY_MS) as Instant, before: (NOW + 2 * DAY_MS) as Instant };
    const candles = await listCandles(db.database, BTCUSD, { increment: "ONE_DAY", ...range, order, limit });
    return candles.map(({ at }) => formatInstant(at).slice(0, 10));
  };
  const days = ["2026-11-20", "2026-11-21", "2026-11-22"];
  expect(await beginnings("ASC", 9)).toEqual(days);
  expect(await beginnings("ASC", 2)).toEqual(days.slice(0, 2));
  expect(await beginnings("DESC", 2)).toEqual(days.toReversed().slice(0, 2));
});

test("an order book shows ten thousand levels of each side, and two thousand matches are recent", async () => {
  const market = "BCHUSD" as MarketCode;
  // Every price is that of a bid below 20,000 and of an ask from there on.
  await db.owner.rows(
    `insert into booked_order (market, id, profile_id, customer_id, side, price, base_amount, status, priority, filled, version)
     select $1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), case when n < 20000 then 'BUY' else 'SELL' end::order_side,
            n, 1, 'OPEN', 1, 0, 1
       from generate_series(9999, 30000) n`,
    [market],
  );
  await db.owner.rows(
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select gen_random_uuid(), n, gen_random_uuid(), gen_random_uuid(), $1, 'BUY', 1, n, 0, 0, now(), 1, 1
       from generate_series(1, 4001, 2) n`,
    [market],
  );
  const data = createMarketData({ database: db.database, catalogue: {} as never, clock: { now: () => NOW } });
  const { bids, asks } = await data.orderBook(market);
  const ends = (levels: string) => {
    const all = JSON.parse(`[${levels}]`) as readonly { readonly price: string }[];
    return [all[0]?.price, all.at(-1)?.price, all.length];
  };
  expect([ends(bids), ends(asks)]).toEqual([
    ["19999", "10000", 10_000],
    ["20000", "29999", 10_000],
  ]);
  const matches = await data.recentMatches(market);
  expect([matches[0]?.id, matches.at(-1)?.id, matches.length]).toEqual([4_001n, 3n, 2_000]);
});
