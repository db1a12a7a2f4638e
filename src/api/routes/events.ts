/** Events: what happened, in order and numbered, each with its object as it was then. */
import { setMaxListeners } from "node:events";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { CustomerId } from "../../customers/customer-id.ts";
import {
  type CustomerEvent,
  EVENT_TYPES,
  type EventFilter,
  type EventPage,
  type Events,
  OBJECT_TYPES,
} from "../../events/events.ts";
import { type Exchange, shownExecution } from "../../exchange/exchange.ts";
import { formatInstant } from "../../std/clock.ts";
import { parseUuid } from "../../std/id.ts";
import { pause, restMs } from "../../std/pause.ts";
import type { Deliveries } from "../../webhooks/deliveries.ts";
import { invalidToken } from "../access/guard.ts";
import { releaseAdmission } from "../access/request-admission.ts";
import type { Api } from "../api.ts";
import type { ApiDialect } from "../dialect/api-dialect.ts";
import { type Every, present } from "../domain-mapping.ts";
import { untilNews, type Waiters } from "../event-streams/waiters.ts";
import { SHOWN_AS } from "../openapi/document-schemas.ts";
import { invalid } from "../problems/failing-fields.ts";
import { errors } from "../problems/problem-responses.ts";
import { notFound, Problem } from "../problems/problems.ts";
import { encodeCursor, pageRequest } from "../requests/paging.ts";
import {
  ListQuery,
  NamedEnum,
  OBJECT_ID_PATTERN,
  ProfileIdParam,
  Repeatable,
  Timestamp,
  UuidText,
  uuidOf,
} from "../requests/schemas.ts";
import { madeOnce } from "../requests/shared-bodies.ts";
import { comparisons, readComparisons } from "../requests/time-range.ts";
import { ConversionBody, conversionBody } from "./conversions.ts";
import { ExecutionBody, executionBody } from "./executions.ts";
import { MarketEventBody, marketEventBody } from "./markets/markets.ts";
import { OrderBody, orderBody } from "./orders/order-body.ts";
import { ProfileBody, profileBody } from "./profiles.ts";
import { TransferBody, transferBody } from "./transfer-record.ts";
import { WebhookEventBody, webhookEventBody } from "./webhooks/webhook-event.ts";

const EventType = NamedEnum("EventType", EVENT_TYPES, "What happened; docs/events.md has an example of each.");

const EventNumber = Type.Integer({
  description: "Numbers the caller's events from 1, without gaps.",
  format: "int64",
  minimum: 1,
});

const OBJECT_BODIES = {
  transfer: TransferBody,
  execution: ExecutionBody,
  conversion: ConversionBody,
  order: OrderBody,
  profile: ProfileBody,
  market: MarketEventBody,
  webhook: WebhookEventBody,
} as const satisfies Record<CustomerEvent["object"]["type"], object>;

export const EventBody = Type.Object(
  {
    id: { ...UuidText, description: "The same however often the event is read." },
    number: EventNumber,
    type: EventType,
    object_type: NamedEnum("EventObjectType", OBJECT_TYPES, "What it happened to."),
    version: Type.Optional(
      Type.Integer({
        description: "The version of the object; rises with each change of it. Absent if it never changes.",
      }),
    ),
    object: Type.Unsafe<object>({
      type: "object",
      "x-word": "done",
      description:
        "The object as it was after this event, whatever became of it later: a Transfer, Execution, Conversion, Order or Profile, as its own operation returns it; of a Market its code and status; of a Webhook why it was disabled.",
      additionalProperties: true,
      [SHOWN_AS]: { anyOf: Object.values(OBJECT_BODIES) },
    }),
    created_at: { ...Timestamp, description: "When the event was made. Rises with the number." },
    is_test: Type.Boolean({ description: "Whether this is a sandbox." }),
    undelivered_webhooks: Type.Integer({
      description: "To how many webhooks it could not be delivered, and is not tried any more.",
      format: "int32",
    }),
  },
  { title: "Event", description: "Something that happened to one of the caller's objects." },
);

