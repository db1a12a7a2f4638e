/** Average prices (docs/contract/market-data.md#historical-prices), against a walk over the same trades. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type StoredMatch, storeMatches } from "../../support/exchange/stored-matches.ts";
import { startTestService, type TestCustomer, type TestService } from "../../support/service.ts";
import { expectOneLength, rejectionsBy } from "./rejected-lengths.ts";

const PATH = "/v2/markets/BTCUSD/historical-prices";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A Monday, midnight UTC, at which intervals of all lengths up to a week begin. */
const MONDAY = Date.parse("2026-03-02T00:00:00Z");

let service: TestService;
let reader: TestCustomer;
const matches: StoredMatch[] = [];
beforeAll(async () => {
  service = await startTestService();
  reader = await service.customer("reader");
  // Seconds to days apart, in a row that is the same each time, with some in one millisecond.
  let [at, state] = [MONDAY + 17 * MINUTE, 7];
  for (let n = 0; n < 200; n += 1) {
    matches.push({ at, price: 20_000 + (state % 9_000), amount: 1 + (state % 700) });
    state = (state * 48_271) % 2_147_483_647;
    const gap = [3_000, 40_000, 20 * MINUTE, 7 * HOUR, 40 * HOUR][state % 5] ?? 0;
    at += n % 40 === 0 ? 0 : (state % gap) + 1;
  }
  await storeMatches(service.db.owner, "BTCUSD", matches);
});
afterAll(() => service.close());

/** The price of each interval from `begin` on: each price counts for the time until the next one. */
function averagesOf(begin: number, length: number, count: number) {
  return Array.from({ length: count }, (_, i) => {
    const [from, until] = [begin + i * length, begin + (i + 1) * length];
    let [weighted, millis] = [0n, 0n];
    matches.forEach(({ at, price }, n) => {
      const held = Math.min(matches[n + 1]?.at ?? until, until) - Math.max(at, from);
      if (held <= 0) return;
      weighted += BigInt(price) * BigInt(held);
      millis += BigInt(held);
    });
    const units = (weighted * 10n ** 8n * 2n + millis) / (millis * 2n);
    const decimals = `${units % 10n ** 8n}`.padStart(8, "0").replace(/0+$/, "");
    const average_price = `${units / 10n ** 8n}${decimals === "" ? "" : `.${decimals}`}`;
    return { timestamp: new Date(from).toISOString(), average_price };
  });
}

const get = (query: string, path = PATH, as = reader.token) => service.call("GET", `${path}?${query}`, { as });
const iso = (time: number): string => new Date(time).toISOString();

test("the averages of an increment are those of the last price over its time, whether there were trades or not", async () => {
  for (const [increment, length, count] of [
    ["ONE_MINUTE", MINUTE, 1_000],
    ["ONE_HOUR", HOUR, 900],
    ["ONE_DAY", DAY, 100],
    ["ONE_WEEK", 7 * DAY, 20],
  ] as const) {
    const begin = MONDAY + (increment === "ONE_MINUTE" ? 17 * MINUTE : 0);
    const end = begin + (count - 1) * length;
    const { status, body } = await get(`increment=${increment}&range.end=${iso(end)}&pagination.limit=1000`);
    expect([status, body]).toEqual([200, { items: averagesOf(begin, length, count), total_count: count }]);
  }
});

test("pages are counted off, and know how many there are", async () => {
  const range = `increment=ONE_HOUR&range.begin=${iso(MONDAY + 1)}&range.end=${iso(MONDAY + 2 * DAY)}`;
  const hours = averagesOf(MONDAY + HOUR, HOUR, 48);
  const pageAt = async (offset: number) => (await get(`${range}&pagination.limit=20&pagination.offset=${offset}`)).body;
  expect(await pageAt(0)).toEqual({ items: hours.slice(0, 20), total_count: 48 });
  expect(await pageAt(40)).toEqual({ items: hours.slice(40), total_count: 48 });
  for (const offset of [48, 2_147_483_647]) expect(await pageAt(offset)).toEqual({ items: [], total_count: 48 });
});

test("without a limit there are a hundred, from the first trade on", async () => {
  const { body } = await get("increment=ONE_MINUTE");
  expect(body.items).toEqual(averagesOf(MONDAY + 17 * MINUTE, MINUTE, 100));
  expect(body.total_count).toBeGreaterThan(100_000);
});

test("only complete increments are there, and a range may be of any time", async () => {
  const now = Date.now();
  const week = 7 * DAY;
  const { body } = await get("increment=ONE_WEEK&pagination.limit=1000&range.end=9999-12-31T23:59:59Z");
  const count = Math.floor((now - MONDAY) / week);
  expect(body).toEqual({ items: averagesOf(MONDAY, week, count), total_count: count });
  const nothing = { items: [], total_count: 0 };
  for (const range of [
    `range.begin=${iso(now)}`,
    "range.begin=9999-01-01T00:00:00Z",
    "range.end=2020-01-01T00:00:00Z",
    "range.begin=2026-06-01T00:00:00Z&range.end=2026-05-01T00:00:00Z",
  ])
    expect([range, (await get(`increment=ONE_WEEK&${range}`)).body]).toEqual([range, nothing]);
  expect((await get("increment=ONE_DAY", "/v2/markets/ETHUSD/historical-prices")).body).toEqual(nothing);
});

test("max_data_points takes the shortest increment that keeps to it", async () => {
  const range = `range.begin=${iso(MONDAY + DAY)}&range.end=${iso(MONDAY + 2 * DAY - 1)}&pagination.limit=1000`;
  const of = async (most: number) => (await get(`max_data_points=${most}&${range}`)).body.total_count;
  expect([await of(1_440), await of(1_439), await of(24), await of(1)]).toEqual([1_440, 288, 24, 1]);
});

test("a request without a length, or with two, is rejected, and so is one for more than it asks for", async () => {
  const rejected = rejectionsBy(get);
  await expectOneLength(rejected, "averages");
  expect(await rejected("increment=ONE_DAY&pagination.limit=1001")).toEqual([
    { field: "pagination.limit", value: 1001, rule: "is above 1000" },
  ]);
  const unknown = await get("increment=ONE_DAY", "/v2/markets/XXXUSD/historical-prices");
  expect([unknown.status, unknown.body.detail]).toEqual([404, "market not found: XXXUSD"]);
});
