import { expect, test } from "vitest";
import { BTCUSD_ROW } from "../../../test/support/exchange/btcusd.ts";
import { marketOf } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Profile, profileTable } from "../../customers/profiles/profiles.ts";
import { type Account, accountTable, emptyAccount, entry, type ProfileId } from "../../ledger/accounts.ts";
import type { State } from "../../ledger/decision.ts";
import { change, type StateRow, type StateTable } from "../../ledger/tables.ts";
import { type Amount, amountOf, formatAmount } from "../../money/amount.ts";
import { USD } from "../../money/asset.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource, type Uuid } from "../../std/id.ts";
import { done, reject } from "../../std/result.ts";
import { type MarketState, marketTable } from "../market-state.ts";
import { type OrderId, orderTable } from "../order.ts";
import { averagePrice } from "./orders.ts";
import { decideOrder, type OrderRequest, type Venue } from "./rules.ts";

const NOW = 1_795_000_000_000 as Instant;
const id = new IdSource({ now: () => NOW }).next() as unknown as OrderId;
const customerId = "0190d5a4-0000-7000-8000-000000000001" as Uuid as CustomerId;
const profileId = "0190d5a4-0000-7000-8000-000000000002" as Uuid as ProfileId;

const row = { ...BTCUSD_ROW, max_notional_value: "100000" };
const market = marketOf(row, []);
const venue: Venue = {
  market,
  quote: { code: USD, kind: "fiat", precision: 2 },
  rates: { takerRate: amountOf("0.0035"), makerRebate: amountOf("0.0003") },
  lastPrice: undefined,
};

const decide = (...[request, order, found, state, now]: [OrderRequest, OrderId, Venue | undefined, State, Instant]) =>
  decideOrder(request, order, found === undefined ? UNKNOWN : done(found), state, now);

const UNKNOWN = reject({ code: "unknown_market", field: "market", market: "BTCUSD", markets: [] });

const profile: Profile = {
  id: profileId,
  customerId,
  kind: "NORMAL",
  nickname: "desk",
  description: undefined,
  status: "ACTIVE",
  incomingCount: 0,
  lastDeactivation: 0n,
  createdAt: NOW,
  updatedAt: NOW,
  version: 1n,
};

/** A state in which the profile has this much USD and BTC available. */
function stateWith({ usd = "0", btc = "0", status = "OPEN" as MarketState["status"] }): State {
  const account = (asset: "USD" | "BTC", text: string): Account => ({
    ...emptyAccount(profileId, asset as Account["asset"], 1),
    available: amountOf(text),
  });
  const rows = new Map<string, StateRow>([
    [`${profileTable.name}/${profileId}`, profile],
    [`${marketTable.name}/BTCUSD`, { code: market.code, status, version: 1n } as MarketState],
    [`${accountTable.name}/${profileId}/USD`, account("USD", usd)],
    [`${accountTable.name}/${profileId}/BTC`, account("BTC", btc)],
  ]);
  return {
    get: <Row extends StateRow>({ name }: StateTable<Row>, key: string) =>
      rows.get(`${name}/${key}`) as Row | undefined,
  };
}

const price = (text: string) => ({ amount: amountOf(text), isExact: true });
const common = { customerId, profileId, market: "BTCUSD" } as const;
const STOP_SELL: OrderRequest = {
  ...common,
  side: "SELL",
  type: "STOP_MARKET",
  timeInForce: "GTC",
  baseAmount: amountOf("4"),
  stopPrice: price("20000"),
};
const GTT_BUY: OrderRequest = {
  ...common,
  side: "BUY",
  type: "LIMIT",
  timeInForce: "GTT",
  baseAmount: amountOf("1"),
  price: price("20000"),
};

test.each([
  ["in the past", -1, "REJECTED"],
  ["exactly 10.000 s ahead", 10_000, "REJECTED"],
  ["10.001 s ahead", 10_001, "PENDING_SUBMISSION"],
])(
  "a GTT order whose expiry is %s is rejected before its funds are checked if that is too soon",
  (_name, ahead, status) => {
    const request = { ...GTT_BUY, expirationDate: (NOW + ahead) as Instant };
    const rich = decide(request, id, venue, stateWith({ usd: "20070" }), NOW);
    expect(rich).toMatchObject({ kind: "done", value: { status } });
    const poor = decide(request, id, venue, stateWith({}), NOW);
    const isRejected = status === "REJECTED";
    expect(poor).toMatchObject(
      isRejected
        ? { kind: "done", value: { status, rejectReason: "gtt_too_soon", held: 0n, closedAt: NOW } }
        : { kind: "rejected", rejection: { code: "insufficient_funds" } },
    );
    if (poor.kind === "done") expect(poor.changes.journals).toBeUndefined();
  },
);

