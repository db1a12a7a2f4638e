/** Conversions: minting, redeeming and converting stablecoins at par. */
import { type Static, Type } from "typebox";
import {
  CONVERSION_ANNOTATIONS,
  CONVERSION_STATUSES,
  type Conversion,
  type ConversionFilter,
  type ConversionId,
  type ConversionRequest,
  type Conversions,
} from "../../conversions/conversions.ts";
import type { Profiles } from "../../customers/profiles/profiles.ts";
import { formatAmount } from "../../money/amount.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { isBySeveral } from "../access/request-admission.ts";
import type { Api } from "../api.ts";
import {
  type Every,
  idPosition,
  present,
  problemFor,
  profileIdOf,
  requestedAmount,
  valueOrThrow,
  withExisting,
} from "../domain-mapping.ts";
import { errors } from "../problems/problem-responses.ts";
import { annotatedBodies, annotationFilters } from "../requests/annotated-bodies.ts";
import { COMES_LATE, page, pageRequest } from "../requests/paging.ts";
import {
  Amount,
  AssetCode,
  Body,
  Decimal,
  ListOf,
  ListQuery,
  NamedEnum,
  Order,
  ProfileIdParam,
  RefId,
  Timestamp,
  UuidText,
  uuidOf,
} from "../requests/schemas.ts";
import { idsWithin, interval, readInterval } from "../requests/time-range.ts";
import { filteredProfile } from "./path-profile.ts";

const Status = NamedEnum(
  "ConversionStatus",
  CONVERSION_STATUSES,
  "CREATED: the source amount is held. SETTLED: the target amount was paid. CANCELLED: the source amount was released.",
);

const ANNOTATED = annotatedBodies(CONVERSION_ANNOTATIONS);

export const ConversionBody = Type.Object(
  {
    id: UuidText,
    profile_id: Type.String({
      ...UuidText,
      description: "The profile that pays the source asset, and receives the target asset unless there is a recipient.",
    }),
    amount: Type.String({
      ...Decimal,
      description: "The amount of the source asset that is converted, and of the target asset that is paid.",
    }),
    source_asset: AssetCode,
    target_asset: AssetCode,
    status: Status,
    ref_id: Type.Optional(RefId),
    ...ANNOTATED.responseSchemas,
    created_at: Timestamp,
    updated_at: Timestamp,
    settled_at: Type.Optional(Timestamp),
    cancelled_at: Type.Optional(Timestamp),
    recipient_profile_id: Type.Optional(
      Type.String({ ...UuidText, description: "The profile that receives the target asset." }),
    ),
  },
  {
    title: "Conversion",
    description:
      "A conversion of one asset to another, at par. A recipient profile, if given, receives the target asset.",
  },
);

const NewConversionBody = Body(
  {
    profile_id: Type.String({
      ...ProfileIdParam,
      description: "The profile that pays the source asset; one of the caller's.",
    }),
    amount: Amount,
    source_asset: AssetCode,
    target_asset: AssetCode,
    ref_id: Type.Optional(RefId),
    ...ANNOTATED.requestSchemas,
    recipient_profile_id: Type.Optional(
      Type.String({
        ...ProfileIdParam,
        description: "The profile that receives the target asset; one of the caller's. Default: profile_id.",
      }),
    ),
  },
  { title: "NewConversion" },
);

const ANNOTATION_FILTERS = annotationFilters(CONVERSION_ANNOTATIONS);

const ListConversionsQuery = ListQuery(
  {
    profile_id: Type.Optional(Type.String({ ...ProfileIdParam, description: "Conversions of this profile." })),
    ref_id: Type.Optional(Type.String({ ...RefId, description: "The conversion with this ref_id." })),
    status: Type.Optional(Status),
    ...ANNOTATION_FILTERS.schemas,
    ...interval("created_at"),
    ...interval("updated_at"),
    order: Order("DESC"),
  },
  { standard: 100, maximum: 1000 },
);