const EventList = Type.Object(
  {
    events: Type.Array(EventBody),
    next_page_cursor: Type.String({
      description:
        "Pass it as page_cursor to get the next page; empty when there is nothing more by now. A page with filters may be short, or empty, and not be the last.",
    }),
    first_number: Type.Integer({
      description: "The number of the oldest event that is still listed; 0 without any.",
      format: "int64",
    }),
  },
  { title: "EventList", description: "A page of events." },
);

export const EVENT_FILTERS = {
  type: Repeatable(EventType, "Events of these types."),
  object_id: Type.Optional(
    Type.String({
      description:
        "Events of this transfer, conversion, order, profile or webhook, by its id; of an execution, by its execution_id; of a market, by its code.",
      pattern: OBJECT_ID_PATTERN,
      "x-check": "object_id",
      "x-word": "market",
    }),
  ),
  profile_id: Type.Optional({ ...ProfileIdParam, description: "Events of objects of this profile." }),
  after_number: Type.Optional(
    Type.Integer({
      description: "Events after this one; the event need not exist.",
      format: "int64",
      minimum: 0,
      maximum: 2 ** 47,
    }),
  ),
};

const IsTest = Type.Optional(Type.Boolean({ description: "Only events of a sandbox, or only of production." }));

const IsTestQuery = Type.Object({ is_test: IsTest });

const ListEventsQuery = ListQuery(
  {
    ...EVENT_FILTERS,
    ...comparisons("created_at"),
    is_test: IsTest,
    order: Type.Optional(NamedEnum("EventOrder", ["ASC"], "Oldest first, the only order.")),
    wait_millis: Type.Optional(
      Type.Integer({
        description: "If there is no event, how long the response may wait for one, in milliseconds.",
        default: 0,
        minimum: 0,
        maximum: 30_000,
      }),
    ),
  },
  { standard: 100, maximum: 100 },
);

export interface EventRoutesOptions {
  readonly events: Events;
  readonly deliveries: Pick<Deliveries, "countUndelivered">;
  readonly exchange: Pick<Exchange, "averagePrice" | "quoteAssetOf">;
  readonly isTest: boolean;
  readonly waiters: Waiters;
}

export function eventRoutes(api: Api, options: EventRoutesOptions): void {
  // What no operation returns, such as why a webhook was disabled, a dialect may have another word for too.
  for (const body of Object.values(OBJECT_BODIES)) api.dialect.add(body);
  listRoute(api, options);
  findRoute(api, options);
}

function listRoute(api: Api, options: EventRoutesOptions): void {
  const { events, isTest, waiters } = options;
  const stop = new AbortController();
  // One for each that waits: their number has its bound elsewhere.
  setMaxListeners(0, stop.signal);
  api.addHook("preClose", async () => stop.abort());
  const bodiesOf = madeOnce((page: EventPage, customerId: CustomerId) =>
    eventBodies(page.events, customerId, options, api.dialect),
  );
  api.get(
    "/v2/events",
    {
      config: { scope: "events:read_event", walks: isSearch },
      schema: {
        operationId: "listEvents",
        tags: ["Events"],
        summary: "List events",
        description:
          "The caller's events, oldest first. To follow them, repeat with `after_number`, the number of the last event, and `wait_millis`. While `next_page_cursor` is not empty, add it as `page_cursor`: so much did not match a filter. Filters combine with AND, the values of one filter with OR.",
        querystring: ListEventsQuery,
        response: { 200: EventList, ...errors(400, 401, 403, 429, 500, 503) },
      },
    },
    async (request, reply) => {
      const { query, grant } = request;
      const asked = pageRequest(request, query, numberPosition);
      const filter = filterOf(grant.customerId, query, asked);
      const { first, last } = await events.bounds(grant.customerId);
      if (filter.after > last) throw afterTheLast(asked.after === undefined ? "after_number" : "page_cursor", last);
      const found = await listOrWait(
        { events, waiters, stopping: stop.signal },
        filter,
        query.wait_millis ?? 0,
        request,
        reply,
      );
      return {
        events: isWanted(query, isTest) ? await bodiesOf(found, grant.customerId) : [],
        next_page_cursor: found.isLast ? "" : encodeCursor(asked.list, [found.searchedTo.toString()]),
        first_number: Number(first),
      };
    },
  );
}

