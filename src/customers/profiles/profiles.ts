/**
 * Profiles, the holders of balances. Every customer has one DEFAULT profile and any number of NORMAL ones. An inactive
 * profile can do nothing; a deposit reactivates it.
 */
import type { ProfileId } from "../../ledger/accounts.ts";
import type { Caller } from "../../ledger/caller.ts";
import { accept, type Claim, type Command, type Outcome, type Rejection, type State } from "../../ledger/decision.ts";
import { change, type Key, keyOf } from "../../ledger/tables.ts";
import type { Lane } from "../../ledger/writer/lane.ts";
import type { Database } from "../../postgres/database.ts";
import { waitForStandby } from "../../postgres/durability.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { type IdSource, instantOf } from "../../std/id.ts";
import { reject } from "../../std/result.ts";
import type { CustomerId } from "../customer-id.ts";
import {
  findDefaultProfile,
  findProfile,
  listProfiles,
  type Profile,
  type ProfileFilter,
  profileTable,
} from "./store.ts";

export type { Profile, ProfileFilter } from "./store.ts";
export { findDefaultProfile, findProfile, hasDefaultProfile, listProfiles, profileTable } from "./store.ts";

/** The caller has no such profile, or it is not active. */
export interface ProfileNotFound extends Rejection {
  readonly code: "profile_not_found";
  readonly profileId: string;
}

export const profileNotFound = (profileId: string): ProfileNotFound => ({ code: "profile_not_found", profileId });

export const profileKey = (id: ProfileId): Key => keyOf(profileTable, id);

/** For a command that, if it is accepted, needs no more of the profile than that it is active: often it needs no lock then. */
export const activeProfileKey = (id: ProfileId): Key => ({ ...profileKey(id), reads: "that it is active" });

/** Of the profile that will be paid: another than the payer's counts that, and so is changed. */
export const recipientKey = (payer: ProfileId, recipient: ProfileId): Key =>
  recipient === payer ? activeProfileKey(recipient) : profileKey(recipient);

/** @returns the profile if it is active and, if given, the customer's */
export function activeProfile(state: State, id: ProfileId, customerId?: CustomerId): Profile | undefined {
  const profile = state.get(profileTable, id);
  if (profile?.status !== "ACTIVE") return undefined;
  return customerId === undefined || profile.customerId === customerId ? profile : undefined;
}

export interface NewProfile {
  readonly customerId: CustomerId;
  readonly nickname: string;
  readonly description: string | undefined;
}

export interface Profiles {
  /** @returns `exists` with the id of the customer's profile that already has or had the nickname */
  create(request: NewProfile, caller: Caller): Promise<Outcome<Profile, never, Claim>>;
  /** Creates a profile with an id chosen by the operator. @returns `exists` if it was created before */
  ensure(request: NewProfile, id: ProfileId, caller: Caller): Promise<Outcome<Profile, never, Claim>>;
  /** Absent fields stay unchanged. */
  update(
    customerId: CustomerId,
    id: ProfileId,
    fields: ProfileFields,
    caller: Caller,
  ): Promise<Outcome<Profile, ProfileNotFound, Claim>>;
  find(customerId: CustomerId, id: ProfileId): Promise<Profile | undefined>;
  getDefault(customerId: CustomerId): Promise<Profile>;
  list(filter: ProfileFilter): Promise<Profile[]>;
}

export interface ProfileFields {
  readonly nickname?: string | undefined;
  readonly description?: string | undefined;
}

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly ids: IdSource;
  readonly clock: Clock;
}

export function createProfiles({ database, lane, ids, clock }: Parts): Profiles {
  return {
    create: (request, caller) => {
      const id = ids.next();
      return lane.execute(openProfile(id as ProfileId, "NORMAL", instantOf(id), request, caller));
    },
    ensure: async (request, id, caller) => {
      // An existing profile with this id may have been renamed since.
      if ((await findProfile(database, request.customerId, id)) !== undefined) {
        await waitForStandby(database);
        return { kind: "exists", id };
      }
      return lane.execute(openProfile(id, "NORMAL", clock.now(), request, caller, "again"));
    },
    update: async (customerId, id, fields, caller) => {
      // A nickname that the profile has is its own for ever, also if it is renamed meanwhile: it is not claimed again.
      const isOwn = (await findProfile(database, customerId, id))?.nickname === fields.nickname;
      return lane.execute(updateProfile(customerId, id, fields, isOwn, caller));
    },
    find: (customerId, id) => findProfile(database, customerId, id),
    getDefault: (customerId) => findDefaultProfile(database, customerId),
    list: (filter) => listProfiles(database, filter),
  };
}

/** The command that creates a profile. Its nickname is claimed for ever, even if it is changed later. */
export function openProfile(
  id: ProfileId,
  kind: Profile["kind"],
  createdAt: Instant,
  { customerId, nickname, description }: NewProfile,
  caller: Caller,
  again?: "again",
): Command<Profile, never, Claim> {
  return {
    queueKey: customerId,
    caller,
    dependsOn: [],
    claims: [{ customerId, kind: "nickname", refId: nickname, id, ...(again && { likelyTaken: true }) }],
    decide: () => {
      const profile: Profile = {
        id,
        customerId,
        kind,
        nickname,
        description,
        status: "ACTIVE",
        incomingCount: 0,
        lastDeactivation: 0n,
        createdAt,
        updatedAt: createdAt,
        version: 0n,
      };
      return accept(profile, { states: [change(profileTable, profile)] });
    },
  };
}

function updateProfile(
  customerId: CustomerId,
  id: ProfileId,
  { nickname, description }: ProfileFields,
  isOwn: boolean,
  caller: Caller,
): Command<Profile, ProfileNotFound, Claim> {
  return {
    queueKey: customerId,
    caller,
    dependsOn: [profileKey(id)],
    claims: nickname === undefined || isOwn ? [] : [{ customerId, kind: "nickname", refId: nickname, id }],
    decide: (state, now) => {
      const profile = state.get(profileTable, id);
      if (profile?.customerId !== customerId) return reject(profileNotFound(id));
      const changed: Profile = {
        ...profile,
        nickname: nickname ?? profile.nickname,
        description: description ?? profile.description,
        updatedAt: Math.max(now, profile.updatedAt) as Instant,
      };
      return accept(changed, { states: [change(profileTable, changed)] });
    },
  };
}
