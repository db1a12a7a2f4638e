/** Transfers of assets between profiles, and the records of all movements. */
import { type Static, Type } from "typebox";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Profiles } from "../../customers/profiles/profiles.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { METADATA, ofSide, pairs } from "../../ledger/annotations.ts";
import { formatInstant, parseInstant } from "../../std/clock.ts";
import { parseUuid, siblingId, type Uuid } from "../../std/id.ts";
import {
  type RecordPosition,
  TRANSFER_ANNOTATIONS,
  type TransferFilter,
  type TransferRecord,
  type TransferRequest,
  type TransferSide,
  type Transfers,
  updatedAtOf,
} from "../../transfers/transfers.ts";
import { isBySeveral } from "../access/request-admission.ts";
import type { Api } from "../api.ts";
import { type Every, profileIdOf, requestedAmount, valueOrThrow, withExisting } from "../domain-mapping.ts";
import { invalid } from "../problems/failing-fields.ts";
import { errors } from "../problems/problem-responses.ts";
import { notFound } from "../problems/problems.ts";
import { annotatedBodies, repeatableAnnotationFilters } from "../requests/annotated-bodies.ts";
import { COMES_LATE, page, pageRequest } from "../requests/paging.ts";
import {
  Amount,
  AssetCode,
  Body,
  ListOf,
  ListQuery,
  NamedEnum,
  ProfileIdParam,
  RefId,
  Repeatable,
  ShortText,
  SortOrder,
  UuidText,
  uuidOf,
} from "../requests/schemas.ts";
import { comparisons, idsWithin, readComparisons } from "../requests/time-range.ts";
import {
  PAIRED_TYPES,
  SecondaryStatus,
  TransferBody,
  TransferStatusText,
  TransferTypeText,
  transferBody,
} from "./transfer-record.ts";

const FROM = annotatedBodies({ ...ofSide("from_", TRANSFER_ANNOTATIONS), metadata: METADATA });
const TO = annotatedBodies({ ...ofSide("to_", TRANSFER_ANNOTATIONS), metadata: pairs("recipient_metadata") });

export const MoveBody = Body(
  {
    from_profile_id: Type.String({ ...ProfileIdParam, description: "The profile to debit; one of the caller's." }),
    to_profile_id: Type.String({ ...ProfileIdParam, description: "The profile to credit." }),
    amount: Amount,
    asset: AssetCode,
    ref_id: Type.Optional(RefId),
    ...FROM.requestSchemas,
    ...TO.requestSchemas,
  },
  {
    title: "NewTransfer",
  },
);

const ANNOTATION_FILTERS = repeatableAnnotationFilters(TRANSFER_ANNOTATIONS);

const ListTransfersQuery = ListQuery(
  {
    profile_ids: Repeatable(ProfileIdParam, "Records of these profiles."),
    ids: Repeatable(UuidText, "These records."),
    group_ids: Repeatable(UuidText, "The records of these internal and platform transfers."),
    ref_ids: Repeatable(ShortText("A ref_id."), "Records with these ref_ids."),
    crypto_tx_hashes: Repeatable(
      ShortText("The hash of a transaction on a chain."),
      "Deposits and withdrawals of these transactions. Hexadecimal digits match in either case, with 0x or without.",
    ),
    ...ANNOTATION_FILTERS.schemas,
    type: Repeatable(TransferTypeText, "Records of these types."),
    statuses: Repeatable(
      TransferStatusText,
      "Records with these statuses. Transfers between profiles are always COMPLETED.",
    ),
    secondary_statuses: Repeatable(SecondaryStatus, "Records with these secondary statuses. Currently none has one."),
    ...comparisons("created_at"),
    ...comparisons("updated_at"),
    order_by: {
      ...NamedEnum("TransferSortKey", ["CREATED_AT", "UPDATED_AT"], "The sort key."),
      default: "CREATED_AT",
    },
    order: Type.Optional({
      ...SortOrder,
      description: "Oldest first or newest first. Default: DESC, or ASC when ordered by UPDATED_AT.",
    }),
  },
  { standard: 100, maximum: 1000 },
);

