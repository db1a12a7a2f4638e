import { afterAll, beforeAll, expect, test } from "vitest";
import type { Catalogue } from "../../src/catalogue/catalogue.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import type { ExecutionId } from "../../src/exchange/execution.ts";
import { nextMatchId, takerId } from "../../src/exchange/execution-id.ts";
import { createMarketData } from "../../src/exchange/market-data/market-data.ts";
import { RollingDays } from "../../src/exchange/market-data/rolling-day.ts";
import { amountOf, multiplyExact } from "../../src/money/amount.ts";
import type { Instant } from "../../src/std/clock.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const START = Date.parse("2026-03-02T09:17:23.456Z");
const NOBODY = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

interface Match {
  readonly at: number;
  readonly price: string;
  readonly amount: string;
}

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

/** A market on which a test matches what it wants when it wants. */
async function market(code: string) {
  const [row] = await db.owner.rows<{ number: number }>("select number from market where code = $1", [code]);
  const matches: Match[] = [];
  let last = 0n as ExecutionId;
  const match = async (made: readonly Match[]): Promise<void> => {
    const rows = made.flatMap(({ at, price, amount }) => {
      const maker = nextMatchId(last, row?.number ?? 0, at as Instant);
      last = takerId(maker);
      return [maker, last].map((id) => ({ id: `${id}`, at: new Date(at).toISOString(), price, amount }));
    });
    await db.owner.rows(
      `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                              executed_at, slot, batch)
       select $1, id, $1, $1, $2, 'BUY', amount, price, 0, 0, at, 1, 1
         from jsonb_to_recordset($3) as row (id bigint, at timestamptz, price numeric, amount numeric)`,
      [NOBODY, code, JSON.stringify(rows)],
    );
    matches.push(...made);
  };
  /** What was traded from some time on, one match after the other. */
  const tradedSince = (begin: number) => {
    const traded = matches.filter(({ at }) => at >= begin);
    if (traded.length === 0) return undefined;
    const prices = traded.map(({ price }) => amountOf(price)).toSorted((a, b) => (a < b ? -1 : 1));
    const amounts = traded.map(({ amount }) => amountOf(amount));
    const gross = traded.map(({ price, amount }) => multiplyExact(amountOf(price), amountOf(amount)));
    return {
      high: prices.at(-1),
      low: prices[0],
      volume: amounts.reduce<bigint>((sum, amount) => sum + amount, 0n),
      gross: gross.reduce<bigint>((sum, amount) => sum + amount, 0n),
    };
  };
  return { match, tradedSince, last: () => last };
}

test("a rolling day equals the sum of its matches at every read", async () => {
  const { match, tradedSince, last } = await market("BTCUSD");
  const day = new RollingDays(db.database, "BTCUSD" as MarketCode, 3);
  let [now, state] = [START, 11];
  for (let step = 0; step < 150; step += 1) {
    state = (state * 48_271) % 2_147_483_647;
    const made: Match[] = [];
    for (let n = 0; n < state % 8; n += 1) {
      now += (state >> n) % 20_000;
      made.push({ at: now, price: `${20_000 + ((state >> n) % 977)}.5`, amount: `0.${1 + ((state >> n) % 89)}` });
    }
    await match(made);
    now += [0, 20_000, 7 * MINUTE, 50 * MINUTE, 3 * 60 * MINUTE][state % 5] ?? 0;
    if (step % 70 === 69) now += 2 * DAY;
    const read = await day.read(now as Instant);
    const midnight = now - (now % DAY);
    expect(read.begins).toEqual({ lastDay: now - DAY, today: midnight });
    expect(read.lastDay).toEqual(tradedSince(now - DAY));
    expect(read.today).toEqual(tradedSince(midnight));
    if (read.lastDay !== undefined) expect(read.last).toBe(last());
  }
});

test("a match leaves the last day in the millisecond in which it is 24 hours old and one more", async () => {
  const { match, tradedSince } = await market("ETHUSD");
  await match([
    { at: START, price: "2000", amount: "1" },
    { at: START + 1, price: "2001", amount: "2" },
  ]);
  const day = new RollingDays(db.database, "ETHUSD" as MarketCode);
  expect((await day.read((START + DAY) as Instant)).lastDay).toEqual(tradedSince(START));
  expect((await day.read((START + DAY + 1) as Instant)).lastDay).toEqual(tradedSince(START + 1));
  expect((await day.read((START + DAY + 2) as Instant)).lastDay).toBeUndefined();
});

test("a day does not move back with a clock that is set back a little, and begins anew with one that was far ahead", async () => {
  const { match, tradedSince } = await market("LTCUSD");
  await match([{ at: START, price: "80", amount: "1" }]);
  const day = new RollingDays(db.database, "LTCUSD" as MarketCode);
  await day.read((START + DAY) as Instant);
  const read = await day.read((START + DAY - MINUTE) as Instant);
  expect([read.at, read.lastDay]).toEqual([START + DAY, tradedSince(START)]);
  expect((await day.read((START + 3 * DAY) as Instant)).lastDay).toBeUndefined();
  const anew = await day.read((START + MINUTE) as Instant);
  expect([anew.at, anew.lastDay]).toEqual([START + MINUTE, tradedSince(START)]);
});

test("after a failover that has lost matches a market shows what is there", async () => {
  const { match, tradedSince } = await market("LINKUSD");
  const code = "LINKUSD" as MarketCode;
  const now = (START + MINUTE) as Instant;
  const database = { history: "first", rows: db.database.rows.bind(db.database) };
  const catalogue = { findMarket: () => ({ priceDecimals: 2 }) } as unknown as Catalogue;
  const marketData = createMarketData({ database, catalogue, clock: { now: () => now } });
  await match([{ at: START - 1, price: "2", amount: "1" }]);
  const before = tradedSince(0);
  await match([{ at: START, price: "3", amount: "2" }]);
  expect((await marketData.ticker(code)).lastDay.volume).toBe(tradedSince(0)?.volume);
  expect(await marketData.recentMatches(code)).toHaveLength(2);

  const at = new Date(START).toISOString();
  await db.owner.rows("delete from execution where market = $1 and executed_at = $2", [code, at]);
  // It begins between two statements of a read.
  database.rows = async (text, values) => {
    database.history = "second";
    return db.database.rows(text, values);
  };
  const { lastDay, lastMatch } = await marketData.ticker(code);
  const two = amountOf("2");
  expect([lastDay.volume, lastDay.prices]).toEqual([before?.volume, { open: two, high: two, low: two, average: two }]);
  expect(lastMatch?.price).toBe(two);
  expect(await marketData.recentMatches(code)).toHaveLength(1);
});
