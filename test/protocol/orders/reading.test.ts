import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Profile } from "../../../src/customers/profiles/profiles.ts";
import type { Order } from "../../../src/exchange/exchange.ts";
import { amountOf } from "../../../src/money/amount.ts";
import type { Instant } from "../../../src/std/clock.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { ask, badField, type ExchangeApi, problem, startExchangeApi } from "../../support/exchange/exchange-api.ts";
import { untilNextMillisecond } from "../../support/until.ts";

interface Page {
  readonly items: readonly { readonly id: string; readonly created_at: string }[];
  readonly next_page_cursor: string;
}

let api: ExchangeApi;
let one: Profile;
let two: Profile;
/** Newest first, as they are listed. */
const orders: { readonly id: string; readonly created_at: string }[] = [];
const LIMIT_BUY = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.5", price: "25000" };

beforeAll(async () => {
  api = await startExchangeApi();
  [one, two] = [await api.profile(api.acme, { USD: "1000000" }), await api.profile(api.acme, { USD: "1000000" })];
  const others = await api.profile(api.globex, { USD: "1000000" });
  await ask(api, "POST", `/v2/profiles/${others.id}/orders`, { token: "globex", json: LIMIT_BUY });
  const first = Date.now();
  for (const [n, { id }] of [one, two, one, two, one].entries()) {
    // Filters tell them apart by their times.
    api.time.now = (first + n) as Instant;
    const market = n === 1 ? "ETHUSD" : "BTCUSD";
    const pair = n < 3 ? {} : { identity_id: "i", identity_account_id: `account-${n}` };
    const json = { ...LIMIT_BUY, ...pair, market, ref_id: `r${n}` };
    // Each has a time of its own, by which there are filters.
    await untilNextMillisecond();
    orders.unshift((await ask(api, "POST", `/v2/profiles/${id}/orders`, { json })).body as (typeof orders)[number]);
  }
  api.time.now = undefined;
});
afterAll(async () => {
  await expectBooksBalance(api.db.owner);
  await api.stop();
});

async function listed(path: string, token = "acme"): Promise<Page> {
  const answer = await ask(api, "GET", path, { token });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body as Page;
}

test("a customer's own orders are listed with all fields, newest first", async () => {
  expect(await listed("/v2/orders")).toEqual({ items: orders, next_page_cursor: "" });
  const globex = await listed("/v2/orders", "globex");
  expect(globex.items).toHaveLength(1);
  expect(orders.map(({ id }) => id)).not.toContain(globex.items[0]?.id);
});

test("a profile's orders are listed by its path and by its filter", async () => {
  const items = [0, 2, 4].map((n) => orders[n]);
  expect(await listed(`/v2/profiles/${one.id}/orders`)).toEqual({ items, next_page_cursor: "" });
  expect(await listed(`/v2/orders?profile_id=${one.id}`)).toEqual({ items, next_page_cursor: "" });
  expect(await listed("/v2/profiles/default/orders")).toEqual({ items: [], next_page_cursor: "" });
});

test("the path of a profile that is not the caller's is not found; as a filter it matches nothing", async () => {
  const nobody = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
  const missing = problem(404, "Not Found", `profile not found: ${nobody}`);
  expect(await ask(api, "GET", `/v2/profiles/${nobody}/orders`)).toEqual(missing);
  expect((await ask(api, "GET", `/v2/profiles/${one.id}/orders`, { token: "globex" })).status).toBe(404);
  expect(await listed(`/v2/orders?profile_id=${nobody}`)).toEqual({ items: [], next_page_cursor: "" });
  expect(await listed(`/v2/orders?profile_id=${one.id}`, "globex")).toEqual({ items: [], next_page_cursor: "" });
});

describe("filters", () => {
  const cases: [string, () => string, readonly number[]][] = [
    ["account", () => "account_id=account-3", [1]],
    ["market", () => "market=ETHUSD", [3]],
    ["status", () => "status=PENDING_SUBMISSION", [0, 1, 2, 3, 4]],
    ["status of none", () => "status=FILLED", []],
    ["ref_ids", () => "ref_ids=r0&ref_ids=r4&ref_ids=none", [0, 4]],
    ["an unknown account", () => "account_id=nobody", []],
    ["all together", () => "market=BTCUSD&ref_ids=r1&ref_ids=r2", [2]],
    ["from a time on", () => `order_time.begin=${orders[2]?.created_at}`, [0, 1, 2]],
    ["up to a time", () => `order_time.end=${orders[2]?.created_at}`, [2, 3, 4]],
    ["at one time", () => `order_time.begin=${orders[2]?.created_at}&order_time.end=${orders[2]?.created_at}`, [2]],
    [
      "a range that ends before it begins",
      () => "order_time.begin=2030-01-01T00:00:00Z&order_time.end=2020-01-01T00:00:00Z",
      [],
    ],
  ];
  test.each(cases)("%s", async (_name, query, expected) => {
    expect((await listed(`/v2/orders?${query()}`)).items).toEqual(expected.map((n) => orders[n]));
  });
});

