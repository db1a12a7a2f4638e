/**
 * Concurrent sessions, and the results that they must get: the ways in which batches, leases and readers meet. Each script
 * runs on the simulated PostgreSQL and on a real one.
 */
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
import { addition, change, type ReadLock, readKeys } from "../../../src/ledger/tables.ts";
import { Batch } from "../../../src/ledger/writer/batch.ts";
import { RowCache } from "../../../src/ledger/writer/reading/row-cache.ts";
import { Slot } from "../../../src/ledger/writer/slot-chain.ts";
import { type BatchTimes, Statements } from "../../../src/ledger/writer/statement.ts";
import { amountOf, negative } from "../../../src/money/amount.ts";
import { type AssetCode, USD } from "../../../src/money/asset.ts";
import type { Database, Queryable } from "../../../src/postgres/database.ts";
import { type Lease, releaseLease, renewLease, takeLease } from "../../../src/postgres/leases.ts";
import type { Instant } from "../../../src/std/clock.ts";
import { siblingId, type Uuid } from "../../../src/std/id.ts";
import { type Transfer, transferTable } from "../../../src/transfers/transfer.ts";
import { residents } from "../fixtures.ts";
import { IMPATIENT } from "./two-servers.ts";

export interface Said {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The session ends without a commit. */
export const END = "goes";

export type Script = readonly (readonly [who: string, said: Said | typeof END])[];

interface Expected {
  readonly script: Script;
  readonly got: readonly string[];
}

const [PROFILE, OTHER] = residents.map(({ profileId }) => profileId) as [ProfileId, ProfileId];
const CUSTOMER = residents[0]?.customerId as Uuid;
const NOW = Date.UTC(2026, 10, 21, 9, 0, 0) as Instant;
const begin: Said = { text: "begin", values: [] };
const commit: Said = { text: "commit", values: [] };

interface Deposit {
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
function closing(slot: number, n: number, status: Conversion["status"], had: bigint): Said {
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

const hashOf = (slot: number, n: number): Buffer => Buffer.alloc(32, 16 * slot + n + 1);

/** One dollar for a profile, which has had so many of them, as a lane would send it. */
function deposit({ slot, n, had = 0, slotHad = n, profile = PROFILE, looks, ...more }: Deposit): Said {
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
async function firstOf(work: (database: Queryable) => Promise<unknown>): Promise<Said> {
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
async function voiding(slot: number, n: number): Promise<Said> {
  const link = { slot: 0, n: BigInt(n), previous: hashOf(slot, n - 1), hash: hashOf(slot, n) };
  const said = await firstOf((database) => new Slot(database as Database, "me", 1).hasCommitted(link));
  return { text: said.text, values: [slot, ...said.values.slice(1)] };
}

const lease = (holder: string, ms: number): Promise<Said> =>
  firstOf((database) => takeLease(database, "slot/9", holder, ms));
const heldBy = (fence: bigint): Lease => ({ name: "slot/9", holder: "a", fence });
const lockRows = (lock: ReadLock = "for update"): Promise<Said> =>
  firstOf((database) => readKeys(database, [accountKey(PROFILE, USD), accountKey(OTHER, USD)], 1, lock));

/** How an answer shows a profile's account after this many deposits. */
const ofAccount = (profileId: ProfileId, times: number): string =>
  `asset=USD at=${NOW} available=${times} coin=null custodian=null house=null last_deactivation=0 may_be_negative=null owner_id=${profileId} pending=0 trading=0 version=${times}`;

/** A batch of slot 2 while one of slot 1, which changes the same account, is not yet committed. */
const whileAnotherIsOpen = (first: Said, second: Said, end: Said | typeof END): Script => [
  ["A", deposit({ slot: 1, n: 0 })],
  ["A", begin],
  ["A", first],
  ["B", second],
  ["A", end],
];

export const scripts: Readonly<Record<string, () => Promise<Expected>>> = {
  "a batch waits for a row that is being changed, and finds it moved": async () => ({
    script: whileAnotherIsOpen(deposit({ slot: 1, n: 1, had: 1 }), deposit({ slot: 2, n: 0, had: 1 }), commit),
    got: [
      "A got []",
      "A got []",
      "A got []",
      "B waits",
      "A got [command=COMMIT]",
      "B got 23514 rows_changed_meanwhile",
    ],
  }),
  "a batch waits for a row that was being changed, and finds it as it was": async () => ({
    script: whileAnotherIsOpen(deposit({ slot: 1, n: 1, had: 1 }), deposit({ slot: 2, n: 0, had: 1 }), END),
    got: ["A got []", "A got []", "A got []", "B waits", "B got []"],
  }),
  "a batch that waits for a row too long gives up": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", begin],
      ["A", deposit({ slot: 1, n: 1, had: 1 })],
      [IMPATIENT, deposit({ slot: 2, n: 0, had: 1 })],
      ["A", commit],
    ],
    got: ["A got []", "A got []", "A got []", "impatient got 55P03", "A got [command=COMMIT]"],
  }),
  "an account that two batches open is opened by one": async () => ({
    script: [
      ["A", begin],
      ["A", deposit({ slot: 1, n: 0 })],
      ["B", deposit({ slot: 2, n: 0 })],
      ["A", commit],
    ],
    got: ["A got []", "A got []", "B waits", "A got [command=COMMIT]", "B got 23514 rows_changed_meanwhile"],
  }),
  "who changes a row waits for a batch that rests on it, and goes on": async () => ({
    script: whileAnotherIsOpen(
      deposit({ slot: 1, n: 1, profile: OTHER, looks: PROFILE }),
      deposit({ slot: 2, n: 0, had: 1 }),
      commit,
    ),
    got: ["A got []", "A got []", "A got []", "B waits", "A got [command=COMMIT]", "B got []"],
  }),
  "a conversion that two close is closed by one": async () => ({
    script: [
      ["A", closing(1, 0, "CREATED", 0n)],
      ["A", begin],
      ["A", closing(1, 1, "CANCELLED", 1n)],
      ["B", closing(2, 0, "SETTLED", 1n)],
      ["A", commit],
      ["B", closing(2, 0, "SETTLED", 1n)],
    ],
    got: [
      ...["A got []", "A got []", "A got []", "B waits", "A got [command=COMMIT]"],
      ...["B got 23514 rows_changed_meanwhile", "B got 23514 rows_changed_meanwhile"],
    ],
  }),
  "two batches that rest on the same row and change others of its table take turns": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", begin],
      ["A", deposit({ slot: 1, n: 1, profile: OTHER, looks: PROFILE })],
      ["B", deposit({ slot: 2, n: 0, profile: residents[2]?.profileId as ProfileId, looks: PROFILE })],
      ["A", commit],
    ],
    got: ["A got []", "A got []", "A got []", "B waits", "A got [command=COMMIT]", "B got []"],
  }),
  "a ref_id that is being claimed is waited for, and taken": async () => ({
    script: [
      ["A", begin],
      ["A", deposit({ slot: 1, n: 0, refId: "one" })],
      ["B", deposit({ slot: 2, n: 0, profile: OTHER, refId: "one" })],
      ["A", commit],
    ],
    got: ["A got []", "A got []", "B waits", "A got [command=COMMIT]", "B got 23505 claim_pkey"],
  }),
  "a ref_id whose claim is not committed is free": async () => ({
    script: [
      ["A", begin],
      ["A", deposit({ slot: 1, n: 0, refId: "one" })],
      ["B", deposit({ slot: 2, n: 0, profile: OTHER, refId: "one" })],
      ["A", END],
    ],
    got: ["A got []", "A got []", "B waits", "B got []"],
  }),
  "a ref_id of a transfer that is being added is waited for, and taken": async () => ({
    script: [
      ["A", begin],
      ["A", deposit({ slot: 1, n: 0, record: { refId: "one" } })],
      ["B", deposit({ slot: 2, n: 0, profile: OTHER, record: { refId: "one" } })],
      ["A", commit],
    ],
    got: [...["A got []", "A got []", "B waits", "A got [command=COMMIT]"], "B got 23505 transfer_ref_id_already_used"],
  }),
  "a ref_id of a transfer that is not committed is free": async () => ({
    script: [
      ["A", begin],
      ["A", deposit({ slot: 1, n: 0, record: { refId: "one" } })],
      ["B", deposit({ slot: 2, n: 0, profile: OTHER, record: { refId: "one" } })],
      ["A", END],
    ],
    got: ["A got []", "A got []", "B waits", "B got []"],
  }),
  "an output of a transaction is deposited once": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0, record: { refId: "one", cryptoTxHash: "0xabc" } })],
      ["B", deposit({ slot: 2, n: 0, profile: OTHER, record: { refId: "two", cryptoTxHash: "abc" } })],
      ["B", deposit({ slot: 2, n: 0, profile: OTHER, record: { refId: "two", cryptoTxHash: "0xdef" } })],
    ],
    got: ["A got []", "B got 23505 chain_transaction_already_deposited", "B got []"],
  }),
  "who voids a number waits for the batch that has it, and does not get it": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", begin],
      ["A", deposit({ slot: 1, n: 1, had: 1 })],
      ["B", await voiding(1, 1)],
      ["A", commit],
    ],
    got: ["A got []", "A got []", "A got []", "B waits", "A got [command=COMMIT]", "B got []"],
  }),
  "who voids a number gets it from a batch that is not committed, which can never commit": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", begin],
      ["A", deposit({ slot: 1, n: 1, had: 1 })],
      ["B", await voiding(1, 1)],
      ["A", END],
      ["C", deposit({ slot: 1, n: 1, had: 1 })],
    ],
    got: ["A got []", "A got []", "A got []", "B waits", "B got [?column?=1]", "C got 23505 batch_pkey"],
  }),
  "a batch, or a void one, without its predecessor is rejected": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", deposit({ slot: 1, n: 2, had: 1, slotHad: 1 })],
      ["A", deposit({ slot: 1, n: 1, had: 1, previous: hashOf(7, 7) })],
      ["A", await voiding(1, 2)],
    ],
    got: ["A got []", ...Array<string>(3).fill("A got 23514 chain_broken")],
  }),
  "a late batch is rejected; of several reasons the first by name is given": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0, times: { deadline: (NOW - 1) as Instant } })],
      ["A", deposit({ slot: 1, n: 3, had: 2, times: { deadline: (NOW - 1) as Instant } })],
      ["A", deposit({ slot: 1, n: 0, had: 2, slotHad: 0, times: { deadline: (NOW - 1) as Instant } })],
    ],
    got: ["A got 23514 too_late", "A got 23514 chain_broken", "A got 23514 rows_changed_meanwhile"],
  }),
  "a batch that was decided by a clock that is ahead is rejected, and before one that is late": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0, times: { notBefore: (NOW + 60_000) as Instant } })],
      ["A", deposit({ slot: 1, n: 0, times: { notBefore: (NOW + 60_000) as Instant, deadline: NOW } })],
      ["A", deposit({ slot: 1, n: 0 })],
    ],
    got: ["A got 23514 clock_ahead", "A got 23514 clock_ahead", "A got []"],
  }),
  "after a failure a transaction takes nothing but its end": async () => ({
    script: [
      ["A", begin],
      ["A", deposit({ slot: 1, n: 3 })],
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", commit],
      ["A", deposit({ slot: 1, n: 0 })],
    ],
    got: ["A got []", "A got 23514 chain_broken", "A got 25P02", "A got [command=ROLLBACK]", "A got []"],
  }),
  "who locks a row that is being changed reads what it has become": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", begin],
      ["A", deposit({ slot: 1, n: 1, had: 1 })],
      ["B", begin],
      ["B", await lockRows()],
      ["A", commit],
      ["B", commit],
    ],
    got: [
      ...["A got []", "A got []", "A got []", "B got []", "B waits", "A got [command=COMMIT]"],
      `B got [${ofAccount(PROFILE, 2)}]`,
      "B got [command=COMMIT]",
    ],
  }),
  "rows that another transaction holds are left out by who skips them": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", deposit({ slot: 1, n: 1, profile: OTHER })],
      ["A", begin],
      ["A", deposit({ slot: 1, n: 2, had: 1 })],
      ["B", await lockRows("for update skip locked")],
      ["A", commit],
      ["B", await lockRows("for update skip locked")],
    ],
    got: [
      ...["A got []", "A got []", "A got []", "A got []"],
      `B got [${ofAccount(OTHER, 1)}]`,
      "A got [command=COMMIT]",
      `B got [${ofAccount(PROFILE, 2)}; ${ofAccount(OTHER, 1)}]`,
    ],
  }),
  "a lease is one holder's until it ends": async () => ({
    script: [
      ["A", await lease("a", 1_000)],
      ["B", await lease("b", 1_000)],
      ["A", await lease("a", 1_000)],
      ["A", await firstOf((database) => renewLease(database, heldBy(1n), 1_000))],
      ["A", await firstOf((database) => renewLease(database, heldBy(2n), -1_000))],
      ["B", await lease("b", 1_000)],
      ["A", await firstOf((database) => releaseLease(database, heldBy(2n)))],
      ["A", await lease("a", 1_000)],
    ],
    got: [
      ...["A got [fence=1]", "B got []", "A got [fence=2]", "A got []", "A got [?column?=1]"],
      ...["B got [fence=3]", "A got []", "A got []"],
    ],
  }),
  "of two who take a lease at once, one gets it": async () => ({
    script: [
      ["A", begin],
      ["A", await lease("a", 1_000)],
      ["B", await lease("b", 1_000)],
      ["A", commit],
    ],
    got: ["A got []", "A got [fence=1]", "B waits", "A got [command=COMMIT]", "B got []"],
  }),
};
