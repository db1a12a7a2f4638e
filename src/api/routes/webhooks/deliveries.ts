/** What was delivered to a webhook, and how deliveries are tried, repeated and begun again. */
import { type Static, Type } from "typebox";
import type { Webhooks } from "../../../customers/webhooks/webhooks.ts";
import { must } from "../../../std/assert.ts";
import { formatInstant, parseInstant } from "../../../std/clock.ts";
import type { Attempt, Deliveries, ReplayFrom } from "../../../webhooks/deliveries.ts";
import { invalidToken } from "../../access/guard.ts";
import type { Api } from "../../api.ts";
import { idPosition, present, valueOrThrow } from "../../domain-mapping.ts";
import { invalid } from "../../problems/failing-fields.ts";
import { errors } from "../../problems/problem-responses.ts";
import { page, pageRequest } from "../../requests/paging.ts";
import { Body, DateTime, ListOf, ListQuery, NamedEnum, Timestamp, UuidText } from "../../requests/schemas.ts";
import { OneWebhook, WebhookBody, webhookBody, webhookIdOf } from "./webhook-body.ts";

const AttemptBody = Type.Object(
  {
    id: UuidText,
    message_id: Type.String({
      description: "The header `webhook-id`: the event's id; of a strict webhook, the batch's.",
    }),
    number: Type.Optional(
      Type.Integer({ description: "Of the event, or the first of several. Absent of a test.", format: "int64" }),
    ),
    events: Type.Integer({ description: "How many events were posted.", format: "int32" }),
    at: Timestamp,
    millis: Type.Integer({ description: "How long it took.", format: "int32" }),
    status: Type.Optional(Type.Integer({ description: "The HTTP status. Absent without an answer.", format: "int32" })),
    error: Type.Optional(Type.String({ description: "Why it was not accepted. Absent: it was." })),
    answer: Type.Optional(Type.String({ description: "The first KiB of the answer, as text." })),
  },
  { title: "WebhookAttempt", description: "What happened when something was posted to a webhook." },
);

const EnableBody = Body(
  {
    from: NamedEnum(
      "WebhookResumption",
      ["WHERE_IT_STOOD", "NOW"],
      "WHERE_IT_STOOD: what was not delivered meanwhile is, with a batch that a STRICT webhook gave up first. NOW: what failed, and what waits behind it, is given up and counts as undelivered; what was not read yet is skipped, and does not.",
    ),
  },
  { title: "WebhookEnabling", description: "Where its deliveries go on." },
);

const ReplayBody = Body(
  {
    from_number: Type.Optional(
      Type.Integer({
        description: "The event of this number and all after it.",
        format: "int64",
        minimum: 1,
        maximum: 2 ** 47,
      }),
    ),
    from_time: Type.Optional({ ...DateTime, description: "The first event of this time or later, and all after it." }),
    only_undelivered: Type.Optional(
      Type.Boolean({ description: "True: what was given up or waits for its next attempt, up to a thousand events." }),
    ),
  },
  { title: "WebhookReplay", description: "One of these." },
);

const ReplayedBody = Type.Object(
  {
    from_number: Type.Optional(
      Type.Integer({ description: "From which event on. Absent with only_undelivered.", format: "int64" }),
    ),
    events: Type.Optional(Type.Integer({ description: "How many are tried again.", format: "int32" })),
  },
  { title: "WebhookReplayed", description: "What is delivered again." },
);

export function deliveryRoutes(api: Api, webhooks: Webhooks, deliveries: Deliveries): void {
  enableRoute(api, webhooks, deliveries);
  testRoute(api, deliveries);
  replayRoute(api, deliveries);
  attemptsRoute(api, deliveries);
}

