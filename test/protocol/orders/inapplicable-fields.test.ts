/** Orders whose fields do not fit their kind, or bound it: rejected, and nothing is left behind. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Profile } from "../../../src/customers/profiles/profiles.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { ask, badField, type ExchangeApi, problem, startExchangeApi } from "../../support/exchange/exchange-api.ts";

let api: ExchangeApi;
let profile: Profile;
beforeAll(async () => {
  api = await startExchangeApi();
  profile = await api.profile(api.acme, { USD: "100000000", BTC: "1000" });
});
afterAll(async () => {
  expect(await api.db.database.rows("select id from orders")).toEqual([]);
  await expectBooksBalance(api.db.owner);
  await api.stop();
});

const LIMIT_BUY = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.5", price: "25000" };
const MARKET_BUY = { side: "BUY", market: "BTCUSD", type: "MARKET", quote_amount: "1000" };
const rejected = (json: object) => ask(api, "POST", `/v2/profiles/${profile.id}/orders`, { json });

describe("fields that do not apply to the order's type are rejected", () => {
  const { base_amount: _, ...noAmount } = LIMIT_BUY;
  const { price: __, ...noPrice } = LIMIT_BUY;
  const { quote_amount: ___, ...noQuote } = MARKET_BUY;
  const STOP_SELL = { side: "SELL", market: "BTCUSD", type: "STOP_MARKET", base_amount: "1", stop_price: "20000" };
  const SOON = "2026-11-21T09:30:00Z";
  const cases: [string, object, string, unknown, string][] = [
    ["no amount", noAmount, "base_amount", undefined, "is required for a LIMIT BUY order"],
    ["both amounts", { ...LIMIT_BUY, quote_amount: "5" }, "quote_amount", "5", "does not belong to a LIMIT BUY order"],
    ["no price", noPrice, "price", undefined, "is required for a LIMIT BUY order"],
    ["market buy, no sum", noQuote, "quote_amount", undefined, "is required for a MARKET BUY order"],
    ["market with price", { ...MARKET_BUY, price: "1" }, "price", "1", "does not belong to a MARKET BUY order"],
    ["with stop price", { ...LIMIT_BUY, stop_price: "1" }, "stop_price", "1", "does not belong to a LIMIT BUY order"],
    [
      "market GTC",
      { ...MARKET_BUY, time_in_force: "GTC" },
      "time_in_force",
      "GTC",
      "is not valid for a MARKET order, which takes IOC",
    ],
    [
      "market FOK",
      { ...MARKET_BUY, time_in_force: "FOK" },
      "time_in_force",
      "FOK",
      "is not valid for a MARKET order, which takes IOC",
    ],
    ["expiry without GTT", { ...LIMIT_BUY, expiration_date: SOON }, "expiration_date", SOON, "belongs to GTT only"],
    ["GTT without expiry", { ...LIMIT_BUY, time_in_force: "GTT" }, "expiration_date", undefined, "is required for GTT"],
    [
      "post only, no price",
      { ...noPrice, type: "POST_ONLY_LIMIT" },
      "price",
      undefined,
      "is required for a POST_ONLY_LIMIT BUY order",
    ],
    [
      "post only with stop price",
      { ...LIMIT_BUY, type: "POST_ONLY_LIMIT", stop_price: "1" },
      "stop_price",
      "1",
      "does not belong to a POST_ONLY_LIMIT BUY order",
    ],
    [
      "stop limit, no stop price",
      { ...LIMIT_BUY, type: "STOP_LIMIT" },
      "stop_price",
      undefined,
      "is required for a STOP_LIMIT BUY order",
    ],
    [
      "stop limit, no price",
      { ...noPrice, type: "STOP_LIMIT", stop_price: "1" },
      "price",
      undefined,
      "is required for a STOP_LIMIT BUY order",
    ],
    [
      "stop limit for a sum",
      { ...LIMIT_BUY, type: "STOP_LIMIT", stop_price: "1", quote_amount: "5" },
      "quote_amount",
      "5",
      "does not belong to a STOP_LIMIT BUY order",
    ],
    [
      "stop, no stop price",
      { ...MARKET_BUY, type: "STOP_MARKET" },
      "stop_price",
      undefined,
      "is required for a STOP_MARKET BUY order",
    ],
    [
      "stop with a limit",
      { ...MARKET_BUY, type: "STOP_MARKET", stop_price: "1", price: "2" },
      "price",
      "2",
      "does not belong to a STOP_MARKET BUY order",
    ],
    [
      "stop sell for a sum",
      { ...STOP_SELL, quote_amount: "5" },
      "quote_amount",
      "5",
      "does not belong to a STOP_MARKET SELL order",
    ],
    [
      "market with stop price",
      { ...MARKET_BUY, stop_price: "1" },
      "stop_price",
      "1",
      "does not belong to a MARKET BUY order",
    ],
    ["stop price 0", { ...STOP_SELL, stop_price: "0" }, "stop_price", "0", "is not above zero"],
  ];
  test.each(cases)("%s", async (_name, json, field, value, rule) => {
    expect(await rejected(json)).toEqual(badField(field, value, rule));
  });

  test("all failing fields are reported together", async () => {
    const json = { ...MARKET_BUY, quote_amount: undefined, base_amount: "1", price: "2", expiration_date: "tomorrow" };
    const errors = [
      { field: "base_amount", value: "1", rule: "does not belong to a MARKET BUY order" },
      { field: "quote_amount", rule: "is required for a MARKET BUY order" },
      { field: "price", value: "2", rule: "does not belong to a MARKET BUY order" },
      { field: "expiration_date", value: "tomorrow", rule: "belongs to GTT only" },
    ];
    expect(await rejected(json)).toEqual(
      problem(400, "Bad Request", 'base_amount "1" does not belong to a MARKET BUY order', { meta: { errors } }),
    );
  });
});

describe("an expiry that is not a time between 1970 and 9999 is rejected", () => {
  const GTT = { ...LIMIT_BUY, time_in_force: "GTT" };
  const rule =
    'is neither an RFC 3339 date-time, like "2026-11-21T09:30:00.000Z", nor milliseconds, within the years 1970 to 9999';
  const TIMES = [
    "tomorrow",
    "2026-11-21",
    "2026-11-21T09:30:00",
    "2026-02-30T09:30:00Z",
    "2026-11-21T09:30:00.0000000001Z",
    "-1",
    "1.5",
    "1e15",
    "253402300800000",
    "9999999999999999",
    "9999-12-31T23:59:59.999-00:01",
    "1969-12-31T23:59:59.999Z",
    "0000-01-01T00:00:00Z",
  ];
  test.each(TIMES)("%j", async (value) => {
    expect(await rejected({ ...GTT, expiration_date: value })).toEqual(badField("expiration_date", value, rule));
  });
  test("the empty text, and a number", async () => {
    expect(await rejected({ ...GTT, expiration_date: "" })).toEqual(badField("expiration_date", "", "is empty"));
    expect(await rejected({ ...GTT, expiration_date: 1795167000000 })).toEqual(
      badField("expiration_date", 1795167000000, "is not a string"),
    );
  });
});

test("a stop has the bounds of the order that it becomes", async () => {
  const notional = (type: string, value: string) =>
    problem(
      403,
      "Notional Value Too Large",
      `the order is worth ${value} USD, but an order on BTCUSD may be worth 5000000 at most`,
      {
        slug: "notional-value-too-large",
        meta: { market: "BTCUSD", order_type: type, order_notional_value: value, max_notional_value: "5000000" },
      },
    );
  // A limit counts at its own price, whatever its stop price.
  const limit = { ...LIMIT_BUY, type: "STOP_LIMIT", base_amount: "201", stop_price: "1" };
  expect(await rejected(limit)).toEqual(notional("STOP_LIMIT", "5025000"));
  const buy = { ...MARKET_BUY, type: "STOP_MARKET", stop_price: "30000" };
  expect(await rejected({ ...buy, quote_amount: "5000000.01" })).toEqual(
    badField("quote_amount", "5000000.01", "is above the maximum of BTCUSD: 5000000 USD"),
  );
  expect(await rejected({ ...buy, quote_amount: "0.009" })).toEqual(
    badField("quote_amount", "0.009", "is below the minimum of BTCUSD: 0.01 USD"),
  );
});
