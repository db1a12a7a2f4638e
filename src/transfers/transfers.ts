/**
 * Transfers: money that moves from one profile to another, and money that enters or leaves the platform. Each is one
 * command to the lane; what it answers is durable.
 */
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { type Profile, type ProfileNotFound, profileKey } from "../customers/profiles/profiles.ts";
import { accountKey, type ProfileId } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import type { Claim, Outcome } from "../ledger/decision.ts";
import { externalTransferKeys } from "../ledger/external-transfers.ts";
import type { Lane } from "../ledger/lane/lane.ts";
import type { Database } from "../postgres/database.ts";
import type { IdSource, Uuid } from "../std/id.ts";
import { deactivation, type ProfileNotEmpty } from "./deactivate-profile.ts";
import {
  decideExternalTransfer,
  decideTransfer,
  type ExternalTransferRequest,
  type TransferRejection,
  type TransferRequest,
} from "./rules.ts";
import { findTransfer, listTransfers, type Transfer, type TransferFilter } from "./store.ts";

export type { ProfileNotEmpty } from "./deactivate-profile.ts";
export { notionalValue } from "./notional-value.ts";
export type {
  ExternalTransferRequest,
  TransferRejection,
  TransferRequest,
} from "./rules.ts";
export { sandboxTransfer as sandboxCrossing } from "./sandbox-transfer.ts";
export type { CryptoNetwork, Transfer, TransferFilter, TransferType } from "./store.ts";
export { CRYPTO_NETWORKS, TRANSFER_TYPES } from "./store.ts";

export interface Transfers {
  /** Answers the debit record. `exists`: the ref_id was used before, for the transfer whose debit record has this id. */
  move(request: TransferRequest, caller: Caller): Promise<Outcome<Transfer, TransferRejection>>;
  /** A deposit or a withdrawal. */
  cross(request: ExternalTransferRequest, caller: Caller): Promise<Outcome<Transfer, TransferRejection>>;
  /** Moves what is left below the assets' precision to the DEFAULT profile, and takes the profile out of use. */
  deactivate(
    customerId: CustomerId,
    profile: ProfileId,
    caller: Caller,
  ): Promise<Outcome<Profile, ProfileNotFound | ProfileNotEmpty>>;
  find(customerId: CustomerId, id: Uuid): Promise<Transfer | undefined>;
  list(filter: TransferFilter): Promise<Transfer[]>;
}

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly catalogue: Catalogue;
  readonly ids: IdSource;
}

export function createTransfers(parts: Parts): Transfers {
  const { database, lane } = parts;
  return {
    move: (request, caller) => move(parts, request, caller),
    cross: (request, caller) => cross(parts, request, caller),
    deactivate: async (customerId, profileId, caller) =>
      lane.execute(await deactivation(parts, customerId, profileId, caller)),
    find: (customerId, id) => findTransfer(database, customerId, id),
    list: (filter) => listTransfers(database, filter),
  };
}

function move(
  { lane, catalogue, ids }: Parts,
  request: TransferRequest,
  caller: Caller,
): Promise<Outcome<Transfer, TransferRejection>> {
  const { customerId, from, to } = request;
  const id = ids.next();
  const asset = catalogue.findAsset(request.asset);
  const rests = [profileKey(from.profileId), profileKey(to.profileId)];
  if (asset !== undefined) rests.push(accountKey(from.profileId, asset.code), accountKey(to.profileId, asset.code));
  return lane.execute({
    queueKey: customerId,
    caller,
    dependsOn: rests,
    claim: claimOf(customerId, request.refId, id),
    decide: (state) => decideTransfer(request, id, asset, state),
  });
}

function cross(
  { lane, catalogue, ids }: Parts,
  request: ExternalTransferRequest,
  caller: Caller,
): Promise<Outcome<Transfer, TransferRejection>> {
  const { customerId, profileId } = request;
  const id = ids.next();
  const asset = catalogue.findAsset(request.asset);
  return lane.execute({
    queueKey: customerId,
    caller,
    dependsOn: [profileKey(profileId), ...(asset === undefined ? [] : externalTransferKeys(profileId, asset))],
    claim: request.opening === true ? openingOf(request, id) : claimOf(customerId, request.refId, id),
    decide: (state, now) => decideExternalTransfer(request, id, asset, state, now),
  });
}

function claimOf(customerId: CustomerId, refId: string | undefined, id: Uuid): Claim | undefined {
  return refId === undefined ? undefined : { customerId, kind: "transfer", refId, id };
}

function openingOf({ customerId, profileId, asset }: ExternalTransferRequest, id: Uuid): Claim {
  return { customerId, kind: "opening", refId: `${profileId}/${asset}`, id, likelyTaken: true };
}
