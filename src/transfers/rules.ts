/** Rules of transfers. The order of the checks is part of the interface: profiles, then asset, then amount. */
import type { CustomerId } from "../customers/customer-id.ts";
import {
  activeProfile,
  activeProfileKey,
  type ProfileNotFound,
  profileNotFound,
  profileTable,
} from "../customers/profiles/profiles.ts";
import { accountKey, entry, holdEntries, journal, type ProfileId } from "../ledger/accounts.ts";
import type { Annotations } from "../ledger/annotations.ts";
import { accept, type Changes, type Decision, type State } from "../ledger/decision.ts";
import { depositEntries, withdrawalEntries } from "../ledger/external-transfer-entries.ts";
import {
  availableOf,
  type BalanceTooLarge,
  checkFunds,
  checkPrecision,
  checkRoom,
  type ExceedPrecision,
  type InsufficientFunds,
  type RequestedAmount,
  type UnknownAsset,
} from "../ledger/rejections.ts";
import { addition, change, type Key } from "../ledger/tables.ts";
import { type Amount, negative } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";
import type { Instant } from "../std/clock.ts";
import { instantOf, type Uuid } from "../std/id.ts";
import { reject } from "../std/result.ts";
import { type ExternalTransfer, externalTransferTable, requestedTransfer } from "./external-transfer.ts";
import { reactivation } from "./steps.ts";
import {
  creditOf,
  type Direction,
  debitOf,
  type ExternalTransferDetails,
  type ExternalTransferType,
  type MoveKind,
  type TRANSFER_ANNOTATIONS,
  type Transfer,
  type TransferRecord,
  TYPE_OF_KIND,
  transferTable,
} from "./transfer.ts";

export type DepositRejection = ProfileNotFound | UnknownAsset | ExceedPrecision | BalanceTooLarge;
type WithdrawalRejection = ProfileNotFound | UnknownAsset | ExceedPrecision | InsufficientFunds;
export type TransferRejection = DepositRejection | WithdrawalRejection;

/** One side of a transfer, as its own customer sees it. */
export interface TransferSide {
  readonly profileId: ProfileId;
  readonly annotations?: Annotations<typeof TRANSFER_ANNOTATIONS> | undefined;
}

export interface TransferRequest {
  readonly customerId: CustomerId;
  readonly kind: MoveKind;
  readonly from: TransferSide;
  readonly to: TransferSide;
  readonly amount: RequestedAmount;
  readonly asset: string;
  readonly refId?: string | undefined;
}

const NONE: Annotations<typeof TRANSFER_ANNOTATIONS> = {};

/**
 * The rows that `decideTransfer` reads.
 * @param asset undefined if the requested asset does not exist
 */
export function transferKeys({ from, to }: TransferRequest, asset: Asset | undefined): Key[] {
  const keys = [activeProfileKey(from.profileId), activeProfileKey(to.profileId)];
  if (asset !== undefined) keys.push(accountKey(from.profileId, asset.code), accountKey(to.profileId, asset.code));
  return keys;
}

/**
 * Decides whether a transfer is posted.
 * @param id even; the id of the debit record, the group and the journal
 * @param asset undefined if the requested asset does not exist
 */
export function decideTransfer(
  request: TransferRequest,
  id: Uuid,
  asset: Asset | undefined,
  state: State,
): Decision<TransferRecord, TransferRejection> {
  const { from, to, customerId, kind } = request;
  const sender = activeProfile(state, from.profileId, customerId);
  if (sender === undefined) return reject(profileNotFound(from.profileId));
  const receiver = activeProfile(state, to.profileId, kind === "internal" ? customerId : undefined);
  if (receiver === undefined) return reject(profileNotFound(to.profileId));
  if (asset === undefined) return reject({ code: "unknown_asset", field: "asset", asset: request.asset });
  const exact = checkPrecision(request.amount, asset, availableOf(state, from.profileId, asset.code));
  if (exact.kind === "rejected") return exact;
  const amount = exact.value;
  const funds = checkFunds(state, from.profileId, asset.code, amount);
  if (funds.kind === "rejected") return funds;
  const room = checkRoom(state, to.profileId, asset.code, amount);
  if (room.kind === "rejected") return room;

  // From here the transfer must succeed.
  const transfer: Transfer = {
    // Field by field: a spread costs as much as the rest of the rule.
    id,
    customerId,
    type: TYPE_OF_KIND[kind],
    hasSteps: undefined,
    fromProfileId: from.profileId,
    fromAnnotations: from.annotations ?? NONE,
    toProfileId: to.profileId,
    toCustomerId: receiver.customerId,
    toAnnotations: to.annotations ?? NONE,
    asset: asset.code,
    amount,
    refId: request.refId,
    createdAt: instantOf(id),
  };
  const entries = [entry(from.profileId, asset.code, negative(amount)), entry(to.profileId, asset.code, amount)];
  return accept(debitOf(transfer), {
    journals: [journal(id, "transfer", entries)],
    records: [addition(transferTable, transfer)],
  });
}

