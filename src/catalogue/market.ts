import { type Amount, amountOf } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import type { Brand } from "../std/brand.ts";
import type { FeeTier } from "./fee-tiers.ts";

export type MarketCode = Brand<string, "MarketCode">;

/** The assets and limits of a market. Whether it is open is state of the engine. */
export interface Market {
  readonly code: MarketCode;
  /** 1 to 255. Never changes, because it is part of every execution id. */
  readonly number: number;
  readonly base: AssetCode;
  readonly quote: AssetCode;
  readonly priceDecimals: number;
  readonly baseDecimals: number;
  /** The price increment. */
  readonly tick: Amount;
  readonly minBaseAmount: Amount;
  readonly maxBaseAmount: Amount;
  readonly minQuoteAmount: Amount;
  readonly maxQuoteAmount: Amount;
  readonly maxNotionalValue: Amount;
  /** Sorted by minimum; the first begins at zero. */
  readonly feeTiers: readonly FeeTier[];
}

/** By column name, as in the table and the file. */
type Named = Readonly<Record<string, string | number>>;

export function marketOf(row: Named, feeTiers: readonly FeeTier[]): Market {
  const amount = (name: string): Amount => amountOf(String(row[name]));
  return {
    code: row.code as MarketCode,
    number: Number(row.number),
    base: row.base as AssetCode,
    quote: row.quote as AssetCode,
    priceDecimals: Number(row.price_decimals),
    baseDecimals: Number(row.base_decimals),
    tick: amount("tick"),
    minBaseAmount: amount("min_base_amount"),
    maxBaseAmount: amount("max_base_amount"),
    minQuoteAmount: amount("min_quote_amount"),
    maxQuoteAmount: amount("max_quote_amount"),
    maxNotionalValue: amount("max_notional_value"),
    feeTiers,
  };
}

export function feeTierOf(row: Named): FeeTier {
  return {
    minimumGross: amountOf(String(row.minimum_gross)),
    takerRate: amountOf(String(row.taker_rate)),
    makerRebate: amountOf(String(row.maker_rebate)),
  };
}