/** All events of a service are of a sandbox, or none. */
const isWanted = ({ is_test: wanted }: Static<typeof IsTestQuery>, isTest: boolean): boolean =>
  wanted === undefined || wanted === isTest;

/** The position in a cursor: a number of an event. */
function numberPosition(position: readonly string[]): bigint | undefined {
  const [number = ""] = position;
  return position.length === 1 && /^[0-9]{1,15}$/.test(number) ? BigInt(number) : undefined;
}

type EventQuery = Static<typeof ListEventsQuery>;

function filterOf(
  customerId: CustomerId,
  query: EventQuery,
  { after, limit }: { readonly after: bigint | undefined; readonly limit: number },
): Every<EventFilter> {
  const created = readComparisons(query, "created_at");
  return {
    ...objectFilterOf(query),
    customerId,
    createdFrom: created.from,
    createdBefore: created.before,
    after: after ?? BigInt(query.after_number ?? 0),
    limit,
    mostBytes: undefined,
  };
}

/** Numbers only begin again below one that was read when the database was restored: what was read no longer holds. */
export const afterTheLast = (field: string, last: bigint): Problem =>
  invalid([
    {
      field,
      rule: `is after the last event, ${last}. If you have read it, the database was restored to an earlier time`,
    },
  ]);

/** What matches may be rare among all events of the caller. A request that waits for it looks again at every event. */
function isSearch(query: Readonly<Record<string, unknown>>): boolean {
  const { type, object_id: objectId, profile_id: profileId, wait_millis: wait = 0 } = query;
  if ((type ?? objectId ?? profileId) !== undefined) return true;
  if (wait === 0) return false;
  const { from, before } = readComparisons(query, "created_at");
  return (from ?? before) !== undefined;
}

/** The filters that a list and a stream share. */
export function objectFilterOf(
  query: Pick<EventQuery, "type" | "object_id" | "profile_id">,
): Pick<Every<EventFilter>, "types" | "objectId" | "profileId"> {
  return {
    types: query.type,
    objectId: query.object_id === undefined ? undefined : objectIdOf(query.object_id),
    profileId: query.profile_id?.toLowerCase(),
  };
}

/** As events have it: digits without leading zeros, UUIDs in small letters. */
const objectIdOf = (text: string): string =>
  /^[0-9]+$/.test(text) ? BigInt(text).toString() : (parseUuid(text) ?? text);

/**
 * A request that looks again and has found nothing keeps its place for so many times longer than it looked: others of its caller
 * would be next, and a hundred that wait for what never comes have no other pace.
 */
const RESTS = 2;

/**
 * A page with an event, or the page as it is when the time is up or the service stops.
 * @throws Problem 401 when the token ends meanwhile
 */
