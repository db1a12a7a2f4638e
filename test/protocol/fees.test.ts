/** A customer's fees as listed, and as applied to its orders: through the whole service, engines included. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { agreeFees, endAgreement, setFeeTiers } from "../../src/catalogue/fee-schedule/fee-schedule.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import type { OrderId } from "../../src/exchange/exchange.ts";
import { amountOf, formatAmount } from "../../src/money/amount.ts";
import { must } from "../../src/std/assert.ts";
import { PASSED } from "../../src/std/result.ts";
import { expectBooksBalance } from "../support/books.ts";
import { expectOrdersAddUp } from "../support/exchange/orders.ts";
import { TESTER } from "../support/movements.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const DEFAULT_TIERS = [
  { minimum_gross: "0", taker_rate: "0.0035", maker_rebate: "0.0003" },
  { minimum_gross: "100000", taker_rate: "0.0025", maker_rebate: "0.0003" },
  { minimum_gross: "1000000", taker_rate: "0.0018", maker_rebate: "0.0004" },
  { minimum_gross: "10000000", taker_rate: "0.0012", maker_rebate: "0.0005" },
  { minimum_gross: "100000000", taker_rate: "0.0008", maker_rebate: "0.0006" },
];

/** The beginning of the first of the 30 days. */
function firstDay(): string {
  const now = Date.now();
  return new Date(now - (now % 86_400_000) - 29 * 86_400_000).toISOString();
}

const feesOn = async (market: string, { token }: TestCustomer) =>
  (await service.call("GET", `/v2/fees?market=${market}`, { as: token })).body.items[0];

async function place(customer: TestCustomer, profile: string, order: object): Promise<string> {
  const body = { market: "BTCUSD", type: "LIMIT", await_fill_millis: 0, ...order };
  const placed = await service.call("POST", `/v2/profiles/${profile}/orders`, { as: customer.token, body });
  expect(placed.status).toBe(200);
  return placed.body.id;
}

/** The rates that an order has for its life. */
async function ratesOf({ id: customerId }: TestCustomer, order: string): Promise<string> {
  const found = must(await service.service.exchange.findOrderOfCustomer(customerId, order as OrderId), "it is there");
  return `${formatAmount(found.takerRate)} ${formatAmount(found.makerRebate)}`;
}

test("a customer without trades has the lowest tier on every market", async () => {
  const customer = await service.customer();
  const { status, body } = await service.call("GET", "/v2/fees", { as: customer.token });
  expect(status).toBe(200);
  const markets = service.service.core.catalogue.listMarkets();
  expect(body).toEqual({
    items: markets.map(({ code, quote }) => ({
      market: code,
      quote_asset: quote,
      taker_rate: "0.0035",
      maker_rebate: "0.0003",
      source: "TIER",
      thirty_day_gross: "0",
      counted_since: firstDay(),
      tiers: DEFAULT_TIERS,
    })),
    next_page_cursor: "",
  });
});

test("volume counts at once, for maker and taker, on all markets with the quote asset, and orders keep their rates", async () => {
  const [maker, taker] = [await service.customer("Maker"), await service.customer("Taker")];
  const sellers = await service.profile(maker, { BTC: "10", USD: "1000" });
  const buyers = await service.profile(taker, { USD: "1000000" });
  const early = await place(taker, buyers, { side: "BUY", base_amount: "0.1", price: "45000" });
  await place(maker, sellers, { side: "SELL", base_amount: "2", price: "50000" });
  await place(taker, buyers, { side: "BUY", base_amount: "2", price: "50000", await_fill_millis: 10_000 });
  for (const customer of [maker, taker]) {
    expect(await feesOn("BTCUSD", customer)).toEqual({
      market: "BTCUSD",
      quote_asset: "USD",
      taker_rate: "0.0025",
      maker_rebate: "0.0003",
      source: "TIER",
      thirty_day_gross: "100000",
      counted_since: firstDay(),
      tiers: DEFAULT_TIERS,
    });
    expect(await feesOn("ETHUSD", customer)).toMatchObject({ taker_rate: "0.0025", thirty_day_gross: "100000" });
    expect(await feesOn("BTCEUR", customer)).toMatchObject({ taker_rate: "0.0035", thirty_day_gross: "0" });
  }
  const late = await place(taker, buyers, { side: "BUY", base_amount: "0.1", price: "45000" });
  expect([await ratesOf(taker, early), await ratesOf(taker, late)]).toEqual(["0.0035 0.0003", "0.0025 0.0003"]);
  // What each order holds, it holds with its own rate: 4500 x 1.0035 and 4500 x 1.0025.
  const { body } = await service.call("GET", `/v2/profiles/${buyers}/balances/USD`, { as: taker.token });
  expect(body.trading).toBe("9027");
  // As the maker's, the early order is paid its own rebate.
  await place(maker, sellers, { side: "SELL", base_amount: "0.2", price: "45000", await_fill_millis: 10_000 });
  const list = await service.call("GET", `/v2/executions?order_id=${early}`, { as: taker.token });
  expect(list.body.items).toMatchObject([{ rebate: "1.35", commission: "0" }]);
  await expectOrdersAddUp(service.db.database);
  await expectBooksBalance(service.db.database);
});

