import type { FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { Profiles } from "../../../customers/profiles/profiles.ts";
import type { Exchange, OrderFilter, OrderId } from "../../../exchange/exchange.ts";
import type { ProfileId } from "../../../ledger/accounts.ts";
import { releaseAdmission } from "../../access/admission.ts";
import type { Api } from "../../api.ts";
import { errors } from "../../problems/problem-responses.ts";
import { notFound, Problem } from "../../problems/problems.ts";
import { page, pageRequest } from "../../requests/paging.ts";
import {
  AccountId,
  ListOf,
  ListQuery,
  ProfileIdParam,
  RefId,
  Repeatable,
  UuidText,
  uuidOf,
} from "../../requests/schemas.ts";
import { idsWithin, interval, readInterval } from "../../requests/time-range.ts";
import { type Every, idPosition, nameTaken, profileInPath } from "../../wire.ts";
import { filteredProfile, ownProfile } from "../path-profile.ts";
import { MarketText, NewOrderBody, OrderBody, OrderStatus, orderBody, orderRequest } from "./order-body.ts";
import { orderProblem, unknownMarket } from "./order-problems.ts";

const TAGS = ["Orders"];
const OrderParams = Type.Object({ profile_id: ProfileIdParam, id: { ...UuidText, description: "The order's id." } });
const PAGE = { standard: 100, maximum: 1_000 };

const FILTERS = {
  account_id: Type.Optional({ ...AccountId, description: "Only orders of this identity_account_id." }),
  market: Type.Optional(MarketText),
  status: Type.Optional({ ...OrderStatus, description: "Only orders with this status." }),
  ...interval("order_time"),
  ref_ids: Repeatable({ ...RefId, description: "The ref_id of an order." }, "Only orders with one of these ref_ids."),
};
const ProfileQuery = ListQuery(FILTERS, PAGE);
const CustomerQuery = ListQuery(
  { profile_id: Type.Optional({ ...UuidText, description: "Only orders of this profile." }), ...FILTERS },
  PAGE,
);

export function orderRoutes(api: Api, exchange: Exchange, profiles: Pick<Profiles, "find" | "getDefault">): void {
  placeRoute(api, exchange, profiles);
  cancelRoute(api, exchange, profiles);
  readRoute(api, exchange, profiles);
  listRoutes(api, exchange, profiles);
}

function placeRoute(api: Api, exchange: Exchange, profiles: Pick<Profiles, "getDefault">): void {
  api.post(
    "/v2/profiles/:profile_id/orders",
    {
      config: { scope: "exchange:write_order" },
      schema: {
        operationId: "placeOrder",
        tags: TAGS,
        summary: "Place an order",
        description:
          "Holds the funds, stores the order, and submits it to the market. A stored order may be REJECTED: then `reject_reason` says why, and nothing is held. With `await_fill_millis` the response waits for the order to close; a time-out does not affect the order. An order trades with at most a thousand resting orders; its remainder is then cancelled.",
        params: Type.Object({ profile_id: ProfileIdParam }),
        body: NewOrderBody,
        response: {
          200: OrderBody,
          ...errors(400, "exceed-precision", 401, 403, ...PLACING, 404, "already-exists", 413, 415, 429, 500, 503),
        },
      },
    },
    async (request, reply) => {
      const { body, grant, caller } = request;
      const profileId = await profileInPath(profiles, grant.customerId, request.params.profile_id);
      const outcome = await exchange.place(orderRequest(body, grant.customerId, profileId), caller);
      if (outcome.kind === "rejected") throw orderProblem(outcome.rejection, body, exchange.marketCodes());
      if (outcome.kind === "exists") {
        const existing = await exchange.findOrderOfCustomer(grant.customerId, outcome.id as OrderId);
        throw nameTaken("ref_id", body, existing && orderBody(existing, exchange));
      }
      const { await_fill_millis: millis = 0 } = body;
      if (millis === 0) return orderBody(outcome.value, exchange);
      releaseAdmission(request);
      return orderBody(await exchange.untilClosed(outcome.value, millis, whenClosed(reply)), exchange);
    },
  );
}

const PLACING = ["insufficient-funds", "notional-value-too-large", "unavailable-market"] as const;

/** Aborts when the response was sent or the caller has disconnected. */
function whenClosed(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return gone.signal;
}

function cancelRoute(api: Api, exchange: Exchange, profiles: Pick<Profiles, "getDefault">): void {
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
        response: { 200: Type.Object({}), ...errors(400, 401, 403, "not-cancellable", 404, 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const profileId = await profileInPath(profiles, customerId, request.params.profile_id);
      const outcome = await exchange.cancel(
        customerId,
        profileId,
        uuidOf(request.params.id) as OrderId,
        request.caller,
      );
      if (outcome.kind !== "rejected") return {};
      if (outcome.rejection.code === "order_not_found") throw orderNotFound(request.params.id);
      const meta = { status: outcome.rejection.status };
      throw new Problem("not-cancellable", "order is not in cancellable state", { meta });
    },
  );
}

function readRoute(api: Api, exchange: Exchange, profiles: Pick<Profiles, "getDefault">): void {
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
        response: { 200: OrderBody, ...errors(400, 401, 403, 404, 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const profileId = await profileInPath(profiles, customerId, request.params.profile_id);
      const order = await exchange.findOrder(customerId, profileId, uuidOf(request.params.id) as OrderId);
      if (order === undefined) throw orderNotFound(request.params.id);
      return orderBody(order, exchange);
    },
  );
}

const orderNotFound = (id: string): Problem => notFound(`order not found: ${id}`);

function listRoutes(api: Api, exchange: Exchange, profiles: Pick<Profiles, "find" | "getDefault">): void {
  api.get(
    "/v2/orders",
    {
      config: { scope: "exchange:read_order" },
      schema: {
        operationId: "listOrders",
        tags: TAGS,
        summary: "List orders, newest first",
        description: "The caller's orders of all profiles, including closed ones. Filters combine with AND.",
        querystring: CustomerQuery,
        response: { 200: ListOf(OrderBody), ...errors(400, 401, 403, 429, 500, 503) },
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
      config: { scope: "exchange:read_order" },
      schema: {
        operationId: "listProfileOrders",
        tags: TAGS,
        summary: "List the orders of a profile, newest first",
        description: "The profile's orders, including closed ones. Filters combine with AND.",
        params: Type.Object({ profile_id: ProfileIdParam }),
        querystring: ProfileQuery,
        response: { 200: ListOf(OrderBody), ...errors(400, 401, 403, 404, 429, 500, 503) },
      },
    },
    async (request) => {
      const profileId = await ownProfile(profiles, request.grant.customerId, request.params.profile_id);
      return orderPage(exchange, request, request.query, profileId);
    },
  );
}

async function orderPage(
  exchange: Exchange,
  request: FastifyRequest,
  query: Static<typeof ProfileQuery>,
  profileId: ProfileId | "matches_nothing" | undefined,
) {
  const wanted = pageRequest(request, query, idPosition);
  const { market } = query;
  const codes: readonly string[] = exchange.marketCodes();
  if (market !== undefined && !codes.includes(market)) throw unknownMarket(market, exchange.marketCodes());
  const filter: Omit<Every<OrderFilter>, "profileId" | "ids"> = {
    customerId: request.grant.customerId,
    market,
    accountId: query.account_id,
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
