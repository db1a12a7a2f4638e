/** Rules of legal holds: money that the operator blocks because a court or an authority demands it. */

import { holdEntries, journal, type ProfileId, releaseEntries } from "../../ledger/accounts.ts";
import { accept, type Decision, type Rejection, type State } from "../../ledger/decision.ts";
import {
  checkFunds,
  checkPrecision,
  type ExceedPrecision,
  type InsufficientFunds,
  type RequestedAmount,
  type UnknownAsset,
} from "../../ledger/rejections.ts";
import { change, type Key } from "../../ledger/tables.ts";
import { SCALE } from "../../money/amount.ts";
import type { Asset } from "../../money/asset.ts";
import type { Instant } from "../../std/clock.ts";
import { instantOf, siblingId, type Uuid } from "../../std/id.ts";
import { reject } from "../../std/result.ts";
import type { CustomerId } from "../customer-id.ts";
import { activeProfile, type ProfileNotFound, profileNotFound } from "../profiles/profiles.ts";
import { type LegalHold, legalHoldTable } from "./store.ts";

export interface LegalHoldNotFound extends Rejection {
  readonly code: "legal_hold_not_found";
  readonly id: Uuid;
}

export type LegalHoldRejection = ProfileNotFound | UnknownAsset | ExceedPrecision | InsufficientFunds;

export interface LegalHoldRequest {
  readonly customerId: CustomerId;
  readonly profileId: ProfileId;
  readonly asset: string;
  readonly amount: RequestedAmount;
  readonly refId: string | undefined;
  readonly reason: string;
}

/**
 * @param placedBy the operator's name
 * @param id even
 */
export function decideLegalHold(
  request: LegalHoldRequest,
  placedBy: string,
  id: Uuid,
  asset: Asset | undefined,
  state: State,
): Decision<LegalHold, LegalHoldRejection> {
  const { customerId, profileId, refId, reason } = request;
  if (activeProfile(state, profileId, customerId) === undefined) return reject(profileNotFound(profileId));
  if (asset === undefined) return reject({ code: "unknown_asset", field: "asset", asset: request.asset });
  // Every decimal of the ledger may be held, so that nothing of a balance is left out.
  const exact = checkPrecision(request.amount, { ...asset, precision: SCALE });
  if (exact.kind === "rejected") return exact;
  const amount = exact.value;
  const funds = checkFunds(state, profileId, asset.code, amount);
  if (funds.kind === "rejected") return funds;

  // From here the hold must be placed.
  const hold: LegalHold = {
    ...{ id, profileId, customerId, asset: asset.code, amount, refId, reason, placedBy },
    ...{ createdAt: instantOf(id), liftedBy: undefined, liftedAt: undefined, version: 0n },
  };
  return accept(hold, {
    states: [change(legalHoldTable, hold)],
    journals: [journal(id, "legal_hold_placed", holdEntries(profileId, asset.code, amount))],
  });
}

/** Gives the money back. A hold that is lifted already stays as it is. */
export function decideLift(
  key: Key,
  id: Uuid,
  liftedBy: string,
  state: State,
  now: Instant,
): Decision<LegalHold, LegalHoldNotFound> {
  const hold = state.get(legalHoldTable, key.key);
  if (hold === undefined) return reject({ code: "legal_hold_not_found", id });
  if (hold.liftedAt !== undefined) return accept(hold, {});
  const { profileId, asset, amount, createdAt } = hold;
  const lifted: LegalHold = { ...hold, liftedBy, liftedAt: Math.max(now, createdAt) as Instant };
  return accept(lifted, {
    states: [change(legalHoldTable, lifted)],
    journals: [journal(siblingId(id), "legal_hold_lifted", releaseEntries(profileId, asset, amount))],
  });
}
