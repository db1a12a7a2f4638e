/** Profiles, the holders of balances. */
import { type Static, Type } from "typebox";
import { type Profile, type ProfileFilter, type Profiles, profileNotFound } from "../../customers/profiles/profiles.ts";
import { formatInstant, type Instant, parseInstant } from "../../std/clock.ts";
import { parseUuid, type Uuid } from "../../std/id.ts";
import type { Transfers } from "../../transfers/transfers.ts";
import type { Api } from "../api.ts";
import { type Every, present, problemFor, profileIdOf, valueOrThrow, withExisting } from "../domain-mapping.ts";
import { invalid } from "../problems/failing-fields.ts";
import { errors } from "../problems/problem-responses.ts";
import { page, pageRequest } from "../requests/paging.ts";
import {
  Body,
  ListOf,
  ListQuery,
  NamedEnum,
  Order,
  ProfileIdParam,
  Repeatable,
  Timestamp,
  UuidText,
  uuidOf,
} from "../requests/schemas.ts";
import { comparisons, readComparisons } from "../requests/time-range.ts";

const NICKNAME = { minLength: 1, maxLength: 100 };
const DESCRIPTION = { maxLength: 500 };

const NewNickname = Type.String({
  ...NICKNAME,
  description: "The customer's name for the profile. Unique for ever: a nickname stays taken after it was changed.",
});
const NewDescription = Type.Optional(Type.String({ ...DESCRIPTION, description: "Free text." }));