test("an agreement with a customer replaces the tiers until it ends", async () => {
  const { database } = service.service.core;
  const market = "LTCUSD" as MarketCode;
  const customer = await service.customer();
  const agreement = { customerId: customer.id, takerRate: amountOf("0.001"), makerRebate: amountOf("0.0005") };
  expect(await agreeFees(database, market, agreement, TESTER)).toEqual(PASSED);
  expect(await feesOn("LTCUSD", customer)).toEqual({
    market: "LTCUSD",
    quote_asset: "USD",
    taker_rate: "0.001",
    maker_rebate: "0.0005",
    source: "AGREEMENT",
    thirty_day_gross: "0",
    counted_since: firstDay(),
    tiers: DEFAULT_TIERS,
  });
  const profile = await service.profile(customer, { USD: "1000" });
  const bid = { market: "LTCUSD", side: "BUY", base_amount: "1", price: "50" };
  expect(await ratesOf(customer, await place(customer, profile, bid))).toBe("0.001 0.0005");
  expect(await feesOn("LTCUSD", await service.customer())).toMatchObject({ source: "TIER", taker_rate: "0.0035" });
  expect(await endAgreement(database, market, customer.id, TESTER)).toBe(true);
  expect(await feesOn("LTCUSD", customer)).toMatchObject({ source: "TIER", taker_rate: "0.0035" });
  expect(await ratesOf(customer, await place(customer, profile, bid))).toBe("0.0035 0.0003");
  await expectBooksBalance(service.db.database);
});

test("tiers set by the operator apply in every process within seconds, and the lowest is shown on the market", async () => {
  const market = "BCHUSD" as MarketCode;
  const tiers = [
    { minimumGross: amountOf("0"), takerRate: amountOf("0.01"), makerRebate: amountOf("0") },
    { minimumGross: amountOf("0.5"), takerRate: amountOf("0"), makerRebate: amountOf("0") },
  ];
  expect(await setFeeTiers(service.service.core.database, market, tiers, TESTER)).toEqual(PASSED);
  const customer = await service.customer();
  await until("the new tiers are known", async () => (await feesOn("BCHUSD", customer)).taker_rate === "0.01");
  expect((await feesOn("BCHUSD", customer)).tiers).toEqual([
    { minimum_gross: "0", taker_rate: "0.01", maker_rebate: "0" },
    { minimum_gross: "0.5", taker_rate: "0", maker_rebate: "0" },
  ]);
  // Markets are as old as the catalogue.
  await until("the market shows them", async () => {
    const { body } = await service.call("GET", "/v2/markets");
    const listed = body.markets.find((one: { market: string }) => one.market === "BCHUSD");
    return listed.taker_rate === "0.01" && listed.maker_rebate === "0";
  });
});

test.each([
  ["an unknown market", "?market=NOPEUSD", 'market "NOPEUSD" is not one of '],
  ["an empty market", "?market=", "market is empty"],
  ["a market twice", "?market=BTCUSD&market=ETHUSD", "market is given more than once"],
])("%s is rejected", async (_name, query, detail) => {
  const customer = await service.customer();
  const { status, body } = await service.call("GET", `/v2/fees${query}`, { as: customer.token });
  expect(status).toBe(400);
  expect(body.detail).toContain(detail);
});

test("reading fees requires the scope for reading orders", async () => {
  const customer = await service.customer();
  const token = await service.token(customer, "funding:read_profile");
  expect((await service.call("GET", "/v2/fees", { as: token })).status).toBe(403);
  expect((await service.call("GET", "/v2/fees")).status).toBe(401);
});
