import { amountColumn, readerOf, type SqlRecord, smallintColumn, tableColumns, textColumn } from "../ledger/columns.ts";
import type { Amount } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
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

// Columns, by which rows of the tables and of the catalogue file are read and written ------------------------------

export const assetColumns = tableColumns<Asset>({
  code: textColumn("code"),
  kind: textColumn("kind", "asset_kind"),
  precision: smallintColumn("precision"),
});

export const assetOf = readerOf(assetColumns);

export const marketColumns = tableColumns<Omit<Market, "feeTiers">>({
  code: textColumn("code"),
  number: smallintColumn("number"),
  base: textColumn("base"),
  quote: textColumn("quote"),
  priceDecimals: smallintColumn("price_decimals"),
  baseDecimals: smallintColumn("base_decimals"),
  tick: amountColumn("tick"),
  minBaseAmount: amountColumn("min_base_amount"),
  maxBaseAmount: amountColumn("max_base_amount"),
  minQuoteAmount: amountColumn("min_quote_amount"),
  maxQuoteAmount: amountColumn("max_quote_amount"),
  maxNotionalValue: amountColumn("max_notional_value"),
});

const termsOf = readerOf(marketColumns);

export function marketOf(row: SqlRecord, feeTiers: readonly FeeTier[]): Market {
  return { ...termsOf(row), feeTiers };
}

export const feeTierColumns = tableColumns<FeeTier>({
  minimumGross: amountColumn("minimum_gross"),
  takerRate: amountColumn("taker_rate"),
  makerRebate: amountColumn("maker_rebate"),
});

export const feeTierOf = readerOf(feeTierColumns);