async function listOrWait(
  { events, waiters, stopping }: Pick<EventRoutesOptions, "events" | "waiters"> & { readonly stopping: AbortSignal },
  filter: EventFilter,
  waitMillis: number,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<EventPage> {
  const endsAt = performance.now() + waitMillis;
  const isAwaited = (): boolean => !reply.raw.destroyed;
  const leave = waitMillis === 0 ? undefined : waiters.enter(request);
  if (leave === undefined) return events.list(filter, isAwaited);
  const news = untilNews(events, filter.customerId, reply.raw, stopping);
  try {
    for (let [after, looksAgain] = [filter.after, false]; ; looksAgain = true) {
      const startedMs = performance.now();
      const page = await events.list({ ...filter, after }, isAwaited);
      const nowMs = performance.now();
      if (page.events.length > 0 || endsAt <= nowMs || !isAwaited()) return page;
      if (looksAgain || !page.isLast) await pause(Math.min(restMs(nowMs - startedMs, RESTS), endsAt - nowMs));
      releaseAdmission(request);
      after = page.searchedTo;
      // Behind a page that was ended because so much did not match, it is looked for at once.
      if (page.isLast) await news.wait(Math.max(endsAt - performance.now(), 0));
      // One event wakes all that wait. Without a place to look again the caller comes again itself: nothing is missed.
      if (stopping.aborted || !(await isAdmittedAgain(request))) return page;
      if (!(await request.server.isStillGranted(request))) throw invalidToken();
    }
  } finally {
    news.stop();
    leave();
  }
}

async function isAdmittedAgain(request: FastifyRequest): Promise<boolean> {
  try {
    await request.enterAgain?.();
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

function findRoute(api: Api, options: EventRoutesOptions): void {
  const { events, isTest } = options;
  api.get(
    "/v2/events/:id",
    {
      config: { scope: "events:read_event" },
      schema: {
        operationId: "getEvent",
        tags: ["Events"],
        summary: "Read an event",
        description: "One of the caller's events, with its object as it was then.",
        params: Type.Object({ id: { ...UuidText, description: "The event's id." } }),
        querystring: IsTestQuery,
        response: { 200: EventBody, ...errors(400, 401, 403, 404, 429, 500, 503) },
      },
    },
    async ({ grant, params, query }) => {
      const id = uuidOf(params.id);
      const event = isWanted(query, isTest) ? await events.find(grant.customerId, id) : undefined;
      const [body] = event === undefined ? [] : await eventBodies([event], grant.customerId, options, api.dialect);
      if (body === undefined) throw notFound(`event not found: ${id}`);
      return body;
    },
  );
}

export async function eventBodies(
  events: readonly CustomerEvent[],
  customerId: CustomerId,
  { deliveries, ...options }: Pick<EventRoutesOptions, "deliveries" | "exchange" | "isTest">,
  dialect: ApiDialect,
): Promise<Static<typeof EventBody>[]> {
  const numbers = events.map(({ number }) => number);
  const undelivered = numbers.length === 0 ? undefined : await deliveries.countUndelivered(customerId, numbers);
  return events.map((event) => eventBody(event, options, dialect, undelivered?.get(event.number) ?? 0));
}

/** The event in our words, with its object in the caller's: the schema of an event does not say what object it has. */
export function eventBody(
  { id, number, type, version, object, createdAt }: CustomerEvent,
  { exchange, isTest }: Pick<EventRoutesOptions, "exchange" | "isTest">,
  dialect: ApiDialect,
  undeliveredWebhooks: number,
): Static<typeof EventBody> {
  return present<Static<typeof EventBody>>({
    id,
    number: Number(number),
    type,
    object_type: object.type,
    version: version === undefined ? undefined : Number(version),
    object: dialect.giver(OBJECT_BODIES[object.type])(objectBody(object, exchange)),
    created_at: formatInstant(createdAt),
    is_test: isTest,
    undelivered_webhooks: undeliveredWebhooks,
  });
}

function objectBody(
  object: CustomerEvent["object"],
  exchange: Pick<Exchange, "averagePrice" | "quoteAssetOf">,
): object {
  if (object.type === "transfer") return transferBody(object.value);
  if (object.type === "execution") return executionBody(shownExecution(object.value), exchange);
  if (object.type === "conversion") return conversionBody(object.value);
  if (object.type === "market") return marketEventBody(object.value);
  if (object.type === "webhook") return webhookEventBody(object.value);
  return object.type === "order" ? orderBody(object.value, exchange) : profileBody(object.value);
}
