import type { FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { Profiles } from "../../customers/profiles/profiles.ts";
import {
  EXECUTION_ANNOTATIONS,
  type Exchange,
  type ExecutionFilter,
  type ShownExecution,
} from "../../exchange/exchange.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { formatInstant } from "../../std/clock.ts";
import { isBySeveral } from "../access/request-admission.ts";
import type { Api } from "../api.ts";
import { type Every, present } from "../domain-mapping.ts";
import { errors } from "../problems/problem-responses.ts";
import { annotatedBodies, annotationFilters } from "../requests/annotated-bodies.ts";
import { page, pageRequest } from "../requests/paging.ts";
import {
  AssetText,
  Decimal,
  ListOf,
  ListQuery,
  MarketText,
  ProfileIdParam,
  Timestamp,
  UuidText,
} from "../requests/schemas.ts";
import { interval, readInterval } from "../requests/time-range.ts";
import { OrderSide } from "./orders/order-body.ts";
import { filteredProfile, ownProfile } from "./path-profile.ts";

const DESCRIPTION = `One record for each party of each match, newest first; \`execution_id\` increases with \`executed_at\`.

Within one market, records appear in order: a record that was missing when you read a page is newer than all on it. Different markets can commit slightly out of order. To poll several markets, overlap \`range.begin\` by 5 seconds and drop the ids that you already have.`;

const ANNOTATED = annotatedBodies(EXECUTION_ANNOTATIONS);

export const ExecutionBody = Type.Object(
  {
    execution_id: Type.String({
      description: "Decimal digits, at most 64 bits, unique over all markets.",
    }),
    order_id: { ...UuidText, description: "The party's own order." },
    executed_at: Timestamp,
    market: { ...MarketText, description: "The code of its market." },
    side: { ...OrderSide, description: "The side of the party's own order." },
    amount: { ...Decimal, description: "In the base asset." },
    price: { ...Decimal, description: "The price of the resting order." },
    commission: { ...Decimal, description: 'The fee that the taker pays; "0" for the maker.' },
    commission_asset: { ...AssetText, description: "The quote asset." },
    rebate: { ...Decimal, description: 'The amount that the maker receives; "0" for the taker.' },
    rebate_asset: { ...AssetText, description: "The quote asset." },
    gross_trade_amount: { ...Decimal, description: "amount x price, exact." },
    ...ANNOTATED.responseSchemas,
  },
  {
    title: "Execution",
    description: "One party's record of a match.",
  },
);

const ANNOTATION_FILTERS = annotationFilters(EXECUTION_ANNOTATIONS);

const FILTERS = {
  ...ANNOTATION_FILTERS.schemas,
  order_id: Type.Optional({ ...UuidText, description: "Only executions of this order." }),
  since_execution_id: Type.Optional(
    Type.String({
      description: "Omits executions after this one. Compared as a number; the execution need not exist.",
      pattern: "^[0-9]+$",
      "x-check": "digits",
      minLength: 1,
      maxLength: 20,
    }),
  ),
  ...interval("range"),
};
const ProfileQuery = ListQuery(FILTERS, { standard: 20, maximum: 500 });
const CustomerQuery = ListQuery(
  {
    profile_id: Type.Optional({ ...ProfileIdParam, description: "Only executions of orders of this profile." }),
    ...FILTERS,
  },
  { standard: 100, maximum: 1_000 },
);

const INDEXED = ["profile_id", ...ANNOTATION_FILTERS.names];

export function executionRoutes(api: Api, exchange: Exchange, profiles: Pick<Profiles, "find" | "getDefault">): void {
  api.get(
    "/v2/executions",
    {
      config: { scope: "exchange:read_order", walks: (query) => isBySeveral(query, INDEXED) },
      schema: {
        operationId: "listExecutions",
        tags: ["Executions"],
        summary: "List executions, newest first",
        description: DESCRIPTION,
        querystring: CustomerQuery,
        response: { 200: ListOf(ExecutionBody), ...errors(400, 401, 403, 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const profileId = await filteredProfile(profiles, customerId, request.query.profile_id);
      return executionPage(exchange, request, request.query, profileId);
    },
  );
  api.get(
    "/v2/profiles/:profile_id/executions",
    {
      config: { scope: "exchange:read_order", walks: (query) => isBySeveral({ ...query, profile_id: true }, INDEXED) },
      schema: {
        operationId: "listProfileExecutions",
        tags: ["Executions"],
        summary: "List the executions of a profile, newest first",
        description: DESCRIPTION,
        params: Type.Object({ profile_id: ProfileIdParam }),
        querystring: ProfileQuery,
        response: { 200: ListOf(ExecutionBody), ...errors(400, 401, 403, "profile_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const profileId = await ownProfile(profiles, request, request.params.profile_id);
      return executionPage(exchange, request, request.query, profileId);
    },
  );
}

async function executionPage(
  exchange: Exchange,
  request: FastifyRequest,
  query: Static<typeof ProfileQuery>,
  profileId: ProfileId | "matches_nothing" | undefined,
) {
  const wanted = pageRequest(request, query, executionIdIn);
  const { since_execution_id: since } = query;
  const filter: Omit<Every<ExecutionFilter>, "profileId"> = {
    customerId: request.grant.customerId,
    ...ANNOTATION_FILTERS.read(query),
    orderId: query.order_id,
    since: since === undefined ? undefined : BigInt(since),
    ...readInterval(query, "range"),
    order: "DESC",
    after: wanted.after,
    limit: wanted.limit + 1,
  };
  const executions = profileId === "matches_nothing" ? [] : await exchange.listExecutions({ ...filter, profileId });
  return page(
    executions,
    wanted,
    ({ id }) => [id],
    (execution) => executionBody(execution, exchange),
  );
}

/** The position in a cursor. */
function executionIdIn([id = "", ...more]: readonly string[]): bigint | undefined {
  return /^[0-9]{1,19}$/.test(id) && more.length === 0 ? BigInt(id) : undefined;
}

export function executionBody(
  execution: ShownExecution,
  exchange: Pick<Exchange, "quoteAssetOf">,
): Static<typeof ExecutionBody> {
  const quote = exchange.quoteAssetOf(execution.market);
  return present<Static<typeof ExecutionBody>>({
    execution_id: execution.id,
    order_id: execution.orderId,
    executed_at: formatInstant(execution.executedAt),
    market: execution.market,
    side: execution.side,
    amount: execution.amount,
    price: execution.price,
    commission: execution.commission,
    commission_asset: quote,
    rebate: execution.rebate,
    rebate_asset: quote,
    gross_trade_amount: execution.gross,
    ...ANNOTATED.write(execution.annotations),
  });
}
