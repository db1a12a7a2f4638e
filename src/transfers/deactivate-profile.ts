/**
 * Deactivates a profile. It must be empty except for dust, which an internal transfer moves to the DEFAULT profile, and
 * no open order or conversion may name it as recipient. Idempotent.
 */

import type { Catalogue } from "../catalogue/catalogue.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import {
  findDefaultProfile,
  type Profile,
  type ProfileNotFound,
  profileKey,
  profileNotFound,
  profileTable,
} from "../customers/profiles/profiles.ts";
import { type Account, accountKey, type Journal, type ProfileId, totalOf } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import { accept, type Command, type Rejection } from "../ledger/decision.ts";
import { accountOf } from "../ledger/rejections.ts";
import { change, type RecordAddition } from "../ledger/tables.ts";
import { type Amount, unitOf } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import type { Database } from "../postgres/database.ts";
import { assert } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { IdSource } from "../std/id.ts";
import { type Check, PASSED, reject } from "../std/result.ts";
import { decideTransfer } from "./rules.ts";

/** The profile holds money, is the recipient of an open order or conversion, or is the DEFAULT profile. */
export interface ProfileNotEmpty extends Rejection {
  readonly code: "profile_not_empty";
  readonly profileId: ProfileId;
  readonly because: "holds_money" | "is_recipient" | "is_default";
  readonly asset?: AssetCode;
  readonly amount?: Amount;
}

/** The profile is active: to deactivate it needs its accounts. */
interface StillActive extends Rejection {
  readonly code: "still_active";
}

/**
 * Deactivates nothing, and so needs no lock: a caller that repeats its requests makes nobody wait.
 * @returns the profile if it is inactive
 */
export function findInactiveCommand(
  customerId: CustomerId,
  profileId: ProfileId,
  caller: Caller,
): Command<Profile, ProfileNotFound | StillActive> {
  return {
    queueKey: customerId,
    caller,
    dependsOn: [profileKey(profileId)],
    decide: (state) => {
      const profile = state.get(profileTable, profileId);
      if (profile?.customerId !== customerId) return reject(profileNotFound(profileId));
      // A retry succeeds: there is no ref_id to look up the first outcome by.
      return profile.status === "INACTIVE" ? accept(profile, {}) : reject({ code: "still_active" });
    },
  };
}

export async function deactivateCommand(
  { database, catalogue, ids }: { database: Database; catalogue: Catalogue; ids: IdSource },
  customerId: CustomerId,
  profileId: ProfileId,
  caller: Caller,
): Promise<Command<Profile, ProfileNotFound | ProfileNotEmpty>> {
  const { id: home } = await findDefaultProfile(database, customerId);
  const assets = catalogue.listAssets();
  const accountKeys = assets.flatMap(({ code }) => [accountKey(profileId, code), accountKey(home, code)]);
  return {
    queueKey: customerId,
    caller,
    // The decision depends on missing accounts: no other command may create one before this commits.
    lock: true,
    dependsOn: [profileKey(profileId), profileKey(home), ...accountKeys],
    decide: (state, now) => {
      const profile = state.get(profileTable, profileId);
      if (profile?.customerId !== customerId) return reject(profileNotFound(profileId));
      if (profile.status === "INACTIVE") return accept(profile, {});
      const held = assets.map((asset) => ({ asset, account: accountOf(state, profileId, asset.code) }));
      const empty = checkEmpty(profile, held);
      if (empty.kind === "rejected") return empty;

      const updatedAt = Math.max(now, profile.updatedAt) as Instant;
      const inactive: Profile = {
        ...profile,
        status: "INACTIVE",
        updatedAt,
        lastDeactivation: profile.version + 1n,
      };
      const journals: Journal[] = [];
      const records: RecordAddition[] = [];
      for (const { asset, account } of held) {
        if (account === undefined || account.available === 0n) continue;
        const dust = decideTransfer(
          {
            customerId,
            kind: "internal",
            from: { profileId },
            to: { profileId: home },
            amount: account.available,
            asset: asset.code,
          },
          ids.next(),
          asset,
          state,
        );
        assert(dust.kind === "done", "what a profile holds can go to its customer's DEFAULT profile");
        journals.push(...(dust.changes.journals ?? []));
        records.push(...(dust.changes.records ?? []));
      }
      return accept(inactive, { journals, records, states: [change(profileTable, inactive)] });
    },
  };
}

function checkEmpty(
  profile: Profile,
  held: readonly { readonly asset: Asset; readonly account: Account | undefined }[],
): Check<ProfileNotEmpty> {
  const rejection = { code: "profile_not_empty", profileId: profile.id } as const;
  if (profile.kind === "DEFAULT") return reject({ ...rejection, because: "is_default" });
  for (const { asset, account } of held) {
    if (account === undefined) continue;
    const amount = totalOf(account);
    const inUse = account.trading > 0n || account.pending > 0n;
    if (inUse || amount >= unitOf(asset.precision))
      return reject({ ...rejection, because: "holds_money", asset: asset.code, amount });
  }
  return profile.incomingCount > 0 ? reject({ ...rejection, because: "is_recipient" }) : PASSED;
}
