/**
 * House accounts, the platform's own. Each has a kind and, where they apply, the coin that it serves and the custodian that
 * keeps what is in it. The table `house_kind` lists the kinds; a house account itself exists from its first posting on.
 */
import { createHash } from "node:crypto";
import type { AssetCode } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Uuid } from "../std/id.ts";

/**
 * The kinds that this program posts to, and whether their balance in one slot may be negative, as in `house_kind`. `world`
 * is everything outside the platform; `reserve` holds the USD that back one stablecoin at one custodian; `issuance` owes the
 * outstanding stablecoins; `fees` earns commissions and pays rebates.
 */
export const HOUSE_KINDS = {
  world: { mayBeNegative: true },
  reserve: { mayBeNegative: true },
  issuance: { mayBeNegative: true },
  fees: { mayBeNegative: false },
} as const;
type HouseKind = keyof typeof HOUSE_KINDS;

/** `kind`, or `kind:coin:custodian`: "world", "reserve:USDG:default". */
export type HouseName = HouseKind | `${HouseKind}:${string}:${string}`;

export interface HouseAccount {
  readonly house: string;
  readonly coin: AssetCode | undefined;
  readonly custodian: string | undefined;
}

/** Keeps every reserve, as long as there is no other. */
const DEFAULT_CUSTODIAN = "default";

/** The USD that back a stablecoin. */
export const reserveOf = (coin: AssetCode): HouseName => `reserve:${coin}:${DEFAULT_CUSTODIAN}`;

/** Also of a kind that this program does not know. */
export function houseName({ house, coin, custodian }: HouseAccount): HouseName {
  const hasKindOnly = coin === undefined && custodian === undefined;
  return (hasKindOnly ? house : `${house}:${coin ?? ""}:${custodian ?? ""}`) as HouseName;
}

/** The inverse of `houseName`; undefined for a profile. */
export function houseOf(owner: string): (HouseAccount & { readonly mayBeNegative: boolean }) | undefined {
  const [house = "", coin, custodian] = owner.split(":");
  if (!isHouseKind(house)) return undefined;
  const { mayBeNegative } = HOUSE_KINDS[house];
  return {
    house,
    coin: (coin || undefined) as AssetCode | undefined,
    custodian: custodian || undefined,
    mayBeNegative,
  };
}

const isHouseKind = (word: string): word is HouseKind => Object.hasOwn(HOUSE_KINDS, word);

/**
 * The owner id of a house account in a slot: ffffffff-hhhh-8hhh-8hhh-hhhhhhhhhhss, a version 8 UUID (RFC 9562, section 5.8:
 * vendor-specific), where s is the slot and h the first 80 bits of the SHA-256 of the name. It depends on nothing else, so
 * every process and every version derives the same one.
 *
 * No profile has such an id: the first 32 bits of a version 7 UUID are ffffffff in the year 10889, and the tables demand
 * `ffffffff` of house accounts alone. Two house accounts share an id only if 80 bits of SHA-256 agree. Then the second could
 * not be opened, because its batch would find the row taken: money is never mixed up.
 */
export function houseOwnerId(name: HouseName, slot: number): Uuid {
  const hash = createHash("sha256").update(name).digest("hex");
  const [a, b, c, d] = [hash.slice(0, 4), hash.slice(4, 7), hash.slice(7, 10), hash.slice(10, 20)];
  return `${HOUSE_PREFIX}${a}-8${b}-8${c}-${d}${slot.toString(16).padStart(2, "0")}` as Uuid;
}

const HOUSE_PREFIX = "ffffffff-";

export const isHouseOwner = (ownerId: Uuid): boolean => ownerId.startsWith(HOUSE_PREFIX);

/** The inverse of `houseOwnerId`, as far as it has one. */
export const slotOfOwner = (ownerId: Uuid): number => Number.parseInt(ownerId.slice(34), 16);

/** By owner id: what was opened until now, a row per slot, house account and asset. */
export async function readHouseAccounts(database: Queryable): Promise<Map<Uuid, HouseAccount>> {
  const rows = await database.rows<{ owner_id: Uuid; house: string; coin: AssetCode | null; custodian: string | null }>(
    "select distinct owner_id, house, coin, custodian from account where house is not null",
  );
  return new Map(
    rows.map(({ owner_id, house, coin, custodian }) => [
      owner_id,
      { house, coin: coin ?? undefined, custodian: custodian ?? undefined },
    ]),
  );
}

export interface StoredHouseKind {
  readonly kind: string;
  readonly mayBeNegative: boolean;
  /** Where the chart of accounts has it, from the operator's side. */
  readonly accountClass: "Assets" | "Equity" | "Income" | "Liabilities";
}

/** Every kind that house accounts may have, in the order of their names. */
export async function readHouseKinds(database: Queryable): Promise<StoredHouseKind[]> {
  const rows = await database.rows<{
    kind: string;
    may_be_negative: boolean;
    account_class: StoredHouseKind["accountClass"];
  }>("select kind, may_be_negative, account_class from house_kind order by kind");
  return rows.map((row) => ({ kind: row.kind, mayBeNegative: row.may_be_negative, accountClass: row.account_class }));
}
