import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Profile } from "../../../src/customers/profiles/profiles.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { ask, badField, type ExchangeApi, problem, startExchangeApi } from "../../support/exchange/exchange-api.ts";
import { TESTER } from "../../support/movements.ts";

let api: ExchangeApi;
let profile: Profile;
let path: string;
beforeAll(async () => {
  api = await startExchangeApi();
  profile = await api.profile(api.acme, { USD: "100000000", BTC: "1000", ETH: "1000" });
  path = `/v2/profiles/${profile.id}/orders`;
});
afterAll(async () => {
  // Nothing that was rejected has left an order or a hold behind.
  expect(await api.db.database.rows("select id from orders")).toEqual([]);
  await expectBooksBalance(api.db.owner);
  await api.stop();
});

const LIMIT_BUY = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.5", price: "25000" };
const MARKET_BUY = { side: "BUY", market: "BTCUSD", type: "MARKET", quote_amount: "1000" };
const rejected = (json: object) => ask(api, "POST", path, { json });

const NOT_DECIMAL = 'is not a decimal number: up to 60 characters, digits with at most one point, like "10.5"';
const NOT_DECIMALS = [
  "",
  "1e3",
  "-1",
  "+1",
  " 1",
  "1 ",
  "5.",
  "1,000",
  "0x10",
  "NaN",
  "١٢",
  "１２",
  "1.2.3",
  "9".repeat(61),
];

describe.each(["base_amount", "price"])("a malformed %s is rejected", (field) => {
  test.each(NOT_DECIMALS)("%j", async (value) => {
    expect(await rejected({ ...LIMIT_BUY, [field]: value })).toEqual(badField(field, value, NOT_DECIMAL));
  });
  test.each(["0", "0.0", ".0", "00.00"])("%j", async (value) => {
    expect(await rejected({ ...LIMIT_BUY, [field]: value })).toEqual(badField(field, value, "is not above zero"));
  });
  test.each([5, true, ["1"], { a: "1" }])("%j", async (value) => {
    const shown = typeof value === "object" ? JSON.stringify(value) : value;
    expect(await rejected({ ...LIMIT_BUY, [field]: value })).toEqual(badField(field, shown, "is not a string"));
  });
  test("10^18", async () => {
    const value = "1000000000000000000";
    expect(await rejected({ ...LIMIT_BUY, [field]: value })).toEqual(badField(field, value, "is not below 10^18"));
  });
});

describe("a field that is missing, of the wrong type or out of range is rejected", () => {
  const LONG = "x".repeat(101);
  const uuidRule = 'is not a UUID: 36 characters, like 0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00, and not "default"';
  const times = "is not one of GTC, FOK, IOC, GTT";
  const types = "is not one of LIMIT, MARKET, POST_ONLY_LIMIT, STOP_MARKET, STOP_LIMIT";
  const cases: [string, unknown, string][] = [
    ["side", undefined, "is required"],
    ["side", null, "is not one of BUY, SELL"],
    ["side", "buy", "is not one of BUY, SELL"],
    ["side", 1, "is not one of BUY, SELL"],
    ["market", undefined, "is required"],
    ["market", "", "is empty"],
    ["market", 5, "is not a string"],
    ["market", LONG, "has more than 100 characters"],
    ["type", undefined, "is required"],
    ["type", "", types],
    ["type", "limit", types],
    ["ref_id", "", "is empty"],
    ["ref_id", 5, "is not a string"],
    ["ref_id", LONG, "has more than 100 characters"],
    ["time_in_force", "", times],
    ["time_in_force", "DAY", times],
    ["identity_id", LONG, "has more than 100 characters"],
    ["identity_account_id", LONG, "has more than 100 characters"],
    ["recipient_profile_id", "DEFAULT", uuidRule],
    ["recipient_profile_id", "", uuidRule],
    ["metadata", "text", "is not an object"],
    ["metadata", { a: "1", b: "2", c: "3", d: "4", e: "5", f: "6", g: "7" }, "has more than 6 pairs"],
    ["await_fill_millis", -1, "is below 0"],
    ["await_fill_millis", 10_001, "is above 10000"],
    ["await_fill_millis", 0.5, "is not a whole number"],
    ["await_fill_millis", "5", "is not a whole number"],
    ["self_match_prevention_id", LONG, "has more than 100 characters"],
    ["self_match_prevention_id", 5, "is not a string"],
    ["await_fil_millis", 5, "is not a field of this request: did you mean await_fill_millis?"],
  ];
  test.each(cases)("%s %j", async (field, value, rule) => {
    const isShown = !rule.startsWith("is not a field of this request") && value !== undefined;
    const text = typeof value === "object" && value !== null ? JSON.stringify(value) : value;
    const shown = typeof text === "string" && text.length > 100 ? `${text.slice(0, 100)}...` : text;
    expect(await rejected({ ...LIMIT_BUY, [field]: value })).toEqual(
      badField(field, isShown ? shown : undefined, rule),
    );
  });
});

