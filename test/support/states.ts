/** The rows that a rule rests on, for tests of rules that need no database. */
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { type Profile, profileTable } from "../../src/customers/profiles/profiles.ts";
import { type Account, accountKey, accountTable, emptyAccount, type ProfileId } from "../../src/ledger/accounts.ts";
import type { State } from "../../src/ledger/decision.ts";
import type { AnyStateTable, StateRow } from "../../src/ledger/tables.ts";
import { amountOf } from "../../src/money/amount.ts";
import type { AssetCode } from "../../src/money/asset.ts";
import type { Instant } from "../../src/std/clock.ts";
import { IdSource, type Uuid } from "../../src/std/id.ts";

/** A row under its table and key. */
export type Row = readonly [table: AnyStateTable, key: string, row: StateRow];

/** What is not among the rows is not there. */
export function stateOf(...rows: readonly Row[]): State {
  const known = new Map(rows.map(([table, key, row]) => [`${table.name} ${key}`, row]));
  return { get: (table, key) => known.get(`${table.name} ${key}`) as never };
}

const ids = new IdSource();

export function profileOf(customerId: CustomerId, more: Partial<Profile> = {}): Profile {
  return {
    id: ids.next() as Uuid as ProfileId,
    customerId,
    kind: "NORMAL",
    nickname: "a profile",
    description: undefined,
    status: "ACTIVE",
    incomingCount: 0,
    lastDeactivation: 0n,
    createdAt: 1_000 as Instant,
    updatedAt: 1_000 as Instant,
    version: 3n,
    ...more,
  };
}

export const profileRow = (profile: Profile): Row => [profileTable, profile.id, profile];

/** An account with so much in each of its parts. */
export function accountRow(
  { id }: Pick<Profile, "id">,
  asset: string,
  parts: Partial<Record<"available" | "trading" | "pending", string>>,
): Row {
  const amounts = Object.fromEntries(Object.entries(parts).map(([part, text]) => [part, amountOf(text)]));
  const account: Account = { ...emptyAccount(id, asset as AssetCode, 1), ...amounts };
  return [accountTable, accountKey(id, asset as AssetCode).key, account];
}