function enableRoute(api: Api, webhooks: Webhooks, deliveries: Deliveries): void {
  api.post(
    "/v2/webhooks/:id/enable",
    {
      config: { scope: "webhooks:write_webhook" },
      schema: {
        operationId: "enableWebhook",
        tags: ["Webhooks"],
        summary: "Enable a webhook",
        description: "Its events are posted again. An active one is returned unchanged.",
        params: OneWebhook,
        body: EnableBody,
        response: {
          200: WebhookBody,
          ...errors(400, 401, 403, "too_many_webhooks", "webhook_not_found", 413, 415, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const alongside = deliveries.resume(request.body.from);
      const enabled = await webhooks.enable(customerId, webhookIdOf(request.params.id), alongside, request.caller);
      return webhookBody(valueOrThrow(request, enabled));
    },
  );
}

function testRoute(api: Api, deliveries: Deliveries): void {
  api.post(
    "/v2/webhooks/:id/test",
    {
      config: { scope: "webhooks:write_webhook" },
      schema: {
        operationId: "testWebhook",
        tags: ["Webhooks"],
        summary: "Test a webhook",
        description:
          "Posts a signed event of the type `webhook.test` at once, also to a disabled one. The response says what happened, within 15 s, or 30 s while others are under way.",
        params: OneWebhook,
        response: { 200: AttemptBody, ...errors(400, 401, 403, "webhook_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const tested = await deliveries.test(request.grant.customerId, webhookIdOf(request.params.id), async () => {
        if (!(await api.isStillGranted(request))) throw invalidToken();
      });
      return attemptBody(valueOrThrow(request, tested));
    },
  );
}

function replayRoute(api: Api, deliveries: Deliveries): void {
  api.post(
    "/v2/webhooks/:id/replay",
    {
      config: { scope: "webhooks:write_webhook" },
      schema: {
        operationId: "replayWebhook",
        tags: ["Webhooks"],
        summary: "Deliver events again",
        description:
          "Events from a number or a time on are posted again, as those that follow them; or those that were given up or wait for their next attempt. The ids of events stay the same.",
        params: OneWebhook,
        body: ReplayBody,
        response: {
          200: ReplayedBody,
          ...errors(400, "replay_ahead", 401, 403, "webhook_not_found", 413, 415, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const from = replayFrom(request.body);
      const replayed = await deliveries.replay(request.grant.customerId, webhookIdOf(request.params.id), from);
      const { fromNumber, events } = valueOrThrow(request, replayed);
      return present<Static<typeof ReplayedBody>>({
        from_number: fromNumber === undefined ? undefined : Number(fromNumber),
        events,
      });
    },
  );
}

/** @throws Problem 400 unless it is exactly one */
function replayFrom(body: Static<typeof ReplayBody>): ReplayFrom {
  const { from_number: number, from_time: time, only_undelivered: only } = body;
  const isOnly = only === true;
  if ([number !== undefined, time !== undefined, isOnly].filter(Boolean).length !== 1)
    throw invalid([
      { field: "the body", rule: "does not have exactly one of from_number, from_time, only_undelivered" },
    ]);
  if (number !== undefined) return { fromNumber: BigInt(number) };
  return time === undefined
    ? { onlyUndelivered: true }
    : { fromTime: must(parseInstant(time, "up"), "the schema has checked that this is a time") };
}

function attemptsRoute(api: Api, deliveries: Deliveries): void {
  api.get(
    "/v2/webhooks/:id/attempts",
    {
      config: { scope: "webhooks:read_webhook" },
      schema: {
        operationId: "listWebhookAttempts",
        tags: ["Webhooks"],
        summary: "List a webhook's attempts",
        description: "What was posted and what was answered, the latest first: of 30 days, and at most 1,000.",
        params: OneWebhook,
        querystring: ListQuery({}, { standard: 100, maximum: 100 }),
        response: { 200: ListOf(AttemptBody), ...errors(400, 401, 403, "webhook_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const asked = pageRequest(request, request.query, idPosition);
      const wanted = { before: asked.after, limit: asked.limit + 1 };
      const webhookId = webhookIdOf(request.params.id);
      const found = await deliveries.listAttempts(request.grant.customerId, webhookId, wanted);
      return page(valueOrThrow(request, found), asked, ({ id }) => [id], attemptBody);
    },
  );
}

export function attemptBody({
  id,
  messageId,
  number,
  events,
  at,
  ms,
  status,
  error,
  answer,
}: Attempt): Static<typeof AttemptBody> {
  return present<Static<typeof AttemptBody>>({
    id,
    message_id: messageId,
    number: number === undefined ? undefined : Number(number),
    events,
    at: formatInstant(at),
    millis: ms,
    status,
    error,
    answer: answer?.toString("utf8"),
  });
}