test("a price between two ticks is rejected, naming both; below the first tick, naming that one", async () => {
  const above = { ...LIMIT_BUY, price: "25000.1" };
  const ticks = "is not a multiple of BTCUSD's tick 0.25: the nearest";
  expect(await rejected(above)).toEqual(badField("price", "25000.1", `${ticks} are 25000 and 25000.25`));
  const tooFine = `25000.${"0".repeat(18)}1`;
  expect(await rejected({ ...above, price: tooFine })).toEqual(
    badField("price", tooFine, `${ticks} are 25000 and 25000.25`),
  );
  expect(await rejected({ ...above, price: ".1" })).toEqual(badField("price", ".1", `${ticks} is 0.25`));
  const stop = { ...LIMIT_BUY, type: "STOP_LIMIT", stop_price: "24000.1" };
  expect(await rejected(stop)).toEqual(badField("stop_price", "24000.1", `${ticks} are 24000 and 24000.25`));
});

test("a price beyond the book's range is rejected", async () => {
  const json = { ...LIMIT_BUY, base_amount: "0.0001", price: "9007199255" };
  expect(await rejected(json)).toEqual(
    badField("price", "9007199255", "is above 9007199254.5, the highest price on BTCUSD"),
  );
});

test("an amount outside the market's bounds is rejected, whatever its precision", async () => {
  for (const base_amount of ["0.000000009", "0.000000000000000001"]) {
    expect(await rejected({ ...LIMIT_BUY, base_amount })).toEqual(
      badField("base_amount", base_amount, "is below the minimum of BTCUSD: 0.00000001 BTC"),
    );
  }
  expect(await rejected({ ...LIMIT_BUY, base_amount: "500.00000001" })).toEqual(
    badField("base_amount", "500.00000001", "is above the maximum of BTCUSD: 500 BTC"),
  );
  expect(await rejected({ ...MARKET_BUY, quote_amount: "0.009" })).toEqual(
    badField("quote_amount", "0.009", "is below the minimum of BTCUSD: 0.01 USD"),
  );
  expect(await rejected({ ...MARKET_BUY, quote_amount: "5000000.01" })).toEqual(
    badField("quote_amount", "5000000.01", "is above the maximum of BTCUSD: 5000000 USD"),
  );
});

test("an amount with more decimals than the market has is rejected, even if the asset has more", async () => {
  const cases: [object, string, string, number][] = [
    [{ ...LIMIT_BUY, base_amount: "0.500000001" }, 'base_amount "0.500000001"', "BTC", 8],
    [{ ...LIMIT_BUY, market: "ETHUSD", base_amount: "0.500000001" }, 'base_amount "0.500000001"', "ETH", 8],
    [{ ...LIMIT_BUY, base_amount: `0.5${"0".repeat(18)}1` }, `base_amount "0.5${"0".repeat(18)}1"`, "BTC", 8],
    [{ ...MARKET_BUY, quote_amount: "10.001" }, 'quote_amount "10.001"', "USD", 2],
  ];
  for (const [json, what, asset, precision] of cases) {
    const market = (json as { market: string }).market;
    expect(await rejected(json)).toEqual(
      problem(
        400,
        "Exceeds Maximum Precision Allowed",
        `${what} has more decimals than ${market} allows for ${asset}: ${precision}`,
        { slug: "exceed-precision", meta: { asset, precision } },
      ),
    );
  }
});

