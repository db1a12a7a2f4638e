/**
 * Transfers between profiles, and external transfers (deposits and withdrawals). Each is one command of the lane; its
 * result is durable.
 */
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { activeProfileKey, type Profile, type ProfileNotFound } from "../customers/profiles/profiles.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import type { Claim, Outcome } from "../ledger/decision.ts";
import { externalTransferKeys } from "../ledger/external-transfer-entries.ts";
import type { Key } from "../ledger/tables.ts";
import type { Lane } from "../ledger/writer/lane.ts";
import type { Asset } from "../money/asset.ts";
import type { Database } from "../postgres/database.ts";
import { assert, must } from "../std/assert.ts";
import type { IdSource, Uuid } from "../std/id.ts";
import { reject } from "../std/result.ts";
import { findExisting, moveAll, tryMoves } from "./bulk.ts";
import type { BulkMode, BulkRequest, Existing, ItemOutcome } from "./bulk-rules.ts";
import { deactivateCommand, findInactiveCommand, type ProfileNotEmpty } from "./deactivate-profile.ts";
import { findRecords, type Remembered } from "./record-store.ts";
import {
  type Deposit,
  type DepositRejection,
  decideDeposit,
  decideExternalTransfer,
  decideTransfer,
  type ExternalTransferRequest,
  type TransferRejection,
  type TransferRequest,
  transferKeys,
} from "./rules.ts";
import { decideStep, type Step, type StepRejection, stepKeys } from "./steps.ts";
import { findTransfer, findTransferRow, listTransfers, type TransferFilter } from "./store.ts";
import { canonicalTransaction, chainDepositClaims, refIdClaims, type TransferRecord } from "./transfer.ts";

export type { BulkItem, BulkMode, BulkRequest, ItemOutcome } from "./bulk-rules.ts";
export type { ProfileNotEmpty } from "./deactivate-profile.ts";
export type { ExternalTransferStatus, TransferStatus } from "./external-transfer.ts";
export { STATUSES_OF, TRANSFER_STATUSES } from "./external-transfer.ts";
export { DEFAULT_NETWORK, isOnNetwork, ownNetworkOf } from "./network-forms.ts";
export { notionalValue } from "./notional-value.ts";
export type {
  ExternalTransferRequest,
  TransferRejection,
  TransferRequest,
  TransferSide,
} from "./rules.ts";
export { sandboxTransfer } from "./sandbox-transfer.ts";
export type { Step, StepRejection } from "./steps.ts";
export type { RecordPosition, TransferFilter } from "./store.ts";
export { findTransferOwner, listOpenTransfers } from "./store.ts";
export type { CryptoNetwork, ExternalTransferType, RecordType, TransferRecord, TransferType } from "./transfer.ts";
export { CRYPTO_NETWORKS, isPaired, RECORD_TYPES, TRANSFER_ANNOTATIONS, updatedAtOf } from "./transfer.ts";

export interface Transfers {
  /** @returns the debit record; `exists` with the id of the debit record that already has the ref_id */
  move(request: TransferRequest, caller: Caller): Promise<Outcome<TransferRecord, TransferRejection, Claim>>;
  /** Posts all items in one command, or none. @returns one outcome for each item */
  moveAll(bulk: BulkRequest, caller: Caller): Promise<readonly ItemOutcome[]>;
  /** The earlier transfers to which the ref_ids of the items belong: each item's does. */
  findExisting(bulk: BulkRequest): Promise<readonly Existing[]>;
  /** What `moveAll` would make of the items now, or `move` of each in turn. Saves nothing. */
  tryMoves(bulk: BulkRequest, mode: BulkMode, caller: Caller): Promise<readonly ItemOutcome[]>;
  /** Records a deposit without a ref_id. */
  deposit(request: Deposit, caller: Caller): Promise<Outcome<TransferRecord, DepositRejection>>;
  /** Records a deposit or withdrawal, or requests one that has steps. */
  recordExternal(
    request: ExternalTransferRequest,
    caller: Caller,
  ): Promise<Outcome<TransferRecord, TransferRejection, Claim>>;
  /** Takes the next step of a deposit or withdrawal that was requested. A repeated one changes nothing. */
  step(customerId: CustomerId, id: Uuid, step: Step, caller: Caller): Promise<Outcome<TransferRecord, StepRejection>>;
  /** Moves remainders below the assets' precision to the DEFAULT profile, and deactivates the profile. */
  deactivate(
    customerId: CustomerId,
    profile: ProfileId,
    caller: Caller,
  ): Promise<Outcome<Profile, ProfileNotFound | ProfileNotEmpty>>;
  find(customerId: CustomerId, id: Uuid): Promise<TransferRecord | undefined>;
  list(filter: TransferFilter): Promise<TransferRecord[]>;
  /** The customer's records with these ids, in no order, as they were written: without steps. */
  findRecords(customerId: CustomerId, ids: readonly Uuid[], remembered?: Remembered): Promise<TransferRecord[]>;
}

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly catalogue: Catalogue;
  readonly ids: IdSource;
}

