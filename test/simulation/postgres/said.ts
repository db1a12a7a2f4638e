/** What the sessions of a script say: statements as the lane, the leases and the readers send them. */
import {
  type Conversion,
  type ConversionId,
  conversionKey,
  conversionTable,
} from "../../../src/conversions/conversion.ts";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import {
  accountKey,
  accountTable,
  emptyAccount,
  entry,
  journal,
  type ProfileId,
} from "../../../src/ledger/accounts.ts";
import { addition, change, type Key, type ReadLock, readKeys } from "../../../src/ledger/tables.ts";
import { Batch } from "../../../src/ledger/writer/batch.ts";
import { RowCache } from "../../../src/ledger/writer/reading/row-cache.ts";
import { Slot } from "../../../src/ledger/writer/slot-chain.ts";
import { type BatchTimes, Statements } from "../../../src/ledger/writer/statement.ts";
import { amountOf, negative } from "../../../src/money/amount.ts";
import { type AssetCode, USD } from "../../../src/money/asset.ts";
import type { Database, Queryable } from "../../../src/postgres/database.ts";
import { type Lease, takeLease } from "../../../src/postgres/leases.ts";
import type { Instant } from "../../../src/std/clock.ts";
import { siblingId, type Uuid } from "../../../src/std/id.ts";
import { type Transfer, transferTable } from "../../../src/transfers/transfer.ts";
import { residents } from "../fixtures.ts";