test("an order with a price is valued at it, whatever the last price is", () => {
  const state = stateWith({ usd: "200000", btc: "4" });
  for (const text of ["1", "50000"]) {
    const last = { ...venue, lastPrice: amountOf(text) };
    const at = (side: "BUY" | "SELL", limit: string) =>
      decide({ ...STOP_SELL, side, type: "STOP_LIMIT", price: price(limit) }, id, last, state, NOW);
    for (const side of ["BUY", "SELL"] as const) {
      expect(at(side, "25000")).toMatchObject({ kind: "done" });
      expect(at(side, "25001")).toMatchObject({
        rejection: { code: "notional_value_too_large", notionalValue: amountOf("100004") },
      });
    }
  }
});

test("a sell without a limit is valued at the last price, and unchecked without one", () => {
  const state = stateWith({ btc: "4" });
  const at = (text: string) => decide(STOP_SELL, id, { ...venue, lastPrice: amountOf(text) }, state, NOW);
  expect(decide(STOP_SELL, id, venue, state, NOW)).toMatchObject({ kind: "done" });
  expect(at("25000")).toMatchObject({ kind: "done" });
  expect(at("25000.000001")).toEqual({
    kind: "rejected",
    rejection: {
      code: "notional_value_too_large",
      market: "BTCUSD",
      orderType: "STOP_MARKET",
      notionalValue: amountOf("100000.000004"),
      maximum: amountOf("100000"),
      asset: "USD",
    },
  });
});

test.each([
  ["a stop sell holds its base", STOP_SELL, "4"],
  [
    "a stop buy holds its sum plus commission",
    { ...STOP_SELL, side: "BUY", baseAmount: undefined, quoteAmount: amountOf("1000") } as OrderRequest,
    "1003.5",
  ],
  [
    "a stop limit buy holds its value at its limit",
    { ...GTT_BUY, type: "STOP_LIMIT", timeInForce: "GTC", stopPrice: price("19000") } as OrderRequest,
    "20070",
  ],
])("%s", (_name, request, held) => {
  const decision = decide(request, id, venue, stateWith({ usd: "20070", btc: "4" }), NOW);
  expect(decision.kind === "done" && formatAmount(decision.value.held)).toBe(held);
});

test.each<[string, OrderRequest, "usd" | "btc"]>([
  ["a limit buy", { ...GTT_BUY, type: "LIMIT", timeInForce: "GTC", expirationDate: undefined }, "usd"],
  ["a post-only buy", { ...GTT_BUY, type: "POST_ONLY_LIMIT", timeInForce: "GTC", expirationDate: undefined }, "usd"],
  ["a stop limit buy", { ...GTT_BUY, type: "STOP_LIMIT", stopPrice: price("1"), expirationDate: undefined }, "usd"],
  ["a stop sell", STOP_SELL, "btc"],
])("%s is placed for exactly its hold, and rejected for 10^-18 less", (_name, request, asset) => {
  const held = asset === "usd" ? "20070" : "4";
  const enough = decide(request, id, venue, stateWith({ [asset]: held }), NOW);
  expect(enough).toMatchObject({ kind: "done", value: { status: "PENDING_SUBMISSION", held: amountOf(held) } });
  const available = (amountOf(held) - 1n) as Amount;
  expect(decide(request, id, venue, stateWith({ [asset]: formatAmount(available) }), NOW)).toEqual({
    kind: "rejected",
    rejection: {
      code: "insufficient_funds",
      profileId,
      asset: asset.toUpperCase(),
      available,
      needed: amountOf(held),
    },
  });
});

const GTC_BUY: OrderRequest = { ...GTT_BUY, timeInForce: "GTC" };
const MARKET_BUY: OrderRequest = {
  ...common,
  side: "BUY",
  type: "MARKET",
  timeInForce: "IOC",
  quoteAmount: amountOf("1000"),
};
const recipient: Profile = {
  ...profile,
  id: "0190d5a4-0000-7000-8000-000000000004" as Uuid as ProfileId,
  incomingCount: 2,
};

