import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { insertMarket, readMarkets } from "../../src/catalogue/store.ts";
import type { Profile } from "../../src/customers/profiles/profiles.ts";
import type { ExecutionId } from "../../src/exchange/exchange.ts";
import { executedAtOf } from "../../src/exchange/execution-id.ts";
import { must } from "../../src/std/assert.ts";
import { formatInstant } from "../../src/std/clock.ts";
import { ask, badField, type ExchangeApi, problem, startExchangeApi } from "../support/exchange/exchange-api.ts";

interface Page {
  readonly items: readonly { readonly execution_id: string }[];
  readonly next_page_cursor: string;
}

let api: ExchangeApi;
let one: Profile;
let two: Profile;
const ORDERS = ["0190d5a4-0000-7000-8000-000000000001", "0190d5a4-0000-7000-8000-000000000002"] as const;
const [FIRST_ORDER, SECOND_ORDER] = ORDERS;
const NEWEST = Date.UTC(2026, 10, 21, 9, 30);

/** Ids of one match after another: two in each millisecond, newest first. */
const IDS = Array.from({ length: 8 }, (_, n) => idAt(NEWEST - Math.floor(n / 2), 1 - (n % 2)));

function idAt(millis: number, counter: number): string {
  return ((BigInt(millis - Date.UTC(2020, 0, 1)) << 22n) | (1n << 14n) | BigInt(counter)).toString();
}
const timeOf = (id: string | undefined): string => formatInstant(executedAtOf(BigInt(id ?? "0") as ExecutionId));

beforeAll(async () => {
  api = await startExchangeApi();
  [one, two] = [await api.profile(api.acme, {}), await api.profile(api.acme, {})];
  const others = await api.profile(api.globex, {});
  for (const [n, id] of IDS.entries()) {
    const isTaker = n % 2 === 0;
    const order = isTaker ? FIRST_ORDER : SECOND_ORDER;
    const account = n < 2 ? "account-7" : null;
    await insert(id, isTaker ? one.id : two.id, api.acme.customerId, order, account);
  }
  await insert(idAt(NEWEST, 2), others.id, api.globex.customerId, FIRST_ORDER, "account-7");
});
afterAll(() => api.stop());

