import { expect, test } from "vitest";
import type { MarketCode } from "../../catalogue/market.ts";
import type { ConversionId } from "../../conversions/conversions.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { amountOf } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import { createDialect, OWN_WORDS } from "../../web/dialect/dialect.ts";
import { ApiDialect } from "../dialect/api-dialect.ts";
import { problemBody } from "./problems.ts";
import { type DomainRejection, problemOf, type Sent } from "./rejection-problems.ts";

const USD = "USD" as AssetCode;
const USDG = "USDG" as AssetCode;
const profileId = "0190d5a4-1111-7000-8000-000000000004" as ProfileId;

function received(rejection: DomainRejection, sent?: Sent): unknown {
  return problemBody(problemOf(rejection, sent), { baseUrl: "http://toy.test", requestId: "r-1" });
}

function body(status: number, title: string, detail: string, { slug = "", meta = {} } = {}): unknown {
  const type = slug === "" ? "about:blank" : `http://toy.test/problems/${slug}`;
  return { type, title, status, detail, meta, request_id: "r-1" };
}

test("insufficient funds name the profile, the asset, what is available and what is needed", () => {
  const rejection = { profileId, asset: USDG, available: amountOf("10"), needed: amountOf("25.50") };
  expect(received({ code: "insufficient_funds", ...rejection })).toEqual(
    body(403, "Insufficient Funds", `profile ${profileId} has 10 USDG available, but 25.5 is needed`, {
      slug: "insufficient-funds",
      meta: { profile_id: profileId, asset: "USDG", available: "10", needed: "25.5" },
    }),
  );
});

test.each([
  [{ amount: "1.001" }, 'amount "1.001"'],
  [{}, "the amount"],
])("too many decimals in %j name the amount as sent, the asset and what it allows", (sent, words) => {
  expect(received({ code: "exceed_precision", asset: USD, precision: 2 }, sent)).toEqual(
    body(400, "Exceeds Maximum Precision Allowed", `${words} has more decimals than USD allows: 2`, {
      slug: "exceed-precision",
      meta: { asset: "USD", precision: 2 },
    }),
  );
});

test("a balance that would get too large names the profile", () => {
  const rule = `would lift the USD balance of profile ${profileId} to 10^29 or above`;
  expect(received({ code: "balance_too_large", profileId, asset: USD }, { amount: "7" })).toEqual(
    body(400, "Bad Request", `amount "7" ${rule}`, { meta: { errors: [{ field: "amount", value: "7", rule }] } }),
  );
  expect(received({ code: "balance_too_large", profileId, asset: USD })).toEqual(
    body(400, "Bad Request", `amount ${rule}`, { meta: { errors: [{ field: "amount", rule }] } }),
  );
});

test.each([
  ["price", "price"],
  ["stopPrice", "stop_price"],
] as const)("a %s that is too large tells its field as it was sent", (field, name) => {
  const rule = "is above 9007199254, the highest price on BTCUSD";
  const market = "BTCUSD" as MarketCode;
  const rejection = { code: "price_too_large", field, market, maximum: amountOf("9007199254") } as const;
  expect(received(rejection, { price: "1", stop_price: "1", [name]: "9007199255" })).toEqual(
    body(400, "Bad Request", `${name} "9007199255" ${rule}`, {
      meta: { errors: [{ field: name, value: "9007199255", rule }] },
    }),
  );
});

test("an unknown asset names the field", () => {
  const rule = "is not the code of an asset of this service";
  expect(received({ code: "unknown_asset", field: "asset", asset: "usd" })).toEqual(
    body(400, "Bad Request", `asset "usd" ${rule}`, { meta: { errors: [{ field: "asset", value: "usd", rule }] } }),
  );
});

test.each([
  ["BTC", "USD", "source_asset", "BTC", "does not convert to USD"],
  ["USD", "USD", "target_asset", "USD", "is not what USD converts to"],
  ["USDG", "EUR", "target_asset", "EUR", "is not what USDG converts to"],
])("that %s and %s are no pair names the field, and all pairs that exist", (source, target, field, value, words) => {
  const stablecoins = [USDG, "USDP" as AssetCode];
  const rule = `${words}: the pairs are USD-USDG, USD-USDP, USDG-USD, USDG-USDP, USDP-USD, USDP-USDG`;
  expect(received({ code: "unknown_pair", sourceAsset: source, targetAsset: target, stablecoins })).toEqual(
    body(400, "Bad Request", `${field} "${value}" ${rule}`, { meta: { errors: [{ field, value, rule }] } }),
  );
});

test("an unknown conversion is named by its id, a closed one by its status", () => {
  const conversionId = "0190d5a4-2222-7000-8000-000000000004" as ConversionId;
  expect(received({ code: "conversion_not_found", conversionId })).toEqual(
    body(404, "Not Found", `conversion not found: ${conversionId}`),
  );
  expect(received({ code: "conversion_not_cancellable", status: "SETTLED" })).toEqual(
    body(403, "Forbidden", "conversion is not in cancellable state", {
      slug: "not-cancellable",
      meta: { status: "SETTLED" },
    }),
  );
});

test("a profile that cannot be deactivated gets the reason", () => {
  const rejection = { code: "profile_not_empty", profileId } as const;
  const notEmpty = (detail: string, meta = {}) => body(403, "Forbidden", detail, { slug: "profile-not-empty", meta });
  expect(received({ ...rejection, because: "holds_money", asset: USDG, amount: amountOf("10.50") })).toEqual(
    notEmpty("the profile holds 10.5 USDG", { asset: "USDG", amount: "10.5" }),
  );
  expect(received({ ...rejection, because: "is_recipient" })).toEqual(
    notEmpty("the profile is the recipient of an open order or a CREATED conversion"),
  );
  expect(received({ ...rejection, because: "is_default" })).toEqual(
    notEmpty("the DEFAULT profile cannot be deactivated"),
  );
});

test("a closed order, one that is worth too much and a type of no event are told in the words of a dialect", () => {
  const words = (...all: string[]) => new Map(all.map((word) => [word, `z_${word}`]));
  const dialect = createDialect({
    ...OWN_WORDS,
    ...{ assets: words("USD"), markets: words("BTCUSD"), enums: words("FILLED", "LIMIT", "order.filled") },
  });
  const metaOf = (rejection: DomainRejection) =>
    problemOf(new ApiDialect(dialect).rejection(rejection, undefined), {}, dialect).meta;
  expect(metaOf({ code: "order_not_cancellable", status: "FILLED" })).toEqual({ status: "z_FILLED" });
  const worth = { notionalValue: amountOf("3000000"), maximum: amountOf("2000000") };
  const order = { market: "BTCUSD" as MarketCode, asset: USD, orderType: "LIMIT" } as const;
  expect(metaOf({ code: "notional_value_too_large", ...order, ...worth })).toEqual({
    market: "z_BTCUSD",
    order_type: "z_LIMIT",
    order_notional_value: "3000000",
    max_notional_value: "2000000",
  });
  // Our own word, which is none in the dialect: a handler is given the one that it has changed places with.
  const unknown = {
    code: "invalid_webhook",
    field: "types",
    rule: "which no event is of",
    type: "z_order.filled",
  } as const;
  expect(metaOf(unknown)).toEqual({ errors: [{ field: "types", rule: 'has "order.filled", which no event is of' }] });
});
