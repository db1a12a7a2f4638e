/** The next step of a deposit or a withdrawal; which may follow which is tested in test/ledger/external-transfers.test.ts. */
import { expect, test } from "vitest";
import { accountRow, profileOf, profileRow, type Row, stateOf } from "../../test/support/states.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { amountOf } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import {
  type ExternalTransfer,
  externalTransferKey,
  externalTransferTable,
  requestedTransfer,
  statusesAfter,
} from "./external-transfer.ts";
import { decideStep, type Step } from "./steps.ts";
import type { Transfer } from "./transfer.ts";

const acme = "0190d5a4-7e1b-7c3d-8a2f-000000000001" as CustomerId;
const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00" as Uuid;
const REQUESTED_AT = 5_000 as Instant;
const USD: Asset = { code: "USD" as AssetCode, kind: "fiat", precision: 2 };
const profile = profileOf(acme);
const TRANSFER = { id: ID, customerId: acme, asset: USD.code, amount: amountOf("10"), createdAt: REQUESTED_AT };
const DEPOSIT = {
  ...TRANSFER,
  type: "WIRE_DEPOSIT",
  toProfileId: profile.id,
  toCustomerId: acme,
} as unknown as Transfer;
const WITHDRAWAL = { ...TRANSFER, type: "WIRE_WITHDRAWAL", fromProfileId: profile.id } as unknown as Transfer;

const REQUESTED: ExternalTransfer = { ...requestedTransfer(acme, ID, REQUESTED_AT), version: 1n };

function decide(transfer: Transfer, step: Step, now: number, ...rows: readonly Row[]) {
  return decideAfter(REQUESTED, transfer, step, now, ...rows);
}

function decideAfter(steps: ExternalTransfer, transfer: Transfer, step: Step, now: number, ...rows: readonly Row[]) {
  const row: Row = [externalTransferTable, externalTransferKey(acme, ID).key, steps];
  return decideStep(transfer, USD, step, stateOf(row, profileRow(profile), ...rows), now as Instant);
}

test("a deposit is completed if its profile has room for it, and may fail without", () => {
  // A balance stays below 10^29.
  const full = accountRow(profile, "USD", { available: "1", pending: "99999999999999999999999999989" });
  expect(decide(DEPOSIT, { to: "completed" }, 6_000, full)).toEqual({
    kind: "rejected",
    rejection: { code: "balance_too_large", profileId: profile.id, asset: "USD" },
  });
  expect(decide(DEPOSIT, { to: "failed", reason: "no room" }, 6_000, full)).toMatchObject({ kind: "done" });
  const nearly = accountRow(profile, "USD", { available: "1", pending: "99999999999999999999999999988.99" });
  expect(decide(DEPOSIT, { to: "completed" }, 6_000, nearly)).toMatchObject({ kind: "done" });
});

test.each([
  [6_000, 6_000],
  // By the clock of another node, which is behind.
  [4_000, 5_000],
])("a step at %d has the time %d: none is before the one that it follows", (now, updatedAt) => {
  const decision = decide(WITHDRAWAL, { to: "approved" }, now);
  expect(decision).toMatchObject({ kind: "done", changes: { states: [{ row: { status: "approved", updatedAt } }] } });
});

test.each([
  ["named again replaces the one before, with its output", { cryptoTxHash: "b" }, "b", undefined],
  ["may name another output", { cryptoTxHash: "b", cryptoTxIndex: "2" }, "b", "2"],
  ["that is not named again stays", {}, "a", "1"],
])("the transaction of a withdrawal %s", (_name, named, cryptoTxHash, cryptoTxIndex) => {
  const sent: ExternalTransfer = { ...REQUESTED, status: "sent", cryptoTxHash: "a", cryptoTxIndex: "1" };
  const withdrawal = { ...WITHDRAWAL, type: "CRYPTO_WITHDRAWAL", cryptoNetwork: "SOLANA" } as Transfer;
  const decision = decideAfter(sent, withdrawal, { to: "completed", ...named }, 6_000);
  expect(decision).toMatchObject({ kind: "done", value: { steps: { cryptoTxHash, cryptoTxIndex } } });
});

/** docs/withdrawals.md: run again, a step that was taken changes nothing. */
test("a step is a repeated one only if it names the same transaction", () => {
  const sent: ExternalTransfer = { ...REQUESTED, status: "sent", cryptoTxHash: "ab", cryptoTxIndex: "1" };
  const withdrawal = { ...WITHDRAWAL, type: "CRYPTO_WITHDRAWAL", cryptoNetwork: "BITCOIN" } as Transfer;
  const again = (named: object) => decideAfter(sent, withdrawal, { to: "sent", ...named }, 6_000);
  // As bitcoin writes them: digits in lower case without 0x.
  for (const named of [{}, { cryptoTxHash: "ab", cryptoTxIndex: "1" }, { cryptoTxHash: "0xAB", cryptoTxIndex: "01" }])
    expect(again(named)).toMatchObject({ kind: "done", value: { steps: sent }, changes: {} });
  const rejection = { code: "step_not_allowed", id: ID, status: "sent", to: "sent" };
  for (const named of [
    { cryptoTxHash: "ac", cryptoTxIndex: "1" },
    { cryptoTxHash: "ab", cryptoTxIndex: "2" },
  ])
    expect(again(named)).toEqual({ kind: "rejected", rejection });
});

/** The diagram of docs/withdrawals.md, from its beginning. */
test("after so many steps a withdrawal or a deposit is where its diagram leads, and nowhere after more", () => {
  const reached = (isWithdrawal: boolean) =>
    [0n, 1n, 2n, 3n, 4n, 5n, 2n ** 62n].map((steps) => statusesAfter(isWithdrawal, steps).toSorted());
  expect(reached(true)).toEqual([
    [],
    ["requested"],
    ["approved", "cancelled"],
    ["cancelled", "sent"],
    ["completed", "failed"],
    [],
    [],
  ]);
  expect(reached(false)).toEqual([[], ["requested"], ["completed", "failed"], [], [], [], []]);
});
