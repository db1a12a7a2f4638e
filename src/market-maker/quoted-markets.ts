/** The markets that the sandbox's market maker quotes, and their prices. */
import type { MarketCode } from "../catalogue/market.ts";
import { type Amount, amountOf } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";

export interface QuotedMarket {
  readonly market: MarketCode;
  /** The start of the price walk. */
  readonly start: Amount;
  /** The step of the price walk, and the distance between levels of the ladder. */
  readonly unit: Amount;
  /** The maximum distance of the price from its start, in units. */
  readonly band: number;
  /** The amount of the best level of each side; level n has n times as much. */
  readonly size: Amount;
}

/** Bands of 5% to both sides, 0.2% for a stablecoin. A side is worth 300,000 to 750,000. */
export const QUOTED_MARKETS: readonly QuotedMarket[] = [
  quoted("BTCUSD", { start: "100000", unit: "50", band: 100, size: "0.5" }),
  quoted("ETHUSD", { start: "4000", unit: "2", band: 100, size: "10" }),
  quoted("ETHEUR", { start: "3500", unit: "2", band: 87, size: "10" }),
  quoted("LTCUSD", { start: "100", unit: "0.05", band: 100, size: "200" }),
  quoted("USDPUSD", { start: "1", unit: "0.0001", band: 20, size: "50000" }),
];

/** The deposit when an asset runs short: enough for many ladders, so that it is rare. */
export const DEPOSITS: ReadonlyMap<AssetCode, Amount> = new Map(
  Object.entries({
    USD: "100000000",
    EUR: "20000000",
    BTC: "500",
    ETH: "10000",
    LTC: "100000",
    USDP: "20000000",
  }).map(([asset, amount]) => [asset as AssetCode, amountOf(amount)]),
);

function quoted(
  market: string,
  { start, unit, band, size }: Readonly<Record<"start" | "unit" | "size", string>> & { readonly band: number },
): QuotedMarket {
  return { market: market as MarketCode, start: amountOf(start), unit: amountOf(unit), band, size: amountOf(size) };
}