async function insert(
  id: string,
  profile: string,
  customer: string,
  order: string,
  account: string | null,
  market = "BTCUSD",
) {
  const isTaker = BigInt(id) % 2n === 1n;
  await api.db.owner.rows(
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            account_id, executed_at, slot, batch)
     values ($1, $2, $3, $4, $10, $5, '0.10000000', '25000', $6, $7, $8, $9, 1, 1)`,
    [
      profile,
      id,
      customer,
      order,
      order === FIRST_ORDER ? "BUY" : "SELL",
      isTaker ? "8.75" : "0",
      isTaker ? "0" : "0.75",
      account,
      timeOf(id),
      market,
    ],
  );
}

async function listed(path: string): Promise<Page> {
  const answer = await ask(api, "GET", path);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body as Page;
}

const idsOf = ({ items }: Page): string[] => items.map((item) => item.execution_id);

test("both parties' records are listed whole, newest first", async () => {
  const { items, next_page_cursor } = await listed("/v2/executions?limit=2");
  const both = {
    executed_at: "2026-11-21T09:30:00.000Z",
    market: "BTCUSD",
    amount: "0.1",
    price: "25000",
    commission_asset: "USD",
    rebate_asset: "USD",
    gross_trade_amount: "2500",
    account_id: "account-7",
  };
  expect(items).toEqual([
    { ...both, execution_id: IDS[0], order_id: FIRST_ORDER, side: "BUY", commission: "8.75", rebate: "0" },
    { ...both, execution_id: IDS[1], order_id: SECOND_ORDER, side: "SELL", commission: "0", rebate: "0.75" },
  ]);
  expect(next_page_cursor).not.toBe("");
});

test("an execution of an order without a subaccount reference has twelve fields", async () => {
  const { items } = await listed(`/v2/executions?since_execution_id=${IDS[2]}&limit=1`);
  expect(items).toEqual([
    {
      execution_id: IDS[2],
      order_id: FIRST_ORDER,
      executed_at: "2026-11-21T09:29:59.999Z",
      market: "BTCUSD",
      side: "BUY",
      amount: "0.1",
      price: "25000",
      commission: "8.75",
      commission_asset: "USD",
      rebate: "0",
      rebate_asset: "USD",
      gross_trade_amount: "2500",
    },
  ]);
});

describe("filters", () => {
  const cases: [string, () => string, readonly number[]][] = [
    ["profile", () => `profile_id=${one.id}`, [0, 2, 4, 6]],
    ["order", () => `order_id=${SECOND_ORDER}`, [1, 3, 5, 7]],
    ["account", () => "account_id=account-7", [0, 1]],
    ["account and profile", () => `account_id=account-7&profile_id=${two.id}`, [1]],
    ["an order of another profile", () => `order_id=${SECOND_ORDER}&profile_id=${one.id}`, []],
    ["another customer's profile", () => `profile_id=${api.globex.home}`, []],
    ["since an execution", () => `since_execution_id=${IDS[3]}`, [3, 4, 5, 6, 7]],
    ["since a number that is no execution", () => `since_execution_id=${BigInt(IDS[3] ?? 0) - 1n}`, [4, 5, 6, 7]],
    ["since the highest number", () => "since_execution_id=18446744073709551615", [0, 1, 2, 3, 4, 5, 6, 7]],
    ["since beyond 64 bits", () => "since_execution_id=99999999999999999999", [0, 1, 2, 3, 4, 5, 6, 7]],
    ["since zero", () => "since_execution_id=0", []],
    ["from a time on", () => `range.begin=${timeOf(IDS[3])}`, [0, 1, 2, 3]],
    ["up to a time", () => `range.end=${timeOf(IDS[3])}`, [2, 3, 4, 5, 6, 7]],
    ["from a little later than a time", () => "range.begin=2026-11-21T09:29:59.9990001Z", [0, 1]],
    ["up to a little later than a time", () => "range.end=2026-11-21T09:29:59.9990001Z", [2, 3, 4, 5, 6, 7]],
    [
      "at one time, and of a profile",
      () => `range.begin=${timeOf(IDS[2])}&range.end=${timeOf(IDS[2])}&profile_id=${one.id}`,
      [2],
    ],
    ["before there was anything", () => "range.end=1969-12-31T23:59:59Z", []],
    ["after all ids end", () => "range.begin=9999-12-31T23:59:59Z", []],
    [
      "a range around everything",
      () => "range.begin=0001-01-01T00:00:00Z&range.end=9999-12-31T23:59:59Z",
      [0, 1, 2, 3, 4, 5, 6, 7],
    ],
    ["a range that ends before it begins", () => `range.begin=${timeOf(IDS[0])}&range.end=${timeOf(IDS[3])}`, []],
  ];
  test.each(cases)("%s", async (_name, query, expected) => {
    expect(idsOf(await listed(`/v2/executions?${query()}`))).toEqual(expected.map((n) => IDS[n]));
  });

  test("the path of a profile is a filter as well", async () => {
    expect(idsOf(await listed(`/v2/profiles/${one.id}/executions`))).toEqual([0, 2, 4, 6].map((n) => IDS[n]));
    expect(idsOf(await listed("/v2/profiles/default/executions"))).toEqual([]);
    const missing = problem(404, "Not Found", `profile not found: ${one.id}`);
    expect(await ask(api, "GET", `/v2/profiles/${one.id}/executions`, { token: "globex" })).toEqual(missing);
  });
});

test("pages neither miss nor repeat an execution; the last one is marked, even when exactly full", async () => {
  const seen: string[] = [];
  let cursor = "";
  for (const limit of [3, 1, 4]) {
    const page = await listed(`/v2/executions?limit=${limit}&page_cursor=${cursor}`);
    seen.push(...idsOf(page));
    cursor = page.next_page_cursor;
    // What comes meanwhile is newer than all that is left to be read.
    await insert(idAt(NEWEST + limit, 0), one.id, api.acme.customerId, FIRST_ORDER, null);
  }
  expect(seen).toEqual(IDS);
  expect(cursor).toBe("");
  await api.db.owner.rows("delete from execution where executed_at > $1", [new Date(NEWEST)]);
});

test("an execution on a market that another process added a moment ago", async () => {
  const [known] = await readMarkets(api.db.owner);
  await insertMarket(api.db.owner, { ...must(known, "there are markets"), code: "NEWUSD" as MarketCode, number: 99 });
  const id = idAt(NEWEST, 3);
  await insert(id, one.id, api.acme.customerId, FIRST_ORDER, null, "NEWUSD");
  const { items } = await listed("/v2/executions?limit=1");
  expect(items).toMatchObject([{ execution_id: id, market: "NEWUSD", commission_asset: known?.quote }]);
  await api.db.owner.rows("delete from execution where market = 'NEWUSD'");
});

describe("an invalid query is rejected", () => {
  const notDigits = "is not a number of 1 to 20 decimal digits";
  const notTime = 'is not an RFC 3339 date-time with at most 9 decimals of a second, like "2026-11-21T09:30:00.000Z"';
  const cases: [string, string, string, unknown, string][] = [
    ["/v2/executions", "since_execution_id=-1", "since_execution_id", "-1", notDigits],
    ["/v2/executions", "since_execution_id=1e3", "since_execution_id", "1e3", notDigits],
    ["/v2/executions", "since_execution_id=", "since_execution_id", undefined, "is empty"],
    ["/v2/executions", "range.begin=2026-02-30T00:00:00Z", "range.begin", "2026-02-30T00:00:00Z", notTime],
    ["/v2/executions", "account_id=", "account_id", undefined, "is empty"],
    ["/v2/executions", "limit=1001", "limit", 1001, "is above 1000"],
    ["/v2/executions", "limit=1.5", "limit", "1.5", "is not a whole number"],
    ["/v2/profiles/default/executions", "limit=501", "limit", 501, "is above 500"],
  ];
  test.each(cases)("%s?%s", async (path, query, field, value, rule) => {
    expect(await ask(api, "GET", `${path}?${query}`)).toEqual(badField(field, value, rule));
  });

  test("a cursor that is not the position of an execution", async () => {
    const { next_page_cursor } = await listed("/v2/executions?limit=1");
    const [version, digest, genuine] = JSON.parse(Buffer.from(next_page_cursor, "base64url").toString());
    for (const position of [["'; --"], [...genuine, ""], []]) {
      const forged = Buffer.from(JSON.stringify([version, digest, position])).toString("base64url");
      expect((await ask(api, "GET", `/v2/executions?page_cursor=${forged}`)).status, `${position}`).toBe(400);
    }
  });
});

test("the default page has 100 executions for a customer and 20 for a profile", async () => {
  const busy = await api.profile(api.globex, {});
  for (let n = 0; n < 101; n += 1)
    await insert(idAt(NEWEST - 1_000, n), busy.id, api.globex.customerId, FIRST_ORDER, null);
  const ofCustomer = await ask(api, "GET", "/v2/executions", { token: "globex" });
  const ofProfile = await ask(api, "GET", `/v2/profiles/${busy.id}/executions`, { token: "globex" });
  expect((ofCustomer.body as Page).items).toHaveLength(100);
  expect((ofProfile.body as Page).items).toHaveLength(20);
});
