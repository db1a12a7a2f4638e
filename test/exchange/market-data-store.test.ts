/** Bounds of market data that only a known book and a known clock show. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { orderBookBody } from "../../src/api/routes/markets/market-data.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { NO_EXECUTION, nextMatchId, takerId } from "../../src/exchange/execution-id.ts";
import { listAveragePrices } from "../../src/exchange/market-data/average-prices.ts";
import { createMarketData } from "../../src/exchange/market-data/market-data.ts";
import { readBook, readPrices, readQuotes, writeBook } from "../../src/exchange/market-data/store.ts";
import { amountOf } from "../../src/money/amount.ts";
import { formatInstant, type Instant } from "../../src/std/clock.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { copyOpenOrders } from "../support/exchange/open-orders.ts";

const BTCUSD = "BTCUSD" as MarketCode;
const NOW = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
const DAY_MS = 24 * 60 * 60_000;

let db: TestDatabase;
let marketNumber: number;
beforeAll(async () => {
  db = await testDatabase();
  const [market] = await db.owner.rows<{ number: number }>("select number from market where code = $1", [BTCUSD]);
  marketNumber = market?.number ?? 0;
  await db.owner.rows(
    `insert into orders (profile_id, id, customer_id, market, side, type, time_in_force, base_amount, price, taker_rate,
                         maker_rebate, created_at, status, sequence, priority, filled, filled_gross, held, is_triggered,
                         updated_at, version, slot, batch)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), $1, side::order_side, 'LIMIT', 'GTC', 2, price, 0, 0,
            now(), 'OPEN', 1, 1, filled, 0, 1, false, now(), 1, 1, 1
       from (values ('BUY', 90, 0), ('BUY', 99, 0), ('BUY', 99, 0.5), ('SELL', 110, 0), ('SELL', 101, 1.25)) as v (side, price, filled)`,
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
  expect(await readBook(db.database, BTCUSD, "all")).toEqual({ version: 0n, bids, asks });
  expect(await readBook(db.database, BTCUSD, 1)).toEqual({
    version: 0n,
    bids: bids.slice(0, 1),
    asks: asks.slice(0, 1),
  });
});

test("a stored book is read back exactly, level by level", async () => {
  for (const most of [10_000, 1]) {
    const book = await readBook(db.database, BTCUSD, most);
    const { version, bids, asks } = await writeBook(db.database, BTCUSD, most);
    const written = `{"market":"BTCUSD","sequence":"${version}","bids":[${bids}],"asks":[${asks}]}`;
    expect(written).toBe(JSON.stringify(orderBookBody(BTCUSD, book)));
  }
  expect(await writeBook(db.database, "ETHUSD" as MarketCode, 1)).toEqual({ version: 0n, bids: "", asks: "" });
});

/** Both sides of a match at this time. */
async function addMatch(at: number, price: string) {
  const maker = nextMatchId(NO_EXECUTION, marketNumber, at as Instant);
  await db.owner.rows(
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select gen_random_uuid(), id, gen_random_uuid(), gen_random_uuid(), $1, 'BUY', 1, $3::numeric, 0, 0, $4::timestamptz, 1, 1
       from unnest($2::bigint[]) as id`,
    [BTCUSD, [maker, takerId(maker)].map(String), price, formatInstant(at as Instant)],
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
});

test("the last day opens with its first match, and today with the first one since midnight", async () => {
  const midnight = Date.parse("2026-11-22T00:00:00.000Z");
  await addMatch(midnight + 600_000, "250");
  const now = (midnight + 1_800_000) as Instant;
  const catalogue = { findMarket: () => ({ priceDecimals: 6 }) } as never;
  const { lastDay, today } = await createMarketData({
    database: db.database,
    catalogue,
    clock: { now: () => now },
  }).ticker(BTCUSD);
  const prices = (open: string, high: string, low: string, average: string) =>
    Object.fromEntries(Object.entries({ open, high, low, average }).map(([name, text]) => [name, amountOf(text)]));
  const lastDayBegins = now - DAY_MS;
  expect(lastDay).toEqual({
    ...{ begin: lastDayBegins, end: now, volume: amountOf("3") },
    prices: prices("300", "400", "250", "316.66666667"),
  });
  expect(today).toEqual({
    ...{ begin: midnight, end: now, volume: amountOf("1") },
    prices: prices("250", "250", "250", "250"),
  });
});