const INDEXED = ["profile_ids", ...ANNOTATION_FILTERS.names];

/** Transfers have no index by type. */
const walks = (query: Readonly<Record<string, unknown>>): boolean =>
  query.type !== undefined || isBySeveral(query, INDEXED);

export function transferRoutes(api: Api, transfers: Transfers, profiles: Pick<Profiles, "list">): void {
  moveRoute(api, transfers, "platform");
  moveRoute(api, transfers, "internal");
  findRoute(api, transfers);
  listRoute(api, transfers, profiles);
}

export const MOVES = {
  platform: {
    scope: "transfer:write_platform_transfer",
    operationId: "createPlatformTransfer",
    summary: "Move an asset to any profile of the platform",
    description:
      "Debits one of the caller's profiles and credits any active profile. Returns the debit record. The credit record belongs to the receiving customer; neither side sees the other's record.",
  },
  internal: {
    scope: "transfer:write_internal_transfer",
    operationId: "createInternalTransfer",
    summary: "Move an asset between two of the caller's profiles",
    description: "Debits one of the caller's profiles and credits another. Returns the debit record.",
  },
} as const;

const MOVE_REJECTIONS = [
  ...(["balance_too_large", "exceed_precision", "insufficient_funds", "profile_not_found"] as const),
  ...(["unknown_asset", "already_exists"] as const),
] as const;

