/**
 * Entries of deposits and withdrawals. A stablecoin is issued on deposit and burnt on withdrawal, against USD in the
 * reserve: `world` never holds coins, and the reserve always equals the outstanding supply.
 */
import { type Amount, negative } from "../money/amount.ts";
import { type Asset, USD } from "../money/asset.ts";
import { accountKey, type Entry, entry, type Owner } from "./accounts.ts";
import type { Key } from "./tables.ts";

export function depositEntries(owner: Owner, asset: Asset, amount: Amount): Entry[] {
  if (asset.kind !== "stablecoin") {
    return [entry("world", asset.code, negative(amount)), entry(owner, asset.code, amount)];
  }
  return [
    entry("world", USD, negative(amount)),
    entry("reserve", USD, amount),
    entry("issuance", asset.code, negative(amount)),
    entry(owner, asset.code, amount),
  ];
}

export function withdrawalEntries(owner: Owner, asset: Asset, amount: Amount): Entry[] {
  return depositEntries(owner, asset, negative(amount));
}

/** The accounts that a deposit or a withdrawal changes. */
export function externalTransferKeys(owner: Owner, asset: Asset): Key[] {
  const keys = [accountKey(owner, asset.code)];
  if (asset.kind !== "stablecoin") return [...keys, accountKey("world", asset.code)];
  return [...keys, accountKey("world", USD), accountKey("reserve", USD), accountKey("issuance", asset.code)];
}