export const ProfileBody = Type.Object(
  {
    id: UuidText,
    nickname: Type.String(NICKNAME),
    description: Type.Optional(Type.String(DESCRIPTION)),
    type: NamedEnum("ProfileType", ["DEFAULT", "NORMAL"], "Every customer has exactly one DEFAULT profile."),
    status: NamedEnum(
      "ProfileStatus",
      ["ACTIVE", "INACTIVE"],
      "An inactive profile can do nothing. A deposit reactivates it.",
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  {
    title: "Profile",
    description: "A holder of balances.",
  },
);

const NewProfileBody = Body({ nickname: NewNickname, description: NewDescription }, { title: "NewProfile" });
const ChangeProfileBody = Body(
  {
    profile_id: Type.Optional({ ...ProfileIdParam, description: "The profile in the path again." }),
    nickname: Type.Optional(NewNickname),
    description: NewDescription,
  },
  { title: "ProfileChange" },
);

const IncludeDeactivated = Type.Boolean({ description: "Whether INACTIVE profiles are included.", default: false });

const ListProfilesQuery = ListQuery(
  {
    ids: Repeatable(ProfileIdParam, "These profiles."),
    nickname: Type.Optional(
      Type.String({
        description: "Profiles whose nickname begins like this, in upper or lower case.",
        minLength: 1,
        maxLength: 100,
      }),
    ),
    include_deactivated: IncludeDeactivated,
    ...comparisons("created_at"),
    order_by: { ...NamedEnum("ProfileSortKey", ["CREATED_AT"], "The sort key."), default: "CREATED_AT" },
    order: Order("ASC"),
  },
  { standard: 1000, maximum: 1000 },
);

const OneProfile = Type.Object({ id: ProfileIdParam });

export function profileRoutes(api: Api, profiles: Profiles, transfers: Pick<Transfers, "deactivate">): void {
  createRoute(api, profiles);
  listRoute(api, profiles);
  findRoute(api, profiles);
  changeRoute(api, profiles);
  deactivateRoute(api, transfers);
}

function createRoute(api: Api, profiles: Profiles): void {
  api.post(
    "/v2/profiles",
    {
      config: { scope: "funding:write_profile" },
      schema: {
        operationId: "createProfile",
        tags: ["Profiles"],
        summary: "Create a profile",
        description: "Creates a NORMAL profile with zero balances.",
        body: NewProfileBody,
        response: { 200: ProfileBody, ...errors(400, 401, 403, "already_exists", 413, 415, 429, 500, 503) },
      },
    },
    async (request) => {
      const { nickname, description } = request.body;
      const { customerId } = request.grant;
      const outcome = await profiles.create({ customerId, nickname, description }, request.caller);
      const holder = holderIn(profiles, customerId);
      return profileBody(valueOrThrow(request, await withExisting(outcome, "nickname", holder)));
    },
  );
}

/** Reads the profile that has a nickname. */
const holderIn = (profiles: Profiles, customerId: Profile["customerId"]) => async (id: Uuid) => {
  const existing = await profiles.find(customerId, id as Profile["id"]);
  return existing && profileBody(existing);
};

/** Nicknames have no index by their beginning. */
const walks = ({ nickname }: Readonly<Record<string, unknown>>): boolean => nickname !== undefined;

function listRoute(api: Api, profiles: Profiles): void {
  api.get(
    "/v2/profiles",
    {
      config: { scope: "funding:read_profile", walks },
      schema: {
        operationId: "listProfiles",
        tags: ["Profiles"],
        summary: "List profiles",
        description: "The caller's profiles by creation time.",
        querystring: ListProfilesQuery,
        response: { 200: ListOf(ProfileBody), ...errors(400, 401, 403, 429, 500, 503) },
      },
    },
    async (request) => {
      const { query, grant } = request;
      const asked = pageRequest(request, query, positionIn);
      const { from, before } = readComparisons(query, "created_at");
      const filter: Every<ProfileFilter> = {
        customerId: grant.customerId,
        ids: query.ids?.map(uuidOf),
        nicknamePrefix: query.nickname,
        onlyActive: query.include_deactivated ? undefined : true,
        createdFrom: from,
        createdBefore: before,
        order: query.order,
        after: asked.after,
        limit: asked.limit + 1,
      };
      return page(
        await profiles.list(filter),
        asked,
        ({ createdAt, id }) => [formatInstant(createdAt), id],
        profileBody,
      );
    },
  );
}

function positionIn([time = "", text = "", ...more]: readonly string[]): { createdAt: Instant; id: Uuid } | undefined {
  const [createdAt, id] = [parseInstant(time, "down"), parseUuid(text)];
  return createdAt === undefined || id === undefined || more.length > 0 ? undefined : { createdAt, id };
}

function findRoute(api: Api, profiles: Profiles): void {
  api.get(
    "/v2/profiles/:id",
    {
      config: { scope: "funding:read_profile" },
      schema: {
        operationId: "getProfile",
        tags: ["Profiles"],
        summary: "Read a profile",
        description: "One of the caller's profiles. An inactive one is not found unless it is asked for.",
        params: OneProfile,
        querystring: Type.Object({ include_deactivated: IncludeDeactivated }),
        response: { 200: ProfileBody, ...errors(400, 401, 403, "profile_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const id = profileIdOf(request.params.id);
      const profile = await profiles.find(customerId, id);
      if (profile === undefined || (profile.status === "INACTIVE" && !request.query.include_deactivated))
        throw problemFor(request, profileNotFound(id));
      return profileBody(profile);
    },
  );
}

function changeRoute(api: Api, profiles: Profiles): void {
  api.put(
    "/v2/profiles/:id",
    {
      config: { scope: "funding:write_profile" },
      schema: {
        operationId: "updateProfile",
        tags: ["Profiles"],
        summary: "Change a profile",
        description: "Changes the nickname, the description, or both. Fields that are not sent stay unchanged.",
        params: OneProfile,
        body: ChangeProfileBody,
        response: {
          200: ProfileBody,
          ...errors(400, 401, 403, "profile_not_found", "already_exists", 413, 415, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { nickname, description, profile_id: repeated } = request.body;
      const { customerId } = request.grant;
      const id = profileIdOf(request.params.id);
      if (repeated !== undefined && profileIdOf(repeated) !== id)
        throw invalid([{ field: "profile_id", value: repeated, rule: "is not the profile in the path" }]);
      const outcome = await profiles.update(customerId, id, { nickname, description }, request.caller);
      const holder = holderIn(profiles, customerId);
      return profileBody(valueOrThrow(request, await withExisting(outcome, "nickname", holder)));
    },
  );
}

function deactivateRoute(api: Api, transfers: Pick<Transfers, "deactivate">): void {
  api.put(
    "/v2/profiles/:id/deactivate",
    {
      config: { scope: "funding:write_profile" },
      schema: {
        operationId: "deactivateProfile",
        tags: ["Profiles"],
        summary: "Deactivate a profile",
        description:
          "The profile must be empty, and no open order or conversion may name it as recipient. Remainders below an asset's precision are moved to the DEFAULT profile first. An inactive profile is returned unchanged. A deposit reactivates a profile.",
        params: OneProfile,
        response: {
          200: ProfileBody,
          ...errors(400, 401, 403, "profile_not_empty", "profile_not_found", 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const id = profileIdOf(request.params.id);
      return profileBody(valueOrThrow(request, await transfers.deactivate(customerId, id, request.caller)));
    },
  );
}

export function profileBody(profile: Omit<Profile, "incomingCount" | "lastDeactivation">): Static<typeof ProfileBody> {
  return present<Static<typeof ProfileBody>>({
    id: profile.id,
    nickname: profile.nickname,
    description: profile.description,
    type: profile.kind,
    status: profile.status,
    created_at: formatInstant(profile.createdAt),
    updated_at: formatInstant(profile.updatedAt),
  });
}