test("an order above its market's maximum value is rejected", async () => {
  const json = { ...LIMIT_BUY, base_amount: "200.00000001" };
  expect(await rejected(json)).toEqual(
    problem(
      403,
      "Notional Value Too Large",
      "the order is worth 5000000.00025 USD, but an order on BTCUSD may be worth 5000000 at most",
      {
        slug: "notional-value-too-large",
        meta: {
          market: "BTCUSD",
          order_type: "LIMIT",
          order_notional_value: "5000000.00025",
          max_notional_value: "5000000",
        },
      },
    ),
  );
});

test("an unknown market is rejected with a list of the markets", async () => {
  const answer = await rejected({ ...LIMIT_BUY, market: "btcusd" });
  const codes = api.exchange.marketCodes().join(", ");
  expect(codes).toContain("BTCUSD");
  expect(answer).toEqual(badField("market", "btcusd", `is not one of ${codes}`));
});

describe("another customer's profile and an inactive one are not found", () => {
  const NOBODY = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
  const notFound = (id: string) => problem(404, "Not Found", `profile not found: ${id}`);

  test("as the placing profile", async () => {
    const others = await api.profile(api.globex, { USD: "1000000" });
    for (const id of [NOBODY, others.id]) {
      expect(await ask(api, "POST", `/v2/profiles/${id}/orders`, { json: LIMIT_BUY })).toEqual(notFound(id));
    }
  });

  test("as the recipient", async () => {
    const others = await api.profile(api.globex, {});
    const closed = await api.profile(api.acme, {});
    expect((await api.transfers.deactivate(api.acme.customerId, closed.id, TESTER)).kind).toBe("done");
    for (const id of [NOBODY, others.id, closed.id]) {
      expect(await rejected({ ...LIMIT_BUY, recipient_profile_id: id })).toEqual(notFound(id));
    }
    expect(await ask(api, "POST", `/v2/profiles/${closed.id}/orders`, { json: LIMIT_BUY })).toEqual(
      notFound(closed.id),
    );
  });

  test("with a malformed id, which is a 400", async () => {
    expect(await ask(api, "POST", "/v2/profiles/me/orders", { json: LIMIT_BUY })).toEqual(
      badField(
        "profile_id",
        "me",
        'is not a UUID: 36 characters, like 0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00, and not "default"',
      ),
    );
  });
});

test("rejections come in this order: shape, profile, market, tick, bounds, precision, notional, funds", async () => {
  const nobody = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
  const poor = await api.profile(api.acme, {});
  const all = {
    ...LIMIT_BUY,
    market: "NOSUCH",
    base_amount: "600.000000001",
    price: "25000.1",
    recipient_profile_id: nobody,
    time_in_force: "GTT",
  };
  const corrections: [object, RegExp][] = [
    [{}, /^expiration_date is required/],
    [{ time_in_force: "GTC" }, /^profile not found/],
    [{ recipient_profile_id: poor.id }, /^market "NOSUCH"/],
    [{ market: "BTCUSD" }, /^price "25000.1"/],
    [{ price: "25000" }, /^base_amount "600.000000001" is above/],
    [{ base_amount: "400.000000001" }, /^base_amount "400.000000001" has more decimals/],
    [{ base_amount: "400" }, /^the order is worth 10000000/],
    [{ base_amount: "100" }, /^profile .* has 0 USD available, but 2508750 is needed/],
  ];
  let json = all;
  for (const [correction, detail] of corrections) {
    json = { ...json, ...correction };
    const { body } = await ask(api, "POST", `/v2/profiles/${poor.id}/orders`, { json });
    expect((body as { detail: string }).detail).toMatch(detail);
  }
});

test("placing requires its scope", async () => {
  expect(await ask(api, "POST", path, { token: "acme/none", json: LIMIT_BUY })).toEqual(
    problem(403, "Forbidden", "insufficient scopes: found '', required one of '[exchange:write_order]'", {
      meta: { required: ["exchange:write_order"], granted: [] },
    }),
  );
});
