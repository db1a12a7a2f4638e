import { afterAll, beforeAll, expect, test } from "vitest";
import type { MarketCode } from "../../../src/catalogue/market.ts";
import { type ExchangeApi, startExchangeApi } from "../../support/exchange/exchange-api.ts";
import { TESTER } from "../../support/movements.ts";

interface Markets {
  readonly markets: readonly { readonly market: string; readonly status: string; readonly market_status: object }[];
}

let api: ExchangeApi;
beforeAll(async () => {
  api = await startExchangeApi();
});
afterAll(() => api.stop());

async function listed(): Promise<Markets> {
  const response = await fetch(`${api.url}/v2/markets`);
  expect(response.status).toBe(200);
  return (await response.json()) as Markets;
}

test("the markets and their limits are public", async () => {
  const body = await listed();
  expect(Object.keys(body)).toEqual(["markets"]);
  const { markets } = body;
  const codes = markets.map(({ market }) => market);
  expect(codes).toEqual(codes.toSorted());
  expect(codes).toHaveLength(34);
  expect(markets.find(({ market }) => market === "PEPEUSD")).toEqual({
    market: "PEPEUSD",
    base_asset: "PEPE",
    quote_asset: "USD",
    status: "OPEN",
    market_status: { buy_status: "AVAILABLE", sell_status: "AVAILABLE", scheduled_maintenance: [] },
    tick_rate: "0.0000000001",
    tick: "0.0000000001",
    price_decimals: 10,
    base_decimals: 4,
    min_base_amount: "0.0001",
    max_base_amount: "100000000000",
    min_quote_amount: "0.01",
    max_quote_amount: "5000000",
    max_notional_value: "5000000",
    taker_rate: "0.0035",
    maker_rebate: "0.0003",
  });
});

test("a halt and its end are visible at once", async () => {
  const found = async () => {
    const market = (await listed()).markets.find((one) => one.market === "BTCUSD");
    return [market?.status, market?.market_status];
  };
  const updated_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  await api.exchange.haltMarket("BTCUSD" as MarketCode, TESTER);
  // A batch of another lane has the same number.
  await api.db.owner.rows(
    `insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor, in_time)
     select 64, batch, sha256(''), now() - interval '1 day', true, 0, 0, 0, 0, 1, true from market where code = 'BTCUSD'`,
  );
  expect((await listed()).markets).toHaveLength(34);
  const halted = { buy_status: "UNAVAILABLE", sell_status: "UNAVAILABLE" };
  const reasons = { buy_reason: "TRADING_SUSPENDED", sell_reason: "TRADING_SUSPENDED" };
  expect(await found()).toEqual(["HALTED", { ...halted, ...reasons, updated_at, scheduled_maintenance: [] }]);
  await api.exchange.resumeMarket("BTCUSD" as MarketCode, TESTER);
  const open = { buy_status: "AVAILABLE", sell_status: "AVAILABLE" };
  expect(await found()).toEqual(["OPEN", { ...open, updated_at, scheduled_maintenance: [] }]);
});

test("ticks and minimums are the vendor's", async () => {
  const { markets } = (await listed()) as unknown as { markets: Record<string, string>[] };
  const of = (code: string) => {
    const { tick_rate, min_base_amount, min_quote_amount } = markets.find(({ market }) => market === code) ?? {};
    return [tick_rate, min_base_amount, min_quote_amount];
  };
  expect(of("BTCUSD")).toEqual(["0.25", "0.00000001", "0.01"]);
  for (const code of ["ETHUSD", "BCHUSD"]) expect(of(code)).toEqual(["0.05", "0.00000001", "0.01"]);
  for (const code of ["BTCEUR", "LTCUSD", "UNIUSD"]) expect(of(code)).toEqual(["0.01", "0.00000001", "0.01"]);
  expect(of("MATICUSD")).toEqual(["0.0001", "0.00000001", "0.01"]);
});

test("the last price of a market is its head's, and undefined before the first execution", async () => {
  const market = "BTCUSD" as MarketCode;
  expect(await api.exchange.lastPrice(market)).toBeUndefined();
  await api.db.owner.rows(
    `insert into market_head (market, fence, last_price, last_execution_id, last_sequence, version, slot, batch)
     values ($1, 1, 25000.5, 7, 0, 1, 1, 1)`,
    [market],
  );
  expect(await api.exchange.lastPrice(market)).toBe(25_000_500_000_000_000_000_000n);
});