test("pages neither miss nor repeat an order, even while orders are placed", async () => {
  const seen: object[] = [];
  let cursor = "";
  for (const limit of [2, 1, 2, 100]) {
    const page = await listed(`/v2/orders?limit=${limit}&page_cursor=${cursor}`);
    seen.push(...page.items);
    cursor = page.next_page_cursor;
    if (cursor === "") break;
    await ask(api, "POST", "/v2/profiles/default/orders", { json: { ...LIMIT_BUY, identity_id: "alone" } });
  }
  expect(seen).toEqual(orders);
  expect(cursor).toBe("");
});

describe("an invalid query is rejected", () => {
  const cases: [string, string, unknown, string][] = [
    [
      "status=open",
      "status",
      "open",
      "is not one of PENDING_SUBMISSION, SUBMITTED, OPEN, FILLED, CANCELLED, REJECTED, EXPIRED",
    ],
    [
      "profile_id=5",
      "profile_id",
      "5",
      'is not a UUID: 36 characters, like 0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00, and not "default"',
    ],
    ["limit=0", "limit", 0, "is below 1"],
    ["limit=1001", "limit", 1001, "is above 1000"],
    ["market=", "market", undefined, "is empty"],
    ["market=BTCUSD&market=ETHUSD", "market", undefined, "is given more than once"],
    [
      "order_time.end=now",
      "order_time.end",
      "now",
      'is not an RFC 3339 date-time with at most 9 decimals of a second, like "2026-11-21T09:30:00.000Z"',
    ],
  ];
  test.each(cases)("%s", async (query, field, value, rule) => {
    expect(await ask(api, "GET", `/v2/orders?${query}`)).toEqual(badField(field, value, rule));
  });

  test("an unknown market", async () => {
    const answer = await ask(api, "GET", "/v2/orders?market=NOSUCH");
    expect(answer).toEqual(badField("market", "NOSUCH", `is not one of ${api.exchange.marketCodes().join(", ")}`));
  });

  test("a cursor of another list", async () => {
    const { next_page_cursor: cursor } = await listed("/v2/orders?limit=1");
    const rule = "belongs to another list: send the same filters as for the first page";
    expect(await ask(api, "GET", `/v2/orders?market=BTCUSD&page_cursor=${cursor}`)).toEqual(
      badField("page_cursor", undefined, rule),
    );
    expect((await ask(api, "GET", `/v2/orders?page_cursor=${cursor}`, { token: "globex" })).status).toBe(400);
    const { next_page_cursor: ofOne } = await listed(`/v2/profiles/${one.id}/orders?limit=1`);
    expect(await ask(api, "GET", `/v2/profiles/${two.id}/orders?page_cursor=${ofOne}`)).toEqual(
      badField("page_cursor", undefined, rule),
    );
    expect((await ask(api, "GET", "/v2/orders?page_cursor=x")).status).toBe(400);
  });
});

test("a filled order has its average price, rounded half up at 8 decimals", async () => {
  const json = { ...LIMIT_BUY, base_amount: "0.0003" };
  const path = `/v2/profiles/${two.id}/orders`;
  const { id } = (await ask(api, "POST", path, { json })).body as Pick<Order, "id">;
  const gross = amountOf("7.000000005");
  await api.close({ id, profileId: two.id }, { status: "FILLED", filled: amountOf("0.0003"), filledGross: gross });
  expect((await ask(api, "GET", `${path}/${id}`)).body).toMatchObject({
    status: "FILLED",
    amount_filled: "0.0003",
    volume_weighted_average_price: "23333.33335",
  });
});

test("on a market whose prices have more decimals, the average price has as many", async () => {
  const json = { ...LIMIT_BUY, market: "PEPEUSD", base_amount: "300000", price: "0.00001" };
  const path = `/v2/profiles/${two.id}/orders`;
  const { id } = (await ask(api, "POST", path, { json })).body as Pick<Order, "id">;
  const [filled, filledGross] = [amountOf("300000"), amountOf("2")];
  await api.close({ id, profileId: two.id }, { status: "FILLED", filled, filledGross });
  expect((await ask(api, "GET", `${path}/${id}`)).body).toMatchObject({
    volume_weighted_average_price: "0.0000066667",
  });
});
