/** The markets that the sandbox's market maker keeps, and around which prices. */
import type { MarketCode } from "../catalogue/market.ts";
import { type Amount, amountOf } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";

export interface MadeMarket {
  readonly market: MarketCode;
  /** Where the walk of the price begins. */
  readonly start: Amount;
  /** By how much the price moves at a time, and how far the levels of the ladder are apart. */
  readonly unit: Amount;
  /** How many units the price stays within, on both sides of its start. */
  readonly band: number;
  /** What is offered on the best level of each side; the one behind it has twice as much, and so on. */
  readonly size: Amount;
}

/** Five per cent on both sides, and for a stablecoin a fifth of a per cent. A side is worth 300,000 to 750,000. */
export const MADE_MARKETS: readonly MadeMarket[] = [
  made("BTCUSD", { start: "100000", unit: "50", band: 100, size: "0.5" }),
  made("ETHUSD", { start: "4000", unit: "2", band: 100, size: "10" }),
  made("ETHEUR", { start: "3500", unit: "2", band: 87, size: "10" }),
  made("LTCUSD", { start: "100", unit: "0.05", band: 100, size: "200" }),
  made("USDPUSD", { start: "1", unit: "0.0001", band: 20, size: "50000" }),
];

/** What is paid in when there is too little of an asset: many ladders at once, so that it is seldom. */
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

function made(
  market: string,
  { start, unit, band, size }: Readonly<Record<"start" | "unit" | "size", string>> & { readonly band: number },
): MadeMarket {
  return { market: market as MarketCode, start: amountOf(start), unit: amountOf(unit), band, size: amountOf(size) };
}
