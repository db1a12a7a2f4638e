import { afterAll, beforeAll, expect, test } from "vitest";
import { INCREMENTS } from "../../../src/exchange/market-data/candles.ts";
import { type StoredMatch, storeMatches } from "../../support/exchange/stored-matches.ts";
import { startTestService, type TestCustomer, type TestService } from "../../support/service.ts";
import { expectOneLength, rejectionsBy } from "./rejected-lengths.ts";

const PATH = "/v2/markets/BTCUSD/historical-candles";
const MINUTE = 60_000;
const WEEK = 7 * 24 * 60 * MINUTE;
/** A Monday, midnight UTC. */
const MONDAY = Date.parse("2026-03-02T00:00:00Z");

const LENGTHS_MINUTES: Readonly<Record<string, number>> = {
  ONE_MINUTE: 1,
  FIVE_MINUTES: 5,
  FIFTEEN_MINUTES: 15,
  THIRTY_MINUTES: 30,
  ONE_HOUR: 60,
  TWO_HOURS: 120,
  TWELVE_HOURS: 720,
  ONE_DAY: 1_440,
  ONE_WEEK: 10_080,
  TWO_WEEKS: 20_160,
  FOUR_WEEKS: 40_320,
};

/** All candles are laid out from here: the first Monday since 1970. */
const ORIGIN = Date.parse("1970-01-05T00:00:00Z");

/** What the candles of a market's matches are, one match after the other. The matches come in the order of their times. */
function candlesOf(matches: readonly StoredMatch[], minutes: number) {
  const length = minutes * MINUTE;
  const candles = new Map<number, { open: number; high: number; low: number; close: number; volume: number }>();
  for (const { at, price, amount } of matches) {
    const begin = at - ((at - ORIGIN) % length);
    const candle = candles.get(begin) ?? { open: price, high: price, low: price, close: price, volume: 0 };
    candles.set(begin, {
      open: candle.open,
      high: Math.max(candle.high, price),
      low: Math.min(candle.low, price),
      close: price,
      volume: candle.volume + amount,
    });
  }
  return [...candles]
    .toSorted(([a], [b]) => b - a)
    .map(([begin, { open, high, low, close, volume }]) => ({
      timestamp: new Date(begin).toISOString(),
      open: `${open}`,
      high: `${high}`,
      low: `${low}`,
      close: `${close}`,
      volume: `${volume / 1_000}`,
    }));
}

let service: TestService;
let reader: TestCustomer;
const matches: StoredMatch[] = [];

const store = (market: string, made: readonly StoredMatch[]): Promise<void> =>
  storeMatches(service.db.owner, market, made);

beforeAll(async () => {
  service = await startTestService();
  reader = await service.customer("reader");
  // From every few seconds to weeks apart, in a row that is the same each time, with two in one millisecond.
  let [at, state] = [MONDAY - 5 * WEEK, 7];
  for (let n = 0; n < 400; n += 1) {
    state = (state * 48_271) % 2_147_483_647;
    const gap = [3_000, 40_000, 20 * MINUTE, 7 * 60 * MINUTE, 40 * 60 * MINUTE][state % 5] ?? 0;
    at += n % 50 === 0 ? 0 : (state % gap) + 1;
    matches.push({ at, price: 20_000 + (state % 9_000), amount: 1 + (state % 700) });
  }
  await store("BTCUSD", matches);
  await store(
    "ETHUSD",
    matches.map((match) => ({ ...match, price: 1, amount: 1 })),
  );
});
afterAll(() => service.close());

const get = (query: string, as = reader.token) => service.call("GET", `${PATH}?${query}`, { as });

/** All pages from the first one on. */
async function all(query: string) {
  const items: { timestamp: string }[] = [];
  let cursor = "";
  do {
    const { status, body } = await get(`${query}&page_cursor=${cursor}`);
    expect(status).toBe(200);
    items.push(...body.items);
    cursor = body.next_page_cursor;
  } while (cursor !== "");
  return items;
}

const iso = (time: number): string => new Date(time).toISOString();
const WHOLE = `range.begin=${iso(MONDAY - 20 * WEEK)}&range.end=${iso(MONDAY + 60 * WEEK)}`;

