/**
 * What enters and leaves the platform. A stablecoin is issued when it enters and burnt when it leaves, against USD in
 * the reserve: so the world never holds coins, and the reserve equals what is issued at every moment.
 */
import { type Amount, negative } from "../money/amount.ts";
import { type Asset, USD } from "../money/asset.ts";
import { accountKey, type Entry, entry, type Owner } from "./accounts.ts";
import type { Key } from "./rows.ts";

export function entering(owner: Owner, asset: Asset, amount: Amount): Entry[] {
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

export function leaving(owner: Owner, asset: Asset, amount: Amount): Entry[] {
  return entering(owner, asset, negative(amount));
}

/** The accounts that either of them touches. */
export function externalTransferKeys(owner: Owner, asset: Asset): Key[] {
  const keys = [accountKey(owner, asset.code)];
  if (asset.kind !== "stablecoin") return [...keys, accountKey("world", asset.code)];
  return [...keys, accountKey("world", USD), accountKey("reserve", USD), accountKey("issuance", asset.code)];
}
