/** Legal holds: the operator blocks money of a profile, and lifts the hold later. Each is one command of the lane. */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { accountKey, type ProfileId } from "../../ledger/accounts.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import type { Claim, Outcome } from "../../ledger/decision.ts";
import type { Lane } from "../../ledger/writer/lane.ts";
import type { Database } from "../../postgres/database.ts";
import type { IdSource, Uuid } from "../../std/id.ts";
import { reject } from "../../std/result.ts";
import { activeProfileKey } from "../profiles/profiles.ts";
import {
  decideLegalHold,
  decideLift,
  type LegalHoldNotFound,
  type LegalHoldRejection,
  type LegalHoldRequest,
} from "./rules.ts";
import { findLegalHold, type LegalHold, legalHoldKey } from "./store.ts";

export type { LegalHoldNotFound, LegalHoldRejection, LegalHoldRequest } from "./rules.ts";
export type { LegalHold } from "./store.ts";
export { findHeldProfile, findLegalHold } from "./store.ts";

export interface LegalHolds {
  /** @returns `exists` with the id of the hold that already has the ref_id */
  place(request: LegalHoldRequest, caller: OperatorCaller): Promise<Outcome<LegalHold, LegalHoldRejection, Claim>>;
  /** A hold that is lifted already stays as it is. */
  lift(profileId: ProfileId, id: Uuid, caller: OperatorCaller): Promise<Outcome<LegalHold, LegalHoldNotFound>>;
}

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly catalogue: Catalogue;
  readonly ids: IdSource;
}

export function createLegalHolds(parts: Parts): LegalHolds {
  return {
    place: (request, caller) => place(parts, request, caller),
    lift: (profileId, id, caller) => lift(parts, profileId, id, caller),
  };
}

function place(
  { lane, catalogue, ids }: Parts,
  request: LegalHoldRequest,
  caller: OperatorCaller,
): Promise<Outcome<LegalHold, LegalHoldRejection, Claim>> {
  const { customerId, profileId, refId } = request;
  const id = ids.next();
  const asset = catalogue.findAsset(request.asset);
  return lane.execute({
    queueKey: customerId,
    caller,
    dependsOn: [activeProfileKey(profileId), ...(asset === undefined ? [] : [accountKey(profileId, asset.code)])],
    claims: refId === undefined ? [] : [{ customerId, kind: "legal_hold" as const, refId, id }],
    decide: (state) => decideLegalHold(request, caller.operator, id, asset, state),
  });
}

async function lift(
  { database, lane }: Parts,
  profileId: ProfileId,
  id: Uuid,
  caller: OperatorCaller,
): Promise<Outcome<LegalHold, LegalHoldNotFound>> {
  const hold = await findLegalHold(database, profileId, id);
  if (hold === undefined) return reject({ code: "legal_hold_not_found", id });
  const key = legalHoldKey(hold);
  return lane.execute({
    queueKey: hold.customerId,
    caller,
    // A profile that has money in `pending` cannot be deactivated.
    dependsOn: [key, accountKey(profileId, hold.asset)],
    decide: (state, now) => decideLift(key, id, caller.operator, state, now),
  });
}