/** `rich` and a recipient. */
function rich(...others: readonly Profile[]): State {
  const own = stateWith({ usd: "100000", btc: "100" });
  const known = new Map(others.map((other) => [other.id as string, other]));
  return {
    get: (table, key) =>
      (table.name === profileTable.name && known.has(key) ? known.get(key) : own.get(table, key)) as never,
  };
}

test("placing an order moves its hold from available to trading, and increments its recipient's incoming count", () => {
  const request: OrderRequest = {
    ...GTC_BUY,
    recipientProfileId: recipient.id,
    refId: "once",
    annotations: { identityId: "i-1", identityAccountId: "a-1", metadata: { of: "acme" } },
  };
  const order = {
    id,
    profileId,
    customerId,
    ...{ market: "BTCUSD", side: "BUY", type: "LIMIT", timeInForce: "GTC" },
    ...{ baseAmount: amountOf("1"), quoteAmount: undefined, price: amountOf("20000"), stopPrice: undefined },
    ...{ expirationDate: undefined, takerRate: amountOf("0.0035"), makerRebate: amountOf("0.0003") },
    ...{ recipientProfileId: recipient.id, refId: "once" },
    ...{ annotations: request.annotations, createdAt: NOW, updatedAt: NOW, closedAt: undefined },
    ...{ status: "PENDING_SUBMISSION", sequence: undefined, priority: undefined, rejectReason: undefined },
    cancelReason: undefined,
    ...{ filled: 0n, filledGross: 0n, held: amountOf("20070"), isTriggered: false, version: 0n },
  };
  expect(decide(request, id, venue, rich(recipient), NOW)).toEqual({
    kind: "done",
    value: order,
    changes: {
      states: [change(orderTable, order as never), change(profileTable, { ...recipient, incomingCount: 3 })],
      journals: [
        {
          id,
          cause: "order_held",
          entries: [entry(profileId, USD, amountOf("-20070")), entry(profileId, USD, amountOf("20070"), "trading")],
        },
      ],
    },
  });
});

test.each([
  ["without a recipient", undefined],
  ["with itself as the recipient", profileId],
])("an order %s increments no incoming count", (_name, recipientProfileId) => {
  const decision = decide({ ...GTC_BUY, recipientProfileId }, id, venue, rich(), NOW);
  expect(decision.kind === "done" && decision.changes.states).toHaveLength(1);
});

test.each([
  ["identity", { annotations: { identityId: "i-1" } }],
  ["account", { annotations: { identityAccountId: "a-1" } }],
])("an %s without the other half is stored as REJECTED, closed, and holds nothing", (_name, half) => {
  const decision = decide({ ...GTC_BUY, ...half }, id, venue, stateWith({}), NOW);
  if (decision.kind === "rejected") throw new Error(decision.rejection.code);
  const { value, changes } = decision;
  expect(value).toMatchObject({ status: "REJECTED", rejectReason: "identity_pair", held: 0n, closedAt: NOW });
  expect(changes).toEqual({ states: [change(orderTable, value)] });
});

const other = { ...recipient, customerId: "0190d5a4-0000-7000-8000-000000000009" as Uuid as CustomerId };
const wrong = (code: string, more: object = {}) => ({ kind: "rejected", rejection: { code, ...more } });

/** In the order of checks: each request also breaks all later rules. */
test.each<[string, Partial<OrderRequest>, Venue | undefined, object]>([
  [
    "another's profile",
    { profileId: other.id, recipientProfileId: other.id },
    undefined,
    wrong("profile_not_found", { profileId: other.id }),
  ],
  [
    "another's profile that would pay into one's own",
    { profileId: other.id, recipientProfileId: profileId },
    undefined,
    wrong("profile_not_found", { profileId: other.id }),
  ],
  [
    "another's recipient",
    { recipientProfileId: other.id },
    undefined,
    wrong("profile_not_found", { profileId: other.id }),
  ],
  ["an unknown market", { price: price("0.5") }, undefined, wrong("unknown_market", { market: "BTCUSD" })],
  [
    "a price below the first tick",
    { price: price("0.5"), stopPrice: price("0.5") },
    venue,
    wrong("off_tick", { field: "price", below: undefined, above: amountOf("1") }),
  ],
  [
    "a price that is not exact",
    { price: { amount: amountOf("2"), isExact: false } },
    venue,
    wrong("off_tick", { below: amountOf("2"), above: amountOf("3") }),
  ],
  [
    "a price beyond what a book can represent",
    { price: price("9007199255") },
    venue,
    wrong("price_too_large", { field: "price", maximum: amountOf("9007199254") }),
  ],
  [
    "a base amount that no asset can hold",
    { baseAmount: "too_precise" },
    venue,
    wrong("exceed_precision", { asset: "BTC", precision: 8 }),
  ],
  [
    "too small a base",
    { baseAmount: amountOf("0.00009999999") },
    venue,
    wrong("amount_too_small", { field: "baseAmount", asset: "BTC", bound: amountOf("0.0001") }),
  ],
  [
    "too large a base",
    { baseAmount: amountOf("500.000000001") },
    venue,
    wrong("amount_too_large", { field: "baseAmount", bound: amountOf("500") }),
  ],
  [
    "a base with too many decimals",
    { baseAmount: amountOf("1.000000001") },
    venue,
    wrong("exceed_precision", { asset: "BTC", precision: 8 }),
  ],
  [
    "a notional value above the maximum",
    { baseAmount: amountOf("5.00000001"), annotations: { identityId: "alone" } },
    venue,
    wrong("notional_value_too_large", { maximum: amountOf("100000") }),
  ],
])("%s is rejected before later rules", (_name, request, where, expected) => {
  expect(decide({ ...GTC_BUY, ...request }, id, where, rich(other), NOW)).toMatchObject(expected);
});