export function createTransfers(parts: Parts): Transfers {
  const { database } = parts;
  return {
    move: (request, caller) => move(parts, request, caller),
    moveAll: (bulk, caller) => moveAll(parts, bulk, caller),
    findExisting: (bulk) => findExisting(parts, bulk),
    tryMoves: (bulk, mode, caller) => tryMoves(parts, bulk, mode, caller),
    deposit: (request, caller) => deposit(parts, request, caller),
    recordExternal: (request, caller) => cross(parts, { ...request, details: canonicalDetails(request) }, caller),
    step: (customerId, id, step, caller) => takeStep(parts, customerId, id, step, caller),
    deactivate: (customerId, profileId, caller) => deactivate(parts, customerId, profileId, caller),
    find: (customerId, id) => findTransfer(database, customerId, id),
    list: (filter) => listTransfers(database, filter),
    findRecords: (customerId, ids, remembered) => findRecords(database, customerId, ids, remembered),
  };
}

async function deactivate(
  parts: Parts,
  customerId: CustomerId,
  profileId: ProfileId,
  caller: Caller,
): Promise<Outcome<Profile, ProfileNotFound | ProfileNotEmpty>> {
  const inactive = await parts.lane.execute(findInactiveCommand(customerId, profileId, caller));
  if (inactive.kind === "done") return inactive;
  const { rejection } = inactive;
  if (rejection.code !== "still_active") return reject(rejection);
  return parts.lane.execute(await deactivateCommand(parts, customerId, profileId, caller));
}

function move(
  { lane, catalogue, ids }: Parts,
  request: TransferRequest,
  caller: Caller,
): Promise<Outcome<TransferRecord, TransferRejection, Claim>> {
  const { customerId } = request;
  const id = ids.next();
  const asset = catalogue.findAsset(request.asset);
  return lane.execute({
    queueKey: customerId,
    caller,
    dependsOn: transferKeys(request, asset),
    claims: refIdClaims(customerId, request.refId, id),
    decide: (state) => decideTransfer(request, id, asset, state),
  });
}

function deposit(
  { lane, catalogue, ids }: Parts,
  request: Deposit,
  caller: Caller,
): Promise<Outcome<TransferRecord, DepositRejection>> {
  const id = ids.next();
  const asset = catalogue.findAsset(request.asset);
  return lane.execute({
    queueKey: request.customerId,
    caller,
    dependsOn: externalKeys(request, asset),
    decide: (state, now) => decideDeposit({ ...request, direction: "CREDIT" }, id, asset, state, now),
  });
}

/** As they are stored. A deposit that names a transaction names the output, too. */
export function canonicalDetails({
  details,
  direction,
}: Pick<ExternalTransferRequest, "details" | "direction">): ExternalTransferRequest["details"] {
  const transaction = canonicalTransaction(details.cryptoNetwork, details);
  // Without it, the same payment could be deposited once more by somebody who names its output.
  const isExact = transaction.cryptoTxHash === undefined || transaction.cryptoTxIndex !== undefined;
  assert(direction === "DEBIT" || isExact, "a deposit names the output of its transaction");
  return { ...details, ...transaction };
}

function cross(
  { lane, catalogue, ids }: Parts,
  request: ExternalTransferRequest,
  caller: Caller,
): Promise<Outcome<TransferRecord, TransferRejection, Claim>> {
  const { customerId } = request;
  const id = ids.next();
  const asset = catalogue.findAsset(request.asset);
  return lane.execute({
    queueKey: customerId,
    caller,
    dependsOn: externalKeys(request, asset),
    claims: externalClaims(request, id),
    decide: (state, now) => decideExternalTransfer(request, id, asset, state, now),
  });
}

async function takeStep(
  { database, lane, catalogue }: Parts,
  customerId: CustomerId,
  id: Uuid,
  step: Step,
  caller: Caller,
): Promise<Outcome<TransferRecord, StepRejection>> {
  const transfer = await findTransferRow(database, customerId, id);
  if (transfer?.hasSteps !== true) return reject({ code: "no_steps", id });
  const asset = must(catalogue.findAsset(transfer.asset), "assets are never removed from the catalogue");
  return lane.execute({
    queueKey: customerId,
    caller,
    dependsOn: stepKeys(transfer, asset, step),
    decide: (state, now) => decideStep(transfer, asset, step, state, now),
  });
}

function externalKeys({ profileId }: Deposit, asset: Asset | undefined): Key[] {
  return [activeProfileKey(profileId), ...(asset === undefined ? [] : externalTransferKeys(profileId, asset))];
}

function externalClaims(request: ExternalTransferRequest, id: Uuid): Claim[] {
  const { customerId, direction, details, refId } = request;
  const chain = direction === "CREDIT" ? chainDepositClaims(customerId, details, id) : [];
  return request.opening === true ? [openingOf(request, id)] : [...refIdClaims(customerId, refId, id), ...chain];
}

function openingOf({ customerId, profileId, asset }: ExternalTransferRequest, id: Uuid): Claim {
  return { customerId, kind: "opening", refId: `${profileId}/${asset}`, id, likelyTaken: true };
}
