/** BTCUSD as the catalogue has it, for tests that need a market and no database. */
import { marketOf } from "../../../src/catalogue/market.ts";

export const BTCUSD_ROW = {
  code: "BTCUSD",
  number: 6,
  base: "BTC",
  quote: "USD",
  price_decimals: 6,
  base_decimals: 8,
  tick: "1",
  min_base_amount: "0.0001",
  max_base_amount: "500",
  min_quote_amount: "1",
  max_quote_amount: "5000000",
  max_notional_value: "5000000",
};

/** Without fees. */
export const BTCUSD = marketOf(BTCUSD_ROW, []);