test.each<[string, Partial<OrderRequest>, object]>([
  [
    "one cent too little",
    { quoteAmount: amountOf("0.99") },
    wrong("amount_too_small", { field: "quoteAmount", asset: "USD", bound: amountOf("1") }),
  ],
  [
    "too much",
    { quoteAmount: amountOf("5000000.01") },
    wrong("amount_too_large", { field: "quoteAmount", bound: amountOf("5000000") }),
  ],
  ["a tenth of a cent", { quoteAmount: amountOf("1.001") }, wrong("exceed_precision", { asset: "USD", precision: 2 })],
  ["the least", { quoteAmount: amountOf("1") }, { kind: "done", value: { held: amountOf("1.0035") } }],
  ["the maximum", { quoteAmount: amountOf("99000") }, { kind: "done", value: { held: amountOf("99346.5") } }],
])("a market buy for %s", (_name, request, expected) => {
  expect(decide({ ...MARKET_BUY, ...request }, id, venue, rich(), NOW)).toMatchObject(expected);
});

test("the minimum and maximum base amount, and the highest price, are accepted", () => {
  const wide: Venue = { ...venue, market: marketOf({ ...row, max_notional_value: "100000000000000" }, []) };
  const at = (request: Partial<OrderRequest>) =>
    decide({ ...STOP_SELL, ...request }, id, wide, stateWith({ btc: "500" }), NOW);
  for (const baseAmount of [amountOf("0.0001"), amountOf("500")])
    expect(at({ baseAmount })).toMatchObject({ kind: "done" });
  expect(at({ stopPrice: price("9007199254") })).toMatchObject({ kind: "done" });
});

test("a stop price is checked against the tick like a price", () => {
  const request = { ...STOP_SELL, stopPrice: price("19999.5") };
  expect(decide(request, id, venue, stateWith({ btc: "4" }), NOW)).toEqual({
    kind: "rejected",
    rejection: {
      code: "off_tick",
      field: "stopPrice",
      market: "BTCUSD",
      tick: amountOf("1"),
      below: amountOf("19999"),
      above: amountOf("20000"),
    },
  });
});

test("a halted market is reported before notional value and identity pair", () => {
  const request = { ...GTT_BUY, baseAmount: amountOf("100"), annotations: { identityId: "alone" } };
  const decision = decide(request, id, venue, stateWith({ status: "HALTED" }), NOW);
  expect(decision).toEqual({ kind: "rejected", rejection: { code: "market_unavailable", market: "BTCUSD" } });
});

test.each([
  ["before the first fill it is zero", "0", "0", 6, "0"],
  ["the half is rounded up", "4", "0.00000002", 6, "0.00000001"],
  ["less than the half is rounded down", "4", "0.000000019999", 6, "0"],
  ["a market whose prices have more decimals has them in the average", "2", "0.0000000001", 10, "0.0000000001"],
  ["two thirds at ten decimals", "3", "2", 10, "0.6666666667"],
])("of an average price: %s", (_name, filled, filledGross, decimals, expected) => {
  const order = { filled: amountOf(filled), filledGross: amountOf(filledGross) } as Parameters<typeof averagePrice>[0];
  expect(averagePrice(order, decimals)).toBe(amountOf(expected) as Amount);
});