/** A deposit or withdrawal. */
export interface ExternalTransferRequest {
  readonly customerId: CustomerId;
  readonly profileId: ProfileId;
  readonly amount: RequestedAmount;
  readonly asset: string;
  readonly direction: Direction;
  readonly type: ExternalTransferType;
  /** Addresses, hashes, the operator's memo. */
  readonly details: ExternalTransferDetails;
  readonly refId?: string | undefined;
  /** An opening balance: at most one per profile and asset. Has no ref_id. */
  readonly opening?: true;
  /** It is only requested, and completes, fails or is cancelled by later steps. */
  readonly hasSteps?: true;
}

/** A deposit that needs no replay protection. */
export type Deposit = Omit<ExternalTransferRequest, "direction" | "refId" | "opening" | "hasSteps">;

export function decideExternalTransfer(
  request: ExternalTransferRequest,
  id: Uuid,
  asset: Asset | undefined,
  state: State,
  now: Instant,
): Decision<TransferRecord, TransferRejection> {
  return request.direction === "CREDIT"
    ? decideDeposit(request, id, asset, state, now)
    : decideWithdrawal(request, id, asset, state);
}

/** Reactivates an inactive profile, if it completes at once. */
export function decideDeposit(
  request: ExternalTransferRequest,
  id: Uuid,
  asset: Asset | undefined,
  state: State,
  now: Instant,
): Decision<TransferRecord, DepositRejection> {
  const { profileId, customerId } = request;
  const profile = state.get(profileTable, profileId);
  if (profile?.customerId !== customerId) return reject(profileNotFound(profileId));
  if (asset === undefined) return reject({ code: "unknown_asset", field: "asset", asset: request.asset });
  const exact = checkPrecision(request.amount, asset);
  if (exact.kind === "rejected") return exact;
  const amount = exact.value;
  const transfer = externalTransfer(request, id, asset, amount);
  if (request.hasSteps === true) {
    const steps = requestedTransfer(customerId, id, transfer.createdAt);
    return accept(creditOf(transfer, steps), requestOf(transfer, steps));
  }
  const room = checkRoom(state, profileId, asset.code, amount);
  if (room.kind === "rejected") return room;

  // From here the deposit must succeed.
  return accept(creditOf(transfer), {
    journals: [journal(id, "deposit", depositEntries(profileId, asset, amount))],
    records: [addition(transferTable, transfer)],
    states: reactivation(profile, now),
  });
}

/** Needs an active profile. */
function decideWithdrawal(
  request: ExternalTransferRequest,
  id: Uuid,
  asset: Asset | undefined,
  state: State,
): Decision<TransferRecord, WithdrawalRejection> {
  const { profileId, customerId } = request;
  if (activeProfile(state, profileId, customerId) === undefined) return reject(profileNotFound(profileId));
  if (asset === undefined) return reject({ code: "unknown_asset", field: "asset", asset: request.asset });
  const exact = checkPrecision(request.amount, asset, availableOf(state, profileId, asset.code));
  if (exact.kind === "rejected") return exact;
  const amount = exact.value;
  const funds = checkFunds(state, profileId, asset.code, amount);
  if (funds.kind === "rejected") return funds;

  // From here the withdrawal must succeed.
  const transfer = externalTransfer(request, id, asset, amount);
  if (request.hasSteps === true) {
    const steps = requestedTransfer(customerId, id, transfer.createdAt);
    const held = journal(id, "withdrawal_held", holdEntries(profileId, asset.code, amount));
    return accept(debitOf(transfer, steps), { ...requestOf(transfer, steps), journals: [held] });
  }
  return accept(debitOf(transfer), {
    journals: [journal(id, "withdrawal", withdrawalEntries(profileId, asset, amount))],
    records: [addition(transferTable, transfer)],
  });
}

function requestOf(transfer: Transfer, steps: ExternalTransfer): Changes {
  return { records: [addition(transferTable, transfer)], states: [change(externalTransferTable, steps)] };
}

function externalTransfer(
  request: ExternalTransferRequest,
  id: Uuid,
  { code: asset }: Asset,
  amount: Amount,
): Transfer {
  const { profileId, customerId, direction, type, refId, details, hasSteps } = request;
  const isDeposit = direction === "CREDIT";
  return {
    id,
    customerId,
    type,
    hasSteps,
    fromProfileId: isDeposit ? undefined : profileId,
    fromAnnotations: NONE,
    toProfileId: isDeposit ? profileId : undefined,
    toCustomerId: isDeposit ? customerId : undefined,
    toAnnotations: NONE,
    asset,
    amount,
    refId,
    createdAt: instantOf(id),
    ...details,
  };
}
