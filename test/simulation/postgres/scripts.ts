/**
 * Concurrent sessions, and the results that they must get: the ways in which batches, leases and readers meet. Each script
 * runs on the simulated PostgreSQL and on a real one.
 */
import type { ProfileId } from "../../../src/ledger/accounts.ts";
import { releaseLease, renewLease } from "../../../src/postgres/leases.ts";
import type { Instant } from "../../../src/std/clock.ts";
import { residents } from "../fixtures.ts";
import {
  begin,
  closing,
  commit,
  deposit,
  END,
  firstOf,
  hashOf,
  heldBy,
  lease,
  lockRows,
  NOW,
  OTHER,
  ofAccount,
  PROFILE,
  type Said,
  type Script,
  voiding,
} from "./said.ts";
import { IMPATIENT } from "./two-servers.ts";

interface Expected {
  readonly script: Script;
  readonly got: readonly string[];
}

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
      ["B", await lockRows("skip locked")],
      ["A", commit],
      ["B", await lockRows("skip locked")],
    ],
    got: [
      ...["A got []", "A got []", "A got []", "A got []"],
      `B got [${ofAccount(OTHER, 1)}]`,
      "A got [command=COMMIT]",
      `B got [${ofAccount(PROFILE, 2)}; ${ofAccount(OTHER, 1)}]`,
    ],
  }),
  "rows that others read are not held for who reads them too, but for who changes them": async () => ({
    script: [
      ["A", deposit({ slot: 1, n: 0 })],
      ["A", deposit({ slot: 1, n: 1, profile: OTHER })],
      ["A", begin],
      ["A", await lockRows("locked", { reads: "all of it" })],
      ["B", await lockRows("locked", { reads: "all of it" })],
      ["B", await lockRows("skip locked", { reads: "all of it" })],
      ["B", await lockRows("skip locked")],
      ["B", deposit({ slot: 1, n: 2, had: 1 })],
      ["A", commit],
    ],
    got: [
      ...["A got []", "A got []", "A got []"],
      `A got [${ofAccount(PROFILE, 1)}; ${ofAccount(OTHER, 1)}]`,
      `B got [${ofAccount(PROFILE, 1)}; ${ofAccount(OTHER, 1)}]`,
      `B got [${ofAccount(PROFILE, 1)}; ${ofAccount(OTHER, 1)}]`,
      ...["B got []", "B waits", "A got [command=COMMIT]", "B got []"],
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
