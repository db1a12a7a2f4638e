/**
 * Accounts, journals and postings. An account is (owner, asset); an owner is a profile or a house account. A profile's
 * account has three parts, none of which may go below zero. A journal is a set of entries that sums to zero per asset.
 * Applying it produces postings, each with the account's new version and the resulting parts.
 */
import { type Amount, minus, negative, plus, ZERO } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { assert } from "../std/assert.ts";
import type { Brand } from "../std/brand.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import {
  amountColumn,
  bigintColumn,
  booleanColumn,
  changing,
  guard,
  key,
  textColumn,
  timeColumn,
  uuidColumn,
  versionColumn,
} from "./columns.ts";
import { type HouseName, houseName, houseOf, houseOwnerId } from "./house-accounts.ts";
import { type Key, keyOf, recordTable, type StateRow, stateTable } from "./tables.ts";

export type ProfileId = Brand<Uuid, "ProfileId">;

export type Owner = ProfileId | HouseName;

export const PARTS = ["available", "trading", "pending"] as const;
/** `trading` is held by open orders; `pending` by CREATED conversions, open withdrawals and legal holds. */
export type Part = (typeof PARTS)[number];

export interface Account extends StateRow {
  readonly ownerId: Uuid;
  readonly asset: AssetCode;
  /** The kind of a house account; undefined for a profile, as are the next three. */
  readonly house: string | undefined;
  readonly coin: AssetCode | undefined;
  readonly custodian: string | undefined;
  readonly mayBeNegative: boolean | undefined;
  readonly available: Amount;
  readonly trading: Amount;
  readonly pending: Amount;
  /** Time of the last posting. */
  readonly at: Instant;
  /** The profile's: the version that its last deactivation made. 0 if there was none, and of a house account. */
  readonly lastDeactivation: bigint;
}

export type JournalCause =
  | "deposit"
  | "withdrawal"
  | "withdrawal_held"
  | "withdrawal_released"
  | "transfer"
  | "conversion_created"
  | "conversion_settled"
  | "conversion_cancelled"
  | "order_held"
  | "order_filled"
  | "order_released"
  | "legal_hold_placed"
  | "legal_hold_lifted";

export interface Entry {
  readonly owner: Owner;
  readonly asset: AssetCode;
  readonly part: Part;
  readonly amount: Amount;
}

/** A set of entries that sums to zero per asset and contains no zero entries. Build it with `journal`. */
export interface Journal {
  readonly id: Uuid;
  readonly cause: JournalCause;
  readonly entries: readonly Entry[];
}

/** One signed change to one part of one account, as it is stored. */
export interface Posting {
  readonly ownerId: Uuid;
  readonly asset: AssetCode;
  readonly version: bigint;
  readonly journalId: Uuid;
  readonly cause: JournalCause;
  readonly part: Part;
  readonly amount: Amount;
  readonly available: Amount;
  readonly trading: Amount;
  readonly pending: Amount;
  readonly at: Instant;
}

/** Drops zero entries. Throws when the entries do not sum to zero per asset: that is a bug, not a rejection. */
export function journal(id: Uuid, cause: JournalCause, entries: readonly Entry[]): Journal {
  const sums = new Map<AssetCode, bigint>();
  for (const entry of entries) sums.set(entry.asset, (sums.get(entry.asset) ?? 0n) + entry.amount);
  for (const [asset, sum] of sums) assert(sum === 0n, () => `journal ${id} sums to zero in ${asset}, not to ${sum}`);
  return { id, cause, entries: entries.filter((entry) => entry.amount !== 0n) };
}

export function entry(owner: Owner, asset: AssetCode, amount: Amount, part: Part = "available"): Entry {
  return { owner, asset, part, amount };
}

/** Moves an amount from `available` to `pending`. */
export function holdEntries(owner: Owner, asset: AssetCode, amount: Amount): Entry[] {
  return [entry(owner, asset, negative(amount)), entry(owner, asset, amount, "pending")];
}

/** Moves an amount from `pending` back to `available`. */
export function releaseEntries(owner: Owner, asset: AssetCode, amount: Amount): Entry[] {
  return [entry(owner, asset, negative(amount), "pending"), entry(owner, asset, amount)];
}

