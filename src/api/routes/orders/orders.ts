import type { FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { Profiles } from "../../../customers/profiles/profiles.ts";
import { type Exchange, ORDER_ANNOTATIONS, type OrderFilter, type OrderId } from "../../../exchange/exchange.ts";
import type { ProfileId } from "../../../ledger/accounts.ts";
import { onceClosed } from "../../../web/connections/tracked-response.ts";
import { isBySeveral, releaseAdmission } from "../../access/request-admission.ts";
import type { Api } from "../../api.ts";
import {
  type Every,
  idPosition,
  problemFor,
  profileIdOf,
  type RequestDocumenting,
  valueOrThrow,
  withExisting,
} from "../../domain-mapping.ts";
import { errors } from "../../problems/problem-responses.ts";
import { annotationFilters } from "../../requests/annotated-bodies.ts";
import { COMES_LATE, page, pageRequest } from "../../requests/paging.ts";
import { ListOf, ListQuery, ProfileIdParam, RefId, Repeatable, UuidText, uuidOf } from "../../requests/schemas.ts";
import { idsWithin, interval, readInterval } from "../../requests/time-range.ts";
import { filteredProfile, ownProfile } from "../path-profile.ts";
import { NamedMarket, NewOrderBody, OrderBody, OrderStatus, orderBody, orderRequest } from "./order-body.ts";

const TAGS = ["Orders"];
const OrderParams = Type.Object({ profile_id: ProfileIdParam, id: { ...UuidText, description: "The order's id." } });
const PAGE = { standard: 100, maximum: 1_000 };

const ANNOTATION_FILTERS = annotationFilters(ORDER_ANNOTATIONS);

const FILTERS = {
  ...ANNOTATION_FILTERS.schemas,
  market: Type.Optional(NamedMarket),
  status: Type.Optional({ ...OrderStatus, description: "Only orders with this status." }),
  ...interval("order_time"),
  ref_ids: Repeatable({ ...RefId, description: "The ref_id of an order." }, "Only orders with one of these ref_ids."),
};
const ProfileQuery = ListQuery(FILTERS, PAGE);
const CustomerQuery = ListQuery(
  { profile_id: Type.Optional({ ...ProfileIdParam, description: "Only orders of this profile." }), ...FILTERS },
  PAGE,
);

const INDEXED = ["profile_id", ...ANNOTATION_FILTERS.names];

type Asked = Readonly<Record<string, unknown>>;

/**
 * Orders have no index by market or status. Those in a book are found in a table of their own, which may have a hundred
 * thousand of a customer, and only their status and time have an index there.
 */
function walks(query: Asked): boolean {
  const { status, market, ref_ids: refIds } = query;
  if (!BOOKED.has(status)) return market !== undefined || status !== undefined || isBySeveral(query, INDEXED);
  return refIds === undefined && ["market", ...INDEXED].some((name) => query[name] !== undefined);
}
const BOOKED: ReadonlySet<unknown> = new Set(["OPEN", "SUBMITTED"]);

export function orderRoutes(api: Api, exchange: Exchange, profiles: Pick<Profiles, "find">): void {
  placeRoute(api, exchange);
  cancelRoute(api, exchange);
  readRoute(api, exchange);
  listRoutes(api, exchange, profiles);
}

function placeRoute(api: Api, exchange: Exchange): void {
  api.post(
    "/v2/profiles/:profile_id/orders",
    {
      config: { scope: "exchange:write_order" },
      schema: {
        operationId: "placeOrder",
        tags: TAGS,
        summary: "Place an order",
        description:
          "Holds the funds, stores the order, and submits it to the market. A stored order may be REJECTED: then `reject_reason` says why, and nothing is held. With `await_fill_millis` the response waits for the order to close; a time-out does not affect the order. An order meets at most a thousand resting orders; its remainder is then cancelled. A FOK order is filled by at most a hundred. A customer has at most 20,000 open orders on a market, of which 1,000 stops and 1,000 GTT.",
        params: Type.Object({ profile_id: ProfileIdParam }),
        body: NewOrderBody,
        response: {
          200: OrderBody,
          ...errors(400, 401, 403, ...PLACE_REJECTIONS, 413, 415, 429, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { body, grant, caller } = request;
      const profileId = profileIdOf(request.params.profile_id);
      const placed = await exchange.place(
        orderRequest(body, grant.customerId, profileId, api.dialect.words.enums),
        caller,
      );
      const outcome = await withExisting(placed, "ref_id", async (id) => {
        const existing = await exchange.findOrderOfCustomer(grant.customerId, id as OrderId);
        return existing && orderBody(existing, exchange);
      });
      const order = valueOrThrow(request, outcome);
      const { await_fill_millis: millis = 0 } = body;
      if (millis === 0) return orderBody(order, exchange);
      releaseAdmission(request);
      const closed = await exchange.untilClosed(order, millis, whenClosed(reply));
      // A client that was disabled meanwhile gets the order as placed, and learns nothing of what happened since.
      return orderBody((await api.isStillGranted(request)) ? closed : order, exchange);
    },
  );
}

const PLACE_REJECTIONS = [
  ...(["amount_too_large", "amount_too_small", "exceed_precision", "off_tick", "price_too_large"] as const),
  ...(["unknown_market", "insufficient_funds", "notional_value_too_large", "market_unavailable"] as const),
  ...(["profile_not_found", "already_exists"] as const),
] as const;

/** Aborts when the response was sent or the caller has disconnected. */
function whenClosed(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  onceClosed(reply.raw, () => gone.abort());
  return gone.signal;
}

const CancelRequested = Type.Object(
  {},
  { title: "CancelRequested", description: "Empty: the order may still be filled.", additionalProperties: false },
);

function cancelRoute(api: Api, exchange: Exchange): void {
  api.delete(
    "/v2/profiles/:profile_id/orders/:id",
    {
      config: { scope: "exchange:write_order" },
      schema: {
        operationId: "cancelOrder",
        tags: TAGS,
        summary: "Request the cancellation of an order",
        description:
          "The response confirms that the request is stored. The order may still be filled first: read it for the outcome.",
        params: OrderParams,
        response: {
          200: CancelRequested,
          ...errors(400, 401, 403, "order_not_cancellable", "order_not_found", 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const profileId = profileIdOf(request.params.profile_id);
      const outcome = await exchange.cancel(customerId, profileId, uuidOf<OrderId>(request.params.id), request.caller);
      valueOrThrow(request, outcome);
      return {};
    },
  );
}

function readRoute(api: Api, exchange: Exchange): void {
  api.get(
    "/v2/profiles/:profile_id/orders/:id",
    {
      config: { scope: "exchange:read_order" },
      schema: {
        operationId: "getOrder",
        tags: TAGS,
        summary: "Read an order",
        description: "One of the profile's orders in its current state. Under any other profile it is not found.",
        params: OrderParams,
        response: { 200: OrderBody, ...errors(400, 401, 403, "order_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const profileId = profileIdOf(request.params.profile_id);
      const orderId = uuidOf<OrderId>(request.params.id);
      const order = await exchange.findOrder(customerId, profileId, orderId);
      if (order === undefined) throw problemFor(request, { code: "order_not_found", orderId });
      return orderBody(order, exchange);
    },
  );
}

function listRoutes(api: Api, exchange: Exchange, profiles: Pick<Profiles, "find">): void {
  api.get(
    "/v2/orders",
    {
      config: {
        scope: "exchange:read_order",
        walks,
      },
      schema: {
        operationId: "listOrders",
        tags: TAGS,
        summary: "List orders, newest first",
        description: `The caller's orders of all profiles, including closed ones. Filters combine with AND. ${COMES_LATE}`,
        querystring: CustomerQuery,
        response: { 200: ListOf(OrderBody), ...errors(400, 401, 403, "unknown_market", 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const profileId = await filteredProfile(profiles, customerId, request.query.profile_id);
      return orderPage(exchange, request, request.query, profileId);
    },
  );
  api.get(
    "/v2/profiles/:profile_id/orders",
    {
      config: {
        scope: "exchange:read_order",
        walks: (query) => walks({ ...query, profile_id: true }),
      },
      schema: {
        operationId: "listProfileOrders",
        tags: TAGS,
        summary: "List the orders of a profile, newest first",
        description: `The profile's orders, including closed ones. Filters combine with AND. ${COMES_LATE}`,
        params: Type.Object({ profile_id: ProfileIdParam }),
        querystring: ProfileQuery,
        response: {
          200: ListOf(OrderBody),
          ...errors(400, 401, 403, "profile_not_found", "unknown_market", 429, 500, 503),
        },
      },
    },
    async (request) => {
      const profileId = await ownProfile(profiles, request, request.params.profile_id);
      return orderPage(exchange, request, request.query, profileId);
    },
  );
}

async function orderPage(
  exchange: Exchange,
  request: FastifyRequest & RequestDocumenting<"unknown_market">,
  query: Static<typeof ProfileQuery>,
  profileId: ProfileId | "matches_nothing" | undefined,
) {
  const wanted = pageRequest(request, query, idPosition);
  const { market } = query;
  const markets = exchange.marketCodes();
  if (market !== undefined && markets.every((code) => code !== market))
    throw problemFor(request, { code: "unknown_market", field: "market", market, markets });
  const filter: Omit<Every<OrderFilter>, "profileId" | "ids"> = {
    customerId: request.grant.customerId,
    market,
    ...ANNOTATION_FILTERS.read(query),
    status: query.status,
    refIds: query.ref_ids,
    ...idsWithin(readInterval(query, "order_time")),
    order: "DESC",
    after: wanted.after,
    limit: wanted.limit + 1,
  };
  const orders = profileId === "matches_nothing" ? [] : await exchange.listOrders({ ...filter, profileId });
  return page(
    orders,
    wanted,
    ({ id }) => [id],
    (order) => orderBody(order, exchange),
  );
}
