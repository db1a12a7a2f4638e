import { type Amount, BALANCE_LIMIT, mulDiv, SCALE, unitOf } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";

/**
 * What a deposit or withdrawal is worth in USD: a coin its number; a crypto asset what it traded at last, in whole
 * cents, half up. Undefined for fiat, and without a price.
 */
export function notionalValue(asset: Asset, amount: Amount, lastPrice: Amount | undefined): Amount | undefined {
  if (asset.kind === "stablecoin") return amount;
  if (asset.kind === "fiat" || lastPrice === undefined) return undefined;
  const cent = unitOf(2);
  const value = (mulDiv(amount, lastPrice, 10n ** BigInt(SCALE) * cent, "half_up") * cent) as Amount;
  // Only a price that nobody has seen yet leads there, and the deposit is not to fail on it.
  return value < BALANCE_LIMIT ? value : undefined;
}
