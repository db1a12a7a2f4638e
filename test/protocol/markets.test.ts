import { afterAll, beforeAll, expect, test } from "vitest";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { type ExchangeApi, startExchangeApi } from "../support/exchange-api.ts";
import { TESTER } from "../support/movements.ts";

interface Markets {
  readonly items: readonly { readonly market: string; readonly status: string }[];
  readonly next_page_cursor: string;
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
  const { items, next_page_cursor } = await listed();
  const codes = items.map(({ market }) => market);
  expect(codes).toEqual(codes.toSorted());
  expect(codes).toHaveLength(28);
  expect(next_page_cursor).toBe("");
  expect(items.find(({ market }) => market === "PEPEUSD")).toEqual({
    market: "PEPEUSD",
    base_asset: "PEPE",
    quote_asset: "USD",
    status: "OPEN",
    tick: "0.0000000001",
    price_decimals: 10,
    base_decimals: 4,
    min_base_amount: "10000",
    max_base_amount: "100000000000",
    min_quote_amount: "1",
    max_quote_amount: "5000000",
    max_notional_value: "5000000",
    taker_rate: "0.0035",
    maker_rebate: "0.0003",
  });
});

test("a halt and its end are visible at once", async () => {
  const status = async () => (await listed()).items.find(({ market }) => market === "BTCUSD")?.status;
  await api.exchange.haltMarket("BTCUSD" as MarketCode, TESTER);
  expect(await status()).toBe("HALTED");
  await api.exchange.resumeMarket("BTCUSD" as MarketCode, TESTER);
  expect(await status()).toBe("OPEN");
});

test("the last price of a market is its head's, and undefined before the first execution", async () => {
  const market = "BTCUSD" as MarketCode;
  expect(await api.exchange.lastPrice(market)).toBeUndefined();
  await api.db.owner.rows(
    `insert into market_head (market, fence, last_price, last_execution_id, last_sequence, version, slot, batch)
     values ($1, 1, 25000.5, 0, 0, 1, 1, 1)`,
    [market],
  );
  expect(await api.exchange.lastPrice(market)).toBe(25_000_500_000_000_000_000_000n);
});