export interface Said {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The session ends without a commit. */
export const END = "goes";

export type Script = readonly (readonly [who: string, said: Said | typeof END])[];

export const [PROFILE, OTHER] = residents.map(({ profileId }) => profileId) as [ProfileId, ProfileId];
const CUSTOMER = residents[0]?.customerId as Uuid;
export const NOW = Date.UTC(2026, 10, 21, 9, 0, 0) as Instant;
export const begin: Said = { text: "begin", values: [] };
export const commit: Said = { text: "commit", values: [] };

export interface Deposit {
  readonly slot: number;
  readonly n: number;
  /** How many deposits the profile, and the slot, have had. */
  readonly had?: number;
  readonly slotHad?: number;
  readonly profile?: ProfileId;
  /** Only looked at. */
  readonly looks?: ProfileId;
  /** Of a claim. */
  readonly refId?: string;
  /** With a record that has these. */
  readonly record?: Pick<Transfer, "refId" | "cryptoTxHash">;
  readonly previous?: Buffer;
  readonly times?: Partial<BatchTimes>;
}

/** A conversion that is there, opened or closed by a batch that writes nothing else. */
export function closing(slot: number, n: number, status: Conversion["status"], had: bigint): Said {
  const memory = new RowCache(100_000);
  const at = (is: boolean): Instant | undefined => (is ? NOW : undefined);
  const conversion: Conversion = {
    ...{
      id: `${PROFILE}` as Uuid as ConversionId,
      profileId: PROFILE,
      customerId: CUSTOMER as CustomerId,
      amount: amountOf("1"),
    },
    ...{ sourceAsset: USD, targetAsset: "PYUSD" as AssetCode, recipientProfileId: undefined, refId: undefined },
    ...{ annotations: {}, status, createdAt: NOW, updatedAt: NOW },
    ...{ settledAt: at(status === "SETTLED"), cancelledAt: at(status === "CANCELLED"), version: had },
  };
  const key = conversionKey(conversion);
  const open: Conversion = { ...conversion, status: "CREATED", settledAt: undefined, cancelledAt: undefined };
  if (had > 0n) memory.set(conversionTable, key.key, open);
  const batch = new Batch(memory, slot);
  batch.dependOn([key]);
  batch.add({ states: [change(conversionTable, conversion)] }, { house: "settlement" });
  const link = { slot, n: BigInt(n), previous: hashOf(slot, n - 1), hash: hashOf(slot, n) };
  return new Statements().batch(batch.close(NOW), link, TIMES);
}

/** Between which a batch is stored, unless a script says otherwise. */
const TIMES: BatchTimes = { notBefore: (NOW - 60_000) as Instant, deadline: (NOW + 60_000) as Instant };

export const hashOf = (slot: number, n: number): Buffer => Buffer.alloc(32, 16 * slot + n + 1);

/** One dollar for a profile, which has had so many of them, as a lane would send it. */
export function deposit({ slot, n, had = 0, slotHad = n, profile = PROFILE, looks, ...more }: Deposit): Said {
  const memory = new RowCache(100_000);
  const known = (owner: ProfileId | "world", times: number, sign: "" | "-"): void => {
    if (times === 0) return;
    const account = emptyAccount(owner, USD, slot);
    const row = { ...account, available: amountOf(`${sign}${times}`), version: BigInt(times), at: NOW };
    memory.set(accountTable, accountKey(owner, USD).key, row);
  };
  known("world", slotHad, "-");
  known(profile, had, "");
  if (looks !== undefined) known(looks, 1, "");
  const batch = new Batch(memory, slot);
  const id = `00000000-0000-7000-8000-0000000${slot}${n}000` as Uuid;
  const entries = [entry("world", USD, negative(amountOf("1"))), entry(profile, USD, amountOf("1"))];
  batch.dependOn([accountKey("world", USD), accountKey(profile, USD)]);
  if (looks !== undefined) batch.dependOn([accountKey(looks, USD)]);
  const { refId, record, previous, times } = more;
  const records = record === undefined ? [] : [addition(transferTable, recordOf(id, profile, record))];
  batch.add({ journals: [journal(siblingId(id), "deposit", entries)], records }, { house: "bootstrap" });
  if (refId !== undefined) batch.claim({ customerId: CUSTOMER, kind: "order", refId, id });
  const link = { slot, n: BigInt(n), previous: previous ?? hashOf(slot, n - 1), hash: hashOf(slot, n) };
  return new Statements().batch(batch.close(NOW), link, { ...TIMES, ...times });
}

function recordOf(id: Uuid, toProfileId: ProfileId, { refId, cryptoTxHash }: NonNullable<Deposit["record"]>): Transfer {
  return {
    ...{ id, customerId: CUSTOMER as CustomerId, type: "CRYPTO_DEPOSIT", asset: USD, amount: amountOf("1") },
    ...{ fromProfileId: undefined, fromAnnotations: {} },
    ...{ toProfileId, toCustomerId: CUSTOMER as CustomerId, toAnnotations: {} },
    ...{ hasSteps: undefined, refId, cryptoNetwork: "ETHEREUM", createdAt: NOW },
    ...{ cryptoTxHash, cryptoTxIndex: cryptoTxHash && "0" },
  };
}

/** The first statement that this sends. */
export async function firstOf(work: (database: Queryable) => Promise<unknown>): Promise<Said> {
  const said: Said[] = [];
  const database: Queryable = {
    rows: async (text, values = []) => {
      said.push({ text, values });
      return [];
    },
  };
  await work(database).catch(() => undefined);
  return said[0] as Said;
}

/** Takes the number n of a slot for nothing. */
export async function voiding(slot: number, n: number): Promise<Said> {
  const link = { slot: 0, n: BigInt(n), previous: hashOf(slot, n - 1), hash: hashOf(slot, n) };
  const said = await firstOf((database) => new Slot(database as Database, "me", 1).hasCommitted(link));
  return { text: said.text, values: [slot, ...said.values.slice(1)] };
}

export const lease = (holder: string, ms: number): Promise<Said> =>
  firstOf((database) => takeLease(database, "slot/9", holder, ms));
export const heldBy = (fence: bigint): Lease => ({ name: "slot/9", holder: "a", fence });
export const lockRows = (lock: ReadLock = "locked", more: Pick<Key, "reads"> = {}): Promise<Said> => {
  const keys = [PROFILE, OTHER].map((profile) => ({ ...accountKey(profile, USD), ...more }));
  return firstOf((database) => readKeys(database, keys, 1, lock));
};

/** How an answer shows a profile's account after this many deposits. */
export const ofAccount = (profileId: ProfileId, times: number): string =>
  `asset=USD at=${NOW} available=${times} coin=null custodian=null house=null last_deactivation=0 may_be_negative=null owner_id=${profileId} pending=0 trading=0 version=${times}`;