test("the candles of every increment equal those computed from the matches", async () => {
  expect(Object.keys(LENGTHS_MINUTES)).toEqual(INCREMENTS);
  for (const increment of INCREMENTS) {
    const { status, body } = await get(`increment=${increment}&limit=1000&${WHOLE}`);
    expect(status).toBe(200);
    const expected = candlesOf(matches, LENGTHS_MINUTES[increment] ?? 0);
    expect(body).toEqual({ market: "BTCUSD", increment, items: expected, next_page_cursor: "" });
  }
});

test("days begin at midnight UTC, weeks on a Monday", async () => {
  for (const { timestamp } of await all(`increment=ONE_DAY&${WHOLE}`)) expect(timestamp).toMatch(/T00:00:00\.000Z$/);
  const weeks = await all(`increment=ONE_WEEK&${WHOLE}`);
  expect(weeks.length).toBeGreaterThan(4);
  expect(new Set(weeks.map(({ timestamp }) => new Date(timestamp).getUTCDay()))).toEqual(new Set([1]));
});

test("pages of any size together equal one large page", async () => {
  const whole = candlesOf(matches, 60);
  expect(await all(`increment=ONE_HOUR&limit=7&${WHOLE}`)).toEqual(whole);
  expect(await all(`increment=ONE_HOUR&limit=${whole.length}&${WHOLE}`)).toEqual(whole);
});

test("order=ASC lists the same candles from the oldest on, in pages of any size", async () => {
  for (const [increment, minutes] of [
    ["ONE_MINUTE", 1],
    ["ONE_HOUR", 60],
    ["FOUR_WEEKS", 40_320],
  ] as const) {
    const forth = candlesOf(matches, minutes).toReversed();
    const { body } = await get(`increment=${increment}&order=ASC&limit=1000&${WHOLE}`);
    expect(body).toEqual({ market: "BTCUSD", increment, items: forth, next_page_cursor: "" });
  }
  const hours = candlesOf(matches, 60).toReversed();
  expect(await all(`increment=ONE_HOUR&order=ASC&limit=7&${WHOLE}`)).toEqual(hours);
  const range = `range.begin=${hours[10]?.timestamp}&range.end=${hours[20]?.timestamp}`;
  expect(await all(`increment=ONE_HOUR&order=ASC&limit=4&${range}`)).toEqual(hours.slice(10, 21));
});

test("the range applies to the candles' begin, both ends inclusive, and never cuts a candle", async () => {
  const hours = candlesOf(matches, 60);
  const [newest, oldest] = [hours[10], hours[20]];
  const range = `range.begin=${oldest?.timestamp}&range.end=${newest?.timestamp}`;
  expect((await get(`increment=ONE_HOUR&${range}`)).body.items).toEqual(hours.slice(10, 21));
  const within = `range.begin=${iso(Date.parse(oldest?.timestamp ?? "") + 1)}&range.end=${iso(Date.parse(newest?.timestamp ?? "") - 1)}`;
  expect((await get(`increment=ONE_HOUR&${within}`)).body.items).toEqual(hours.slice(11, 20));
  const inverted = `range.begin=${newest?.timestamp}&range.end=${oldest?.timestamp}`;
  expect((await get(`increment=ONE_HOUR&${inverted}`)).body).toEqual({
    market: "BTCUSD",
    increment: "ONE_HOUR",
    items: [],
    next_page_cursor: "",
  });
});

test("max_data_points takes the shortest increment that keeps to it", async () => {
  const day = `range.begin=${iso(MONDAY)}&range.end=${iso(MONDAY + 24 * 60 * MINUTE - 1)}`;
  const chosen = async (most: number) => (await get(`max_data_points=${most}&${day}`)).body.increment;
  expect(await chosen(1_440)).toBe("ONE_MINUTE");
  expect(await chosen(1_439)).toBe("FIVE_MINUTES");
  expect(await chosen(24)).toBe("ONE_HOUR");
  expect(await chosen(1)).toBe("ONE_DAY");
  const { body } = await get(`max_data_points=24&${day}`);
  expect(body.items).toEqual((await get(`increment=ONE_HOUR&${day}`)).body.items);
});