/** Conversions have no index by status or time of update. */
const walks = (query: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(query).some((name) => name === "status" || name.startsWith("updated_at")) || isBySeveral(query, INDEXED);
const INDEXED = ["profile_id", ...ANNOTATION_FILTERS.names];

const OneConversion = Type.Object({ id: { ...UuidText, description: "The conversion's id." } });

export function conversionRoutes(api: Api, conversions: Conversions, profiles: Pick<Profiles, "find">): void {
  createRoute(api, conversions);
  listRoute(api, conversions, profiles);
  findRoute(api, conversions);
  cancelRoute(api, conversions);
}

const CREATE_REJECTIONS = [
  ...(["balance_too_large", "exceed_precision", "insufficient_funds", "profile_not_found"] as const),
  ...(["unknown_pair", "already_exists"] as const),
] as const;

function createRoute(api: Api, conversions: Conversions): void {
  api.post(
    "/v2/conversion/stablecoins",
    {
      config: { scope: "conversion:write_conversion_stablecoin" },
      schema: {
        operationId: "createStablecoinConversion",
        tags: ["Conversions"],
        summary: "Mint, redeem or convert a stablecoin",
        description:
          "USD to a stablecoin mints, a stablecoin to USD redeems, one stablecoin to another converts; always at par, without a fee. The amount may have as many decimals as both assets allow. The source amount is held at once; the conversion settles in the background.",
        body: NewConversionBody,
        response: { 200: ConversionBody, ...errors(400, 401, 403, ...CREATE_REJECTIONS, 413, 415, 429, 500, 503) },
      },
    },
    async (request) => {
      const { caller, body } = request;
      const { customerId } = request.grant;
      const { recipient_profile_id: recipient } = body;
      const conversion: Every<ConversionRequest> = {
        customerId,
        profileId: profileIdOf(body.profile_id),
        amount: requestedAmount(body.amount),
        sourceAsset: body.source_asset,
        targetAsset: body.target_asset,
        recipientProfileId: recipient === undefined ? undefined : profileIdOf(recipient),
        refId: body.ref_id,
        annotations: ANNOTATED.read(body),
      };
      const outcome = await withExisting(await conversions.create(conversion, caller), "ref_id", async (id) => {
        const existing = await conversions.find(customerId, id as ConversionId);
        return existing && conversionBody(existing);
      });
      return conversionBody(valueOrThrow(request, outcome));
    },
  );
}

function listRoute(api: Api, conversions: Conversions, profiles: Pick<Profiles, "find">): void {
  api.get(
    "/v2/conversion/stablecoins",
    {
      config: { scope: "conversion:read_conversion_stablecoin", walks },
      schema: {
        operationId: "listStablecoinConversions",
        tags: ["Conversions"],
        summary: "List conversions",
        description: `The caller's conversions, by creation time. Filters combine with AND. ${COMES_LATE}`,
        querystring: ListConversionsQuery,
        response: { 200: ListOf(ConversionBody), ...errors(400, 401, 403, 429, 500, 503) },
      },
    },
    async (request) => {
      const { query, grant } = request;
      const asked = pageRequest(request, query, idPosition);
      const profileId = await filteredProfile(profiles, grant.customerId, query.profile_id);
      if (profileId === "matches_nothing") return page([], asked, () => [], conversionBody);
      const updated = readInterval(query, "updated_at");
      const filter: Every<ConversionFilter> = {
        customerId: grant.customerId,
        profileId,
        refId: query.ref_id,
        status: query.status,
        ...ANNOTATION_FILTERS.read(query),
        ...idsWithin(readInterval(query, "created_at")),
        updatedFrom: updated.from,
        updatedBefore: updated.before,
        order: query.order,
        after: asked.after,
        limit: asked.limit + 1,
      };
      return page(await conversions.list(filter), asked, ({ id }) => [id], conversionBody);
    },
  );
}

function findRoute(api: Api, conversions: Conversions): void {
  api.get(
    "/v2/conversion/stablecoins/:id",
    {
      config: { scope: "conversion:read_conversion_stablecoin" },
      schema: {
        operationId: "getStablecoinConversion",
        tags: ["Conversions"],
        summary: "Read a conversion",
        description: "One of the caller's conversions in its current state.",
        params: OneConversion,
        response: { 200: ConversionBody, ...errors(400, 401, 403, "conversion_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const id = uuidOf<ConversionId>(request.params.id);
      const conversion = await conversions.find(request.grant.customerId, id);
      if (conversion === undefined) throw problemFor(request, { code: "conversion_not_found", conversionId: id });
      return conversionBody(conversion);
    },
  );
}

function cancelRoute(api: Api, conversions: Conversions): void {
  api.delete(
    "/v2/conversion/stablecoins/:id",
    {
      config: { scope: "conversion:write_conversion_stablecoin" },
      schema: {
        operationId: "cancelStablecoinConversion",
        tags: ["Conversions"],
        summary: "Cancel a conversion",
        description:
          "Releases the source amount while the conversion is CREATED. If a settlement happens at the same time, exactly one of the two takes effect. Returns the cancelled conversion.",
        params: OneConversion,
        response: {
          200: ConversionBody,
          ...errors(400, 401, 403, "conversion_not_cancellable", "conversion_not_found", 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { grant, caller, params } = request;
      const outcome = await conversions.cancel(grant.customerId, uuidOf<ConversionId>(params.id), caller);
      return conversionBody(valueOrThrow(request, outcome));
    },
  );
}

export function conversionBody(conversion: Conversion): Static<typeof ConversionBody> {
  const timeOf = (instant: Instant | undefined): string | undefined =>
    instant === undefined ? undefined : formatInstant(instant);
  return present<Static<typeof ConversionBody>>({
    id: conversion.id,
    profile_id: conversion.profileId,
    amount: formatAmount(conversion.amount),
    source_asset: conversion.sourceAsset,
    target_asset: conversion.targetAsset,
    status: conversion.status,
    ref_id: conversion.refId,
    ...ANNOTATED.write(conversion.annotations),
    created_at: formatInstant(conversion.createdAt),
    updated_at: formatInstant(conversion.updatedAt),
    settled_at: timeOf(conversion.settledAt),
    cancelled_at: timeOf(conversion.cancelledAt),
    recipient_profile_id: conversion.recipientProfileId,
  });
}
