/** Rules of the steps that a deposit or a withdrawal takes after it was requested. */
import { activeProfileKey, type Profile, profileTable } from "../customers/profiles/profiles.ts";
import { type Journal, journal, type ProfileId, releaseEntries } from "../ledger/accounts.ts";
import { accept, type Changes, type Decision, type Rejection, type State } from "../ledger/decision.ts";
import { depositEntries, externalTransferKeys, withdrawalEntries } from "../ledger/external-transfer-entries.ts";
import { type BalanceTooLarge, checkRoom } from "../ledger/rejections.ts";
import { change, type Key, type StateChange } from "../ledger/tables.ts";
import type { Asset } from "../money/asset.ts";
import { assert, must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import { siblingId, type Uuid } from "../std/id.ts";
import { reject } from "../std/result.ts";
import {
  type ExternalTransfer,
  type ExternalTransferStatus,
  externalTransferKey,
  externalTransferTable,
  mayFollow,
} from "./external-transfer.ts";
import { canonicalTransaction, creditOf, debitOf, type Transfer, type TransferRecord } from "./transfer.ts";

/** The transaction of a chain is of withdrawals only, and may be learned when it is sent or when it has arrived. */
export type Step =
  | { readonly to: "approved" }
  | { readonly to: "sent" | "completed"; readonly cryptoTxHash?: string; readonly cryptoTxIndex?: string }
  | { readonly to: "failed" | "cancelled"; readonly reason: string };

/** There is no such deposit or withdrawal, or it was complete when it was recorded. */
export interface NoSteps extends Rejection {
  readonly code: "no_steps";
  readonly id: Uuid;
}

/** It is not in a status from which it can take this step, or took it with other details. */
export interface StepNotAllowed extends Rejection {
  readonly code: "step_not_allowed";
  readonly id: Uuid;
  readonly status: ExternalTransferStatus;
  readonly to: Step["to"];
}

export type StepRejection = NoSteps | StepNotAllowed | BalanceTooLarge;

/**
 * Decides the next step. A repeated one changes nothing.
 * @param transfer whose row never changes, so that it may have been read at any time
 */
export function decideStep(
  transfer: Transfer,
  asset: Asset,
  step: Step,
  state: State,
  now: Instant,
): Decision<TransferRecord, StepRejection> {
  const { id, customerId, fromProfileId, toProfileId, amount } = transfer;
  const isWithdrawal = fromProfileId !== undefined;
  const was = state.get(externalTransferTable, externalTransferKey(customerId, id).key);
  if (was === undefined) return reject({ code: "no_steps", id });
  const updatedAt = Math.max(now, was.updatedAt) as Instant;
  const transaction = transactionIn(step, was, transfer.cryptoNetwork);
  assert(isWithdrawal || transaction.cryptoTxHash === undefined, "the transaction of a deposit is in its transfer");
  const is: ExternalTransfer = { ...was, ...transaction, status: step.to, reason: reasonIn(step), updatedAt };
  if (isSameStep(was, is)) return accept(recordOf(transfer, was), {});
  if (!mayFollow(isWithdrawal, was.status, step.to))
    return reject({ code: "step_not_allowed", id, status: was.status, to: step.to });
  if (step.to === "completed" && toProfileId !== undefined) {
    const room = checkRoom(state, toProfileId, asset.code, amount);
    if (room.kind === "rejected") return room;
  }

  // From here the step must succeed.
  const moved = isWithdrawal
    ? withdrawalMoves(fromProfileId, transfer, asset, step)
    : depositMoves(must(toProfileId, "a deposit has a profile"), transfer, asset, step, state, now);
  const states = [change(externalTransferTable, is), ...(moved.states ?? [])];
  return accept(recordOf(transfer, { ...is, version: was.version + 1n }), { ...moved, states });
}

/** The rows that a step depends on. */
export function stepKeys({ id, customerId, fromProfileId, toProfileId }: Transfer, asset: Asset, step: Step): Key[] {
  const key = externalTransferKey(customerId, id);
  const owner = must(fromProfileId ?? toProfileId, "a transfer has a profile");
  // A profile that has money in `pending` cannot be deactivated, so a withdrawal needs none.
  const profiles = fromProfileId === undefined ? [activeProfileKey(owner)] : [];
  return movesMoney(step) ? [key, ...profiles, ...externalTransferKeys(owner, asset)] : [key];
}

const movesMoney = ({ to }: Step): boolean => to !== "approved" && to !== "sent";

function withdrawalMoves(owner: ProfileId, { id, amount }: Transfer, asset: Asset, step: Step): Changes {
  if (!movesMoney(step)) return {};
  const end = siblingId(id);
  const ended: Journal =
    step.to === "completed"
      ? journal(end, "withdrawal", withdrawalEntries(owner, asset, amount, "pending"))
      : journal(end, "withdrawal_released", releaseEntries(owner, asset.code, amount));
  return { journals: [ended] };
}

function depositMoves(
  owner: ProfileId,
  { id, amount }: Transfer,
  asset: Asset,
  step: Step,
  state: State,
  now: Instant,
): Changes {
  if (step.to !== "completed") return {};
  const profile = must(state.get(profileTable, owner), "the profile of a deposit exists");
  return {
    journals: [journal(siblingId(id), "deposit", depositEntries(owner, asset, amount))],
    states: reactivation(profile, now),
  };
}

/** A deposit makes an inactive profile active. */
export function reactivation(profile: Profile, now: Instant): StateChange[] {
  if (profile.status === "ACTIVE") return [];
  const updatedAt = Math.max(now, profile.updatedAt) as Instant;
  const active: Profile = { ...profile, status: "ACTIVE", updatedAt };
  return [change(profileTable, active)];
}

function isSameStep(was: ExternalTransfer, is: ExternalTransfer): boolean {
  const names = ["status", "reason", "cryptoTxHash", "cryptoTxIndex"] as const;
  return names.every((name) => was[name] === is[name]);
}

const reasonIn = (step: Step): string | undefined => ("reason" in step ? step.reason : undefined);

/** A transaction that is not named again stays. */
function transactionIn(
  step: Step,
  { cryptoTxHash, cryptoTxIndex }: ExternalTransfer,
  network: Transfer["cryptoNetwork"],
): Pick<ExternalTransfer, "cryptoTxHash" | "cryptoTxIndex"> {
  if (!("cryptoTxHash" in step) || step.cryptoTxHash === undefined) return { cryptoTxHash, cryptoTxIndex };
  return { cryptoTxHash: undefined, cryptoTxIndex: undefined, ...canonicalTransaction(network, step) };
}

/** Of a deposit or a withdrawal. */
function recordOf(transfer: Transfer, steps: ExternalTransfer): TransferRecord {
  return transfer.fromProfileId === undefined ? creditOf(transfer, steps) : debitOf(transfer, steps);
}
