/**
 * Rules of conversions. Minting, redeeming and converting are at par and free: source and target move by the same
 * number, within the smaller precision of the two assets.
 */
import type { CustomerId } from "../customers/customer-id.ts";
import {
  activeProfile,
  type Profile,
  type ProfileNotFound,
  profileNotFound,
  profileTable,
} from "../customers/profiles/profiles.ts";
import {
  accountKey,
  type Entry,
  entry,
  holdEntries,
  journal,
  type ProfileId,
  releaseEntries,
} from "../ledger/accounts.ts";
import { accept, type Decision, type Rejection, type State } from "../ledger/decision.ts";
import { issuanceEntries, issuanceKeys } from "../ledger/external-transfer-entries.ts";
import {
  availableOf,
  type BalanceTooLarge,
  checkFunds,
  checkPrecision,
  checkRoom,
  type ExceedPrecision,
  type InsufficientFunds,
  type RequestedAmount,
} from "../ledger/rejections.ts";
import { change, type Key, type StateChange } from "../ledger/tables.ts";
import { negative } from "../money/amount.ts";
import { type Asset, type AssetCode, USD } from "../money/asset.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import { instantOf, siblingId } from "../std/id.ts";
import { reject } from "../std/result.ts";
import { type Conversion, type ConversionId, conversionTable } from "./conversion.ts";

/** There is no conversion between these assets. */
export interface UnknownPair extends Rejection {
  readonly code: "unknown_pair";
  readonly sourceAsset: string;
  readonly targetAsset: string;
  readonly stablecoins: readonly AssetCode[];
}

export interface ConversionNotFound extends Rejection {
  readonly code: "conversion_not_found";
  readonly conversionId: ConversionId;
}

/** Another node, or a cancellation, was first. Only settlement meets it, never a caller. */
export interface ConversionNotSettleable extends Rejection {
  readonly code: "conversion_not_settleable";
  readonly status: Conversion["status"];
}

export interface ConversionNotCancellable extends Rejection {
  readonly code: "conversion_not_cancellable";
  readonly status: Conversion["status"];
}

export type ConversionRejection = ProfileNotFound | UnknownPair | ExceedPrecision | InsufficientFunds | BalanceTooLarge;

export interface ConversionRequest {
  readonly customerId: CustomerId;
  readonly profileId: ProfileId;
  readonly amount: RequestedAmount;
  readonly sourceAsset: string;
  readonly targetAsset: string;
  readonly recipientProfileId?: ProfileId | undefined;
  readonly refId?: string | undefined;
  readonly annotations?: Conversion["annotations"] | undefined;
}

/** The assets of a possible conversion: each stablecoin against USD and against every other. */
export interface Pair {
  readonly source: Asset;
  readonly target: Asset;
}

export function pairOf(source: Asset | undefined, target: Asset | undefined): Pair | undefined {
  if (source === undefined || target === undefined || source.code === target.code) return undefined;
  const isMoney = (asset: Asset): boolean => asset.code === USD || asset.kind === "stablecoin";
  return isMoney(source) && isMoney(target) ? { source, target } : undefined;
}

export function decideConversion(
  request: ConversionRequest,
  id: ConversionId,
  pair: Pair | undefined,
  stablecoins: readonly AssetCode[],
  state: State,
): Decision<Conversion, ConversionRejection> {
  const { customerId, profileId, sourceAsset, targetAsset } = request;
  const profile = activeProfile(state, profileId, customerId);
  if (profile === undefined) return reject(profileNotFound(profileId));
  const recipientId = request.recipientProfileId ?? profileId;
  const recipient = activeProfile(state, recipientId, customerId);
  if (recipient === undefined) return reject(profileNotFound(recipientId));
  if (pair === undefined) return reject({ code: "unknown_pair", sourceAsset, targetAsset, stablecoins });
  const coarser = pair.target.precision < pair.source.precision ? pair.target : pair.source;
  const exact = checkPrecision(request.amount, coarser, availableOf(state, profileId, pair.source.code));
  if (exact.kind === "rejected") return exact;
  const amount = exact.value;
  const funds = checkFunds(state, profileId, pair.source.code, amount);
  if (funds.kind === "rejected") return funds;
  const room = checkRoom(state, recipientId, pair.target.code, amount);
  if (room.kind === "rejected") return room;

  // From here the conversion must be created.
  const createdAt = instantOf(id);
  const conversion: Conversion = {
    id,
    profileId,
    customerId,
    sourceAsset: pair.source.code,
    targetAsset: pair.target.code,
    amount,
    recipientProfileId: request.recipientProfileId,
    refId: request.refId,
    annotations: request.annotations ?? {},
    status: "CREATED",
    createdAt,
    updatedAt: createdAt,
    settledAt: undefined,
    cancelledAt: undefined,
    version: 0n,
  };
  return accept(conversion, {
    states: [change(conversionTable, conversion), ...countIncoming(recipient, conversion, 1)],
    journals: [journal(id, "conversion_created", holdEntries(profileId, pair.source.code, amount))],
  });
}