function moveRoute(api: Api, transfers: Transfers, kind: "internal" | "platform"): void {
  const { scope, ...texts } = MOVES[kind];
  api.post(
    `/v2/transfer/${kind}`,
    {
      config: { scope },
      schema: {
        tags: ["Transfers"],
        ...texts,
        body: MoveBody,
        response: { 200: TransferBody, ...errors(400, 401, 403, ...MOVE_REJECTIONS, 413, 415, 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const moved = await transfers.move(moveOf(kind, customerId, request.body), request.caller);
      const outcome = await withExisting(moved, "ref_id", async (id) => {
        const existing = await transfers.find(customerId, id);
        return existing && transferBody(existing);
      });
      return transferBody(valueOrThrow(request, outcome));
    },
  );
}

type Move = Every<Omit<TransferRequest, "from" | "to">> & Record<"from" | "to", Every<TransferSide>>;

export function moveOf(kind: "internal" | "platform", customerId: CustomerId, body: Static<typeof MoveBody>): Move {
  const [from, to] = [profileIdOf(body.from_profile_id), profileIdOf(body.to_profile_id)];
  if (from === to) {
    throw invalid([
      { field: "to_profile_id", value: body.to_profile_id, rule: "is the same profile as from_profile_id" },
    ]);
  }
  return {
    customerId,
    kind,
    from: { profileId: from, annotations: FROM.read(body) },
    to: { profileId: to, annotations: TO.read(body) },
    amount: requestedAmount(body.amount),
    asset: body.asset,
    refId: body.ref_id,
  };
}

function findRoute(api: Api, transfers: Transfers): void {
  api.get(
    "/v2/transfer/transfers/:id",
    {
      config: { scope: "transfer:read_transfer" },
      schema: {
        operationId: "getTransfer",
        tags: ["Transfers"],
        summary: "Read a transfer",
        description: "The caller's side of a transfer, deposit or withdrawal.",
        params: Type.Object({ id: { ...UuidText, description: "The transfer's id." } }),
        response: { 200: TransferBody, ...errors(400, 401, 403, 404, 429, 500, 503) },
      },
    },
    async ({ grant: { customerId }, params }) => {
      const id = uuidOf(params.id);
      const transfer = await transfers.find(customerId, id);
      if (transfer === undefined) throw notFound(`transfer not found: ${id}`);
      return transferBody(transfer);
    },
  );
}

function listRoute(api: Api, transfers: Transfers, profiles: Pick<Profiles, "list">): void {
  api.get(
    "/v2/transfer/transfers",
    {
      config: { scope: "transfer:read_transfer", walks },
      schema: {
        operationId: "listTransfers",
        tags: ["Transfers"],
        summary: "List transfers",
        description: `The caller's records. Filters combine with AND, the values of one filter with OR. ${COMES_LATE}`,
        querystring: ListTransfersQuery,
        response: { 200: ListOf(TransferBody), ...errors(400, 401, 403, 429, 500, 503) },
      },
    },
    async (request) => {
      const { order_by, order = order_by === "UPDATED_AT" ? "ASC" : "DESC" } = request.query;
      const query = { ...request.query, order };
      const asked = pageRequest(request, query, recordPosition);
      const { customerId } = request.grant;
      const filter = filterOf(customerId, query);
      if (filter === "matches_nothing") return page([], asked, () => [], transferBody);
      const profileIds = await ownProfiles(profiles, customerId, query.profile_ids);
      const rows = await transfers.list({ ...filter, profileIds, order, after: asked.after, limit: asked.limit + 1 });
      const positionOf = (row: TransferRecord) => [formatInstant(updatedAtOf(row)), row.id];
      return page(rows, asked, positionOf, transferBody);
    },
  );
}

/**
 * Drops profiles that the caller does not have. They match nothing, and must not reach the query, which would scan all
 * records of another customer.
 */
async function ownProfiles(
  profiles: Pick<Profiles, "list">,
  customerId: CustomerId,
  asked: readonly string[] | undefined,
): Promise<ProfileId[] | undefined> {
  if (asked === undefined) return undefined;
  const own = await profiles.list({ customerId, ids: asked.map(uuidOf), order: "ASC", limit: asked.length });
  return own.map(({ id }) => id);
}

type Filter = Omit<Every<TransferFilter>, "profileIds" | "order" | "after" | "limit">;

function filterOf(customerId: CustomerId, query: Static<typeof ListTransfersQuery>): Filter | "matches_nothing" {
  if (query.secondary_statuses !== undefined) return "matches_nothing";
  const groups = query.group_ids?.map(uuidOf);
  const updated = readComparisons(query, "updated_at");
  return {
    customerId,
    orderBy: query.order_by === "UPDATED_AT" ? "UPDATED_AT" : undefined,
    ids: intersect(query.ids?.map(uuidOf), groups?.flatMap(recordIdsOf)),
    refIds: query.ref_ids,
    cryptoTxHashes: query.crypto_tx_hashes,
    ...ANNOTATION_FILTERS.read(query),
    // The id of a deposit may be even like a group's, but deposits have no group.
    types: intersect(query.type, groups && PAIRED_TYPES),
    statuses: query.statuses,
    ...idsWithin(readComparisons(query, "created_at")),
    updatedFrom: updated.from,
    updatedBefore: updated.before,
  };
}

/** The position in a cursor: the time of the last change, and the id. */
function recordPosition([time = "", text = "", ...more]: readonly string[]): RecordPosition | undefined {
  const [updatedAt, id] = [parseInstant(time, "down"), parseUuid(text)];
  return updatedAt === undefined || id === undefined || more.length > 0 ? undefined : { updatedAt, id };
}

/** @returns undefined, which filters nothing, if both are undefined */
function intersect<Item>(
  one: readonly Item[] | undefined,
  other: readonly Item[] | undefined,
): readonly Item[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.filter((item) => other.includes(item));
}

/** The ids of a group's two records. A group has the id of its debit record, which is even; an odd id is no group. */
function recordIdsOf(groupId: Uuid): Uuid[] {
  const isEven = siblingId(groupId) > groupId;
  return isEven ? [groupId, siblingId(groupId)] : [];
}