test("a range that is not given ends now and begins 26 weeks before its end", async () => {
  const now = Date.now();
  const recent: StoredMatch = { at: now - 25 * WEEK, price: 3, amount: 5 };
  const old: StoredMatch = { at: now - 27 * WEEK, price: 4, amount: 5 };
  await store("LTCUSD", [old, recent]);
  const path = "/v2/markets/LTCUSD/historical-candles?increment=ONE_MINUTE";
  const itemsOf = async (range: string) => (await service.call("GET", path + range, { as: reader.token })).body.items;
  expect(await itemsOf("")).toEqual(candlesOf([recent], 1));
  expect(await itemsOf(`&range.begin=${iso(now - 28 * WEEK)}`)).toEqual(candlesOf([old, recent], 1));
  expect(await itemsOf(`&range.end=${iso(now - 26 * WEEK)}`)).toEqual(candlesOf([old], 1));
  expect(await itemsOf(`&range.end=${iso(old.at + 25 * WEEK)}`)).toEqual(candlesOf([old, recent], 1));
  expect(await itemsOf(`&range.end=${iso(old.at + 26 * WEEK + MINUTE)}`)).toEqual(candlesOf([recent], 1));
});

test("the first and last possible times as a range include everything", async () => {
  const everything = "range.begin=0001-01-01T00:00:00Z&range.end=9999-12-31T23:59:59.999Z";
  expect((await get(`increment=ONE_WEEK&${everything}`)).body.items).toEqual(candlesOf(matches, 10_080));
});

test("an invalid request for candles is rejected with the rule that it breaks", async () => {
  const rejected = rejectionsBy(get);
  await expectOneLength(rejected, "candles");
  expect(await rejected("increment=ONE_YEAR")).toEqual([
    { field: "increment", value: "ONE_YEAR", rule: `is not one of ${INCREMENTS.join(", ")}` },
  ]);
  expect(await rejected("increment=ONE_DAY&limit=1001")).toEqual([
    { field: "limit", value: 1001, rule: "is above 1000" },
  ]);
  const { body } = await get(`increment=ONE_HOUR&limit=1&${WHOLE}`);
  expect(await rejected(`increment=ONE_DAY&limit=1&${WHOLE}&page_cursor=${body.next_page_cursor}`)).toEqual([
    { field: "page_cursor", rule: "belongs to another list: send the same filters as for the first page" },
  ]);
  const [version, digest, position] = JSON.parse(Buffer.from(body.next_page_cursor, "base64url").toString());
  for (const parts of [[...position, ""], position.slice(0, -1)]) {
    const cursor = Buffer.from(JSON.stringify([version, digest, parts])).toString("base64url");
    expect(await rejected(`increment=ONE_HOUR&limit=1&${WHOLE}&page_cursor=${cursor}`)).toEqual([
      { field: "page_cursor", rule: "is not a cursor of this service" },
    ]);
  }
});

test("candles require their scope, a valid request and an existing market", async () => {
  const token = await service.token(reader, "exchange:read_order");
  expect((await get("increment=ONE_DAY", token)).status).toBe(403);
  expect((await service.call("GET", `${PATH}?increment=ONE_DAY`)).status).toBe(401);
  const unknown = await service.call("GET", "/v2/markets/XXXUSD/historical-candles?increment=ONE_DAY", {
    as: reader.token,
  });
  expect([unknown.status, unknown.body.detail]).toEqual([404, "market not found: XXXUSD"]);
  const shapeless = await service.call("GET", "/v2/markets/XXXUSD/historical-candles", { as: reader.token });
  expect(shapeless.status).toBe(400);
});

test("the ticker covers the last 24 hours only, and yesterday's price is at least 24 hours old", async () => {
  const now = Date.now();
  const day = 24 * 60 * MINUTE;
  await store("UNIUSD", [
    { at: now - 2 * day, price: 5, amount: 1_000 },
    { at: now - day - MINUTE, price: 6, amount: 1_000 },
    { at: now - day + MINUTE, price: 9, amount: 2_000 },
    { at: now, price: 8, amount: 1_000 },
  ]);
  await service.db.owner.rows("update market_head set last_price = 8, last_execution_id = 7 where market = 'UNIUSD'");
  const { body } = await service.call("GET", "/v2/markets/UNIUSD/ticker");
  expect(body.last_day).toMatchObject({
    high: "9",
    low: "8",
    open: "9",
    volume: "3",
    volume_weighted_average_price: "8.66666667",
  });
  expect(body.last_execution).toEqual({ price: "8", amount: "1" });
  const prices = await service.call("GET", "/v2/all-markets/prices?markets=UNIUSD");
  expect(prices.body.items).toMatchObject([{ market: "UNIUSD", yesterday_price: "6" }]);
});