/** @param key of the conversion's row */
export function decideSettlement(
  key: Key,
  id: ConversionId,
  state: State,
  now: Instant,
): Decision<Conversion, ConversionNotFound | ConversionNotSettleable> {
  const conversion = state.get(conversionTable, key.key);
  if (conversion === undefined) return reject({ code: "conversion_not_found", conversionId: id });
  if (conversion.status !== "CREATED") return reject({ code: "conversion_not_settleable", status: conversion.status });
  const at = Math.max(now, conversion.createdAt) as Instant;
  const settled: Conversion = { ...conversion, status: "SETTLED", updatedAt: at, settledAt: at };
  return accept(settled, {
    states: [change(conversionTable, settled), ...releaseIncoming(conversion, state)],
    journals: [journal(siblingId(id), "conversion_settled", settlementEntries(conversion))],
  });
}

export function decideCancel(
  key: Key,
  id: ConversionId,
  state: State,
  now: Instant,
): Decision<Conversion, ConversionNotFound | ConversionNotCancellable> {
  const conversion = state.get(conversionTable, key.key);
  if (conversion === undefined) return reject({ code: "conversion_not_found", conversionId: id });
  if (conversion.status !== "CREATED") return reject({ code: "conversion_not_cancellable", status: conversion.status });
  const at = Math.max(now, conversion.createdAt) as Instant;
  const { profileId, sourceAsset, amount } = conversion;
  const cancelled: Conversion = { ...conversion, status: "CANCELLED", updatedAt: at, cancelledAt: at };
  return accept(cancelled, {
    states: [change(conversionTable, cancelled), ...releaseIncoming(conversion, state)],
    journals: [journal(siblingId(id), "conversion_cancelled", releaseEntries(profileId, sourceAsset, amount))],
  });
}

/**
 * A stablecoin source is burnt and its USD leave its reserve; a stablecoin target is issued against USD that enter its
 * reserve. So a conversion of one coin into another moves USD from reserve to reserve.
 */
function settlementEntries({ profileId, recipientProfileId, sourceAsset, targetAsset, amount }: Conversion): Entry[] {
  return [
    entry(profileId, sourceAsset, negative(amount), "pending"),
    entry(recipientProfileId ?? profileId, targetAsset, amount),
    ...(sourceAsset === USD ? [] : issuanceEntries(sourceAsset, negative(amount))),
    ...(targetAsset === USD ? [] : issuanceEntries(targetAsset, amount)),
  ];
}

/** The rows that closing a conversion depends on, besides its own. */
export function closingKeys({ profileId, recipientProfileId, sourceAsset, targetAsset }: Conversion): Key[] {
  const recipient = recipientProfileId ?? profileId;
  const coins = [sourceAsset, targetAsset].filter((asset) => asset !== USD);
  return [accountKey(profileId, sourceAsset), accountKey(recipient, targetAsset), ...coins.flatMap(issuanceKeys)];
}

/** Counts conversions that will pay into another profile, so that it cannot be deactivated before. */
function countIncoming(recipient: Profile, { profileId }: Conversion, step: 1 | -1): StateChange[] {
  if (recipient.id === profileId) return [];
  return [change(profileTable, { ...recipient, incomingCount: recipient.incomingCount + step })];
}

function releaseIncoming(conversion: Conversion, state: State): StateChange[] {
  const { recipientProfileId, profileId } = conversion;
  if (recipientProfileId === undefined || recipientProfileId === profileId) return [];
  const recipient = must(state.get(profileTable, recipientProfileId), "a recipient exists while conversions name it");
  return countIncoming(recipient, conversion, -1);
}
