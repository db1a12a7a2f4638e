/**
 * Entries of deposits, withdrawals and conversions that issue or burn a stablecoin, always against USD in its reserve. So
 * `world` never holds coins, and the reserve of a coin always equals its outstanding supply.
 */
import { type Amount, negative } from "../money/amount.ts";
import { type Asset, type AssetCode, USD } from "../money/asset.ts";
import { accountKey, type Entry, entry, type Owner, type Part } from "./accounts.ts";
import { reserveOf } from "./house-accounts.ts";
import type { Key } from "./tables.ts";

export function depositEntries(owner: Owner, asset: Asset, amount: Amount, part: Part = "available"): Entry[] {
  if (asset.kind !== "stablecoin") {
    return [entry("world", asset.code, negative(amount)), entry(owner, asset.code, amount, part)];
  }
  return [
    entry("world", USD, negative(amount)),
    ...issuanceEntries(asset.code, amount),
    entry(owner, asset.code, amount, part),
  ];
}

/** @param part that the money is taken from: `pending` if it was held */
export function withdrawalEntries(owner: Owner, asset: Asset, amount: Amount, part: Part = "available"): Entry[] {
  return depositEntries(owner, asset, negative(amount), part);
}

/** The accounts that a deposit or a withdrawal changes. */
export function externalTransferKeys(owner: Owner, asset: Asset): Key[] {
  const keys = [accountKey(owner, asset.code)];
  if (asset.kind !== "stablecoin") return [...keys, accountKey("world", asset.code)];
  return [...keys, accountKey("world", USD), ...issuanceKeys(asset.code)];
}

/** @param amount what is issued; below zero: burnt */
export function issuanceEntries(coin: AssetCode, amount: Amount): Entry[] {
  return [entry(reserveOf(coin), USD, amount), entry("issuance", coin, negative(amount))];
}

/** The accounts that an issuance changes. */
export function issuanceKeys(coin: AssetCode): Key[] {
  return [accountKey(reserveOf(coin), USD), accountKey("issuance", coin)];
}
