/** Rules of transfers. The order of the checks is part of the interface: profiles, then asset, then amount. */
import type { CustomerId } from "../customers/customer-id.ts";
import { activeProfile, type ProfileNotFound, profileNotFound, profileTable } from "../customers/profiles/profiles.ts";
import { entry, journal, type ProfileId } from "../ledger/accounts.ts";
import { accept, type Decision, reject, type State } from "../ledger/decision.ts";
import { depositEntries, withdrawalEntries } from "../ledger/external-transfers.ts";
import {
  type BalanceTooLarge,
  checkFunds,
  checkPrecision,
  checkRoom,
  type ExceedPrecision,
  type InsufficientFunds,
  type RequestedAmount,
  type UnknownAsset,
} from "../ledger/rejections.ts";
import { addition, change } from "../ledger/rows.ts";
import { type Amount, negative, ZERO } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";
import type { Instant } from "../std/clock.ts";
import { instantOf, siblingId, type Uuid } from "../std/id.ts";
import { type ExternalTransferDetails, type Transfer, type TransferType, transferTable } from "./store.ts";

export type TransferRejection = ProfileNotFound | UnknownAsset | ExceedPrecision | BalanceTooLarge | InsufficientFunds;

export type Metadata = Readonly<Record<string, string>>;

/** One side of a transfer, as its own customer sees it. */
export interface TransferSide {
  readonly profileId: ProfileId;
  readonly metadata?: Metadata | undefined;
  readonly identityId?: string | undefined;
  readonly accountId?: string | undefined;
}

export interface TransferRequest {
  readonly customerId: CustomerId;
  /** Internal: both profiles are the customer's. Platform: the receiving profile may be another customer's. */
  readonly kind: "internal" | "platform";
  readonly from: TransferSide;
  readonly to: TransferSide;
  readonly amount: RequestedAmount;
  readonly asset: string;
  readonly refId?: string | undefined;
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
): Decision<Transfer, TransferRejection> {
  const { from, to, customerId, kind } = request;
  const sender = activeProfile(state, from.profileId, customerId);
  if (sender === undefined) return reject(profileNotFound(from.profileId));
  const receiver = activeProfile(state, to.profileId, kind === "internal" ? customerId : undefined);
  if (receiver === undefined) return reject(profileNotFound(to.profileId));
  if (asset === undefined) return reject({ code: "unknown_asset", field: "asset", asset: request.asset });
  const amount = checkPrecision(request.amount, asset);
  if (typeof amount === "object") return reject(amount);
  const short = checkFunds(state, from.profileId, asset.code, amount);
  if (short !== undefined) return reject(short);
  const full = checkRoom(state, to.profileId, asset.code, amount);
  if (full !== undefined) return reject(full);

  // From here the transfer must succeed.
  const { debit, credit } = records(request, { id, asset, amount, receiver: receiver.customerId });
  const entries = [entry(from.profileId, asset.code, negative(amount)), entry(to.profileId, asset.code, amount)];
  return accept(debit, {
    journals: [journal(id, "transfer", entries)],
    records: [addition(transferTable, debit), addition(transferTable, credit)],
  });
}

function records(
  { kind, customerId, from, to, refId }: TransferRequest,
  { id, asset, amount, receiver }: { id: Uuid; asset: Asset; amount: Amount; receiver: CustomerId },
): { debit: Transfer; credit: Transfer } {
  const word = kind === "internal" ? "INTERNAL" : "PLATFORM";
  const createdAt = instantOf(id);
  // Field by field: a spread costs as much as the rest of the rule.
  return {
    debit: {
      id,
      profileId: from.profileId,
      customerId,
      type: `${word}_TRANSFER_DEBIT`,
      direction: "DEBIT",
      asset: asset.code,
      amount,
      fee: ZERO,
      refId,
      identityId: from.identityId,
      accountId: from.accountId,
      metadata: from.metadata,
      createdAt,
    },
    credit: {
      id: siblingId(id),
      profileId: to.profileId,
      customerId: receiver,
      type: `${word}_TRANSFER_CREDIT`,
      direction: "CREDIT",
      asset: asset.code,
      amount,
      fee: ZERO,
      refId: undefined,
      identityId: to.identityId,
      accountId: to.accountId,
      metadata: to.metadata,
      createdAt,
    },
  };
}

/** A deposit or withdrawal. */
export interface ExternalTransferRequest {
  readonly customerId: CustomerId;
  readonly profileId: ProfileId;
  readonly amount: RequestedAmount;
  readonly asset: string;
  readonly direction: "CREDIT" | "DEBIT";
  readonly type: TransferType;
  /** Addresses, hashes, the operator's memo. */
  readonly details: ExternalTransferDetails;
  readonly refId?: string | undefined;
  /** An opening balance: at most one per profile and asset. Has no ref_id. */
  readonly opening?: true;
}

/** A deposit reactivates an inactive profile; a withdrawal needs an active one. */
export function decideExternalTransfer(
  request: ExternalTransferRequest,
  id: Uuid,
  asset: Asset | undefined,
  state: State,
  now: Instant,
): Decision<Transfer, TransferRejection> {
  const { profileId, customerId, direction } = request;
  const profile = state.get(profileTable, profileId);
  const usable = profile?.customerId === customerId && (direction === "CREDIT" || profile.status === "ACTIVE");
  if (profile === undefined || !usable) return reject(profileNotFound(profileId));
  if (asset === undefined) return reject({ code: "unknown_asset", field: "asset", asset: request.asset });
  const amount = checkPrecision(request.amount, asset);
  if (typeof amount === "object") return reject(amount);
  const check = direction === "CREDIT" ? checkRoom : checkFunds;
  const rejection = check(state, profileId, asset.code, amount);
  if (rejection !== undefined) return reject(rejection);

  // From here the deposit or withdrawal must succeed.
  const transfer: Transfer = {
    id,
    profileId,
    customerId,
    direction,
    type: request.type,
    asset: asset.code,
    amount,
    fee: ZERO,
    refId: request.refId,
    identityId: undefined,
    accountId: undefined,
    metadata: undefined,
    createdAt: instantOf(id),
    ...request.details,
  };
  const [cause, entries] =
    direction === "CREDIT"
      ? (["deposit", depositEntries(profileId, asset, amount)] as const)
      : (["withdrawal", withdrawalEntries(profileId, asset, amount)] as const);
  const updatedAt = Math.max(now, profile.updatedAt) as Instant;
  const back = profile.status === "ACTIVE" ? [] : [{ ...profile, status: "ACTIVE" as const, updatedAt }];
  return accept(transfer, {
    journals: [journal(id, cause, entries)],
    records: [addition(transferTable, transfer)],
    states: back.map((row) => change(profileTable, row)),
  });
}
