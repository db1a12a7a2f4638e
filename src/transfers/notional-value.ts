import { type Amount, BALANCE_LIMIT, mulDiv, SCALE, unitOf } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";

/**
 * The value of a deposit or withdrawal in USD: a stablecoin at par; a crypto asset at its last price, rounded half up to
 * whole cents. Undefined for fiat, and without a price.
 */
export function notionalValue(asset: Asset, amount: Amount, lastPrice: Amount | undefined): Amount | undefined {
  if (asset.kind === "stablecoin") return amount;
  if (asset.kind === "fiat" || lastPrice === undefined) return undefined;
  const cent = unitOf(2);
  const value = (mulDiv(amount, lastPrice, 10n ** BigInt(SCALE) * cent, "half_up") * cent) as Amount;
  // Only an absurd price leads here. The deposit must not fail because of it.
  return value < BALANCE_LIMIT ? value : undefined;
}