/** Applies an entry and increments the account's version. `at` is set later, when the batch gets its time. */
export function applyEntry(account: Account, { part, amount, asset }: Entry): Account {
  assert(account.asset === asset, "an entry is applied to an account of its asset");
  const after = plus(account[part], amount);
  assert(
    after >= 0n || (part === "available" && account.mayBeNegative === true),
    () => `${part} of ${account.ownerId} in ${asset} stays at or above zero, but would be ${after}`,
  );
  // Field by field: an object spread would double the cost of this hot path.
  return {
    ownerId: account.ownerId,
    asset,
    house: account.house,
    coin: account.coin,
    custodian: account.custodian,
    mayBeNegative: account.mayBeNegative,
    available: part === "available" ? after : account.available,
    trading: part === "trading" ? after : account.trading,
    pending: part === "pending" ? after : account.pending,
    at: account.at,
    lastDeactivation: account.lastDeactivation,
    version: account.version + 1n,
  };
}

export function postedAt(account: Account, at: Instant): Account {
  // Field by field, as in `applyEntry`.
  return {
    ownerId: account.ownerId,
    asset: account.asset,
    house: account.house,
    coin: account.coin,
    custodian: account.custodian,
    mayBeNegative: account.mayBeNegative,
    available: account.available,
    trading: account.trading,
    pending: account.pending,
    at,
    lastDeactivation: account.lastDeactivation,
    version: account.version,
  };
}

export function totalOf(account: Account): Amount {
  return plus(plus(account.available, account.trading), account.pending);
}

/** How much is missing; not above zero when there is enough. */
export function shortfall(account: Account | undefined, needed: Amount): Amount {
  return minus(needed, account?.available ?? ZERO);
}

/** @param lastDeactivation the profile's */
export function emptyAccount(owner: Owner, asset: AssetCode, slot: number, lastDeactivation = 0n): Account {
  const house = houseOf(owner);
  return {
    ownerId: house === undefined ? (owner as ProfileId) : houseOwnerId(owner as HouseName, slot),
    asset,
    house: house?.house,
    coin: house?.coin,
    custodian: house?.custodian,
    mayBeNegative: house?.mayBeNegative,
    available: ZERO,
    trading: ZERO,
    pending: ZERO,
    at: 0 as Instant,
    lastDeactivation,
    version: 0n,
  };
}

/** House accounts are keyed by name alone; the lane adds its slot. */
export function accountKey(owner: Owner, asset: AssetCode): Key {
  return keyOf(accountTable, `${owner}/${asset}`);
}

export const accountTable = stateTable<Account>({
  name: "account",
  columns: {
    ownerId: key(uuidColumn("owner_id")),
    asset: key(textColumn("asset")),
    house: textColumn("house"),
    coin: textColumn("coin"),
    custodian: textColumn("custodian"),
    mayBeNegative: booleanColumn("may_be_negative"),
    available: changing(amountColumn("available")),
    trading: changing(amountColumn("trading")),
    pending: changing(amountColumn("pending")),
    at: changing(timeColumn("at")),
    lastDeactivation: guard(bigintColumn("last_deactivation")),
    version: versionColumn,
  },
  digested: false,
  keyOf: ({ ownerId, asset, house, coin, custodian }) =>
    house === undefined ? `${ownerId}/${asset}` : `${houseName({ house, coin, custodian })}/${asset}`,
  keyValues: (text, slot) => {
    const [owner, asset] = text.split("/") as [string, string];
    return [houseOf(owner) === undefined ? owner : houseOwnerId(owner as HouseName, slot), asset];
  },
});

/** By account, then version: as text that sorts. */
export function postingOrder({ ownerId, asset, version }: Pick<Posting, "ownerId" | "asset" | "version">): string {
  return `${ownerId}/${asset}/${version.toString().padStart(20, "0")}`;
}

export const postingTable = recordTable<Posting>({
  name: "posting",
  columns: {
    ownerId: uuidColumn("owner_id"),
    asset: textColumn("asset"),
    version: bigintColumn("version"),
    journalId: uuidColumn("journal_id"),
    cause: textColumn("cause", "journal_cause"),
    part: textColumn("part", "account_part"),
    amount: amountColumn("amount"),
    available: amountColumn("available"),
    trading: amountColumn("trading"),
    pending: amountColumn("pending"),
    at: timeColumn("at"),
  },
  // A posting's caller is that of the record or row that its journal belongs to.
  hasCaller: false,
  orderBy: postingOrder,
  keyOf: (row) => `${row.ownerId}/${row.asset}/${row.version}`,
  keepsClaims: false,
});
