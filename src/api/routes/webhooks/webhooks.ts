/** Webhooks: where a customer wants its events posted (docs/contract/webhooks.md). */
import { Type } from "typebox";
import type { CustomerId } from "../../../customers/customer-id.ts";
import type { WebhookFilter, WebhookId, Webhooks } from "../../../customers/webhooks/webhooks.ts";
import { type Result, reject } from "../../../std/result.ts";
import type { Deliveries } from "../../../webhooks/deliveries.ts";
import type { Api } from "../../api.ts";
import { type Every, idPosition, problemFor, valueOrThrow } from "../../domain-mapping.ts";
import { errors } from "../../problems/problem-responses.ts";
import type { AlreadyExists } from "../../problems/rejection-problems.ts";
import { page, pageRequest } from "../../requests/paging.ts";
import { Body, ListOf, ListQuery, Order, Repeatable } from "../../requests/schemas.ts";
import { deliveryRoutes } from "./deliveries.ts";
import {
  NewWebhookBody,
  OneWebhook,
  ShownWebhookBody,
  shownWebhookBody,
  WebhookBody,
  WebhookStatus,
  webhookBody,
  webhookIdOf,
  webhookRequest,
} from "./webhook-body.ts";

const ListWebhooksQuery = ListQuery(
  { statuses: Repeatable(WebhookStatus, "Webhooks of these statuses."), order: Order("ASC") },
  { standard: 100, maximum: 100 },
);

const RotateBody = Body(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        description: "How long the former secrets sign too: a day, unless it is sent. 0 ends them at once.",
        format: "int32",
        minimum: 0,
        maximum: 604_800,
      }),
    ),
  },
  { title: "WebhookSecretRotation", description: "When the former secrets end." },
);

const PublicKeysBody = Type.Object(
  { public_keys: Type.Array(Type.String()) },
  { title: "WebhookPublicKeys", description: "With which signatures of `v1a` are verified, the newest first." },
);

export function webhookRoutes(api: Api, webhooks: Webhooks, deliveries: Deliveries): void {
  createRoute(api, webhooks, deliveries);
  listRoute(api, webhooks, deliveries);
  findRoute(api, webhooks, deliveries);
  updateRoute(api, webhooks);
  deleteRoute(api, webhooks);
  rotateRoute(api, webhooks);
  disableRoute(api, webhooks);
  publicKeysRoute(api, webhooks);
  deliveryRoutes(api, webhooks, deliveries);
}

function createRoute(api: Api, webhooks: Webhooks, deliveries: Deliveries): void {
  api.post(
    "/v2/webhooks",
    {
      config: { scope: "webhooks:write_webhook" },
      schema: {
        operationId: "createWebhook",
        tags: ["Webhooks"],
        summary: "Create a webhook",
        description:
          "The caller's events from now on are posted to the URL. The response has the secret that verifies them, which is not shown again.",
        body: NewWebhookBody,
        response: {
          200: ShownWebhookBody,
          ...errors(400, "invalid_webhook", 401, 403, "too_many_webhooks", "already_exists", 413, 415, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const asked = webhookRequest(request.body);
      const made = await webhooks.create(customerId, asked, deliveries.begin, request.caller);
      return shownWebhookBody(valueOrThrow(request, await withHolder(webhooks, customerId, made)));
    },
  );
}

/** With the webhook that has the name. */
async function withHolder<Value, Why extends { readonly code: string }>(
  webhooks: Webhooks,
  customerId: CustomerId,
  outcome: Result<Value, Why | { readonly code: "webhook_name_taken"; readonly holder: WebhookId }>,
): Promise<Result<Value, Exclude<Why, { readonly code: "webhook_name_taken" }> | AlreadyExists>> {
  if (outcome.kind === "done") return outcome;
  const { rejection } = outcome;
  if (!("holder" in rejection)) return outcome as Result<Value, Exclude<Why, { readonly code: "webhook_name_taken" }>>;
  const holder = await webhooks.find(customerId, rejection.holder);
  const existing = holder === undefined ? {} : webhookBody(holder);
  return reject({ code: "already_exists", field: "name", existing });
}

function listRoute(api: Api, webhooks: Webhooks, deliveries: Deliveries): void {
  api.get(
    "/v2/webhooks",
    {
      // Of each up to a thousand open rows are counted.
      config: { scope: "webhooks:read_webhook", walks: () => true },
      schema: {
        operationId: "listWebhooks",
        tags: ["Webhooks"],
        summary: "List webhooks",
        description: "The caller's webhooks by creation time, without their secrets.",
        querystring: ListWebhooksQuery,
        response: { 200: ListOf(WebhookBody), ...errors(400, 401, 403, 429, 500, 503) },
      },
    },
    async (request) => {
      const { query, grant } = request;
      const asked = pageRequest(request, query, idPosition);
      const statuses = new Set(query.statuses);
      const filter: Every<WebhookFilter> = {
        customerId: grant.customerId,
        isActive: statuses.size === 1 ? statuses.has("ACTIVE") : undefined,
        order: query.order,
        after: asked.after,
        limit: asked.limit + 1,
      };
      const found = await webhooks.list(filter);
      const backlogs = await deliveries.readBacklogs(found.map(({ id }) => id));
      return page(
        found,
        asked,
        ({ id }) => [id],
        (webhook) => webhookBody(webhook, backlogs.get(webhook.id)),
      );
    },
  );
}

function findRoute(api: Api, webhooks: Webhooks, deliveries: Deliveries): void {
  api.get(
    "/v2/webhooks/:id",
    {
      config: { scope: "webhooks:read_webhook" },
      schema: {
        operationId: "getWebhook",
        tags: ["Webhooks"],
        summary: "Read a webhook",
        description: "One of the caller's webhooks, without its secrets.",
        params: OneWebhook,
        response: { 200: WebhookBody, ...errors(400, 401, 403, "webhook_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const webhookId = webhookIdOf(request.params.id);
      const webhook = await webhooks.find(request.grant.customerId, webhookId);
      if (webhook === undefined) throw problemFor(request, { code: "webhook_not_found", webhookId });
      return webhookBody(webhook, (await deliveries.readBacklogs([webhookId])).get(webhookId));
    },
  );
}

function updateRoute(api: Api, webhooks: Webhooks): void {
  api.put(
    "/v2/webhooks/:id",
    {
      config: { scope: "webhooks:write_webhook" },
      schema: {
        operationId: "updateWebhook",
        tags: ["Webhooks"],
        summary: "Change a webhook",
        description:
          "Replaces all that was set when it was created: what is not sent gets its default. It goes on where it is. What signs it stays.",
        params: OneWebhook,
        body: NewWebhookBody,
        response: {
          200: WebhookBody,
          ...errors(400, "invalid_webhook", 401, 403, "webhook_not_found", "already_exists", 413, 415, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const asked = webhookRequest(request.body);
      const updated = await webhooks.update(customerId, webhookIdOf(request.params.id), asked, request.caller);
      return webhookBody(valueOrThrow(request, await withHolder(webhooks, customerId, updated)));
    },
  );
}

function deleteRoute(api: Api, webhooks: Webhooks): void {
  api.delete(
    "/v2/webhooks/:id",
    {
      config: { scope: "webhooks:write_webhook" },
      schema: {
        operationId: "deleteWebhook",
        tags: ["Webhooks"],
        summary: "Delete a webhook",
        description: "For good. Nothing more is posted to it, within seconds. The response is what it was.",
        params: OneWebhook,
        response: { 200: WebhookBody, ...errors(400, 401, 403, "webhook_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const deleted = await webhooks.delete(customerId, webhookIdOf(request.params.id), request.caller);
      return webhookBody(valueOrThrow(request, deleted));
    },
  );
}

function rotateRoute(api: Api, webhooks: Webhooks): void {
  api.post(
    "/v2/webhooks/:id/rotate-secret",
    {
      config: { scope: "webhooks:write_webhook" },
      schema: {
        operationId: "rotateWebhookSecret",
        tags: ["Webhooks"],
        summary: "Rotate a webhook's secrets",
        description:
          "Gives it a new secret and a new pair of keys. The former ones sign beside them until the overlap ends: of each kind, at most four sign.",
        params: OneWebhook,
        body: RotateBody,
        response: {
          200: ShownWebhookBody,
          ...errors(400, 401, 403, "webhook_not_found", 413, 415, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const overlapMs = (request.body.overlap_seconds ?? 86_400) * 1_000;
      const id = webhookIdOf(request.params.id);
      const rotated = await webhooks.rotateSecret(customerId, id, overlapMs, request.caller);
      return shownWebhookBody(valueOrThrow(request, rotated));
    },
  );
}

function disableRoute(api: Api, webhooks: Webhooks): void {
  api.post(
    "/v2/webhooks/:id/disable",
    {
      config: { scope: "webhooks:write_webhook" },
      schema: {
        operationId: "disableWebhook",
        tags: ["Webhooks"],
        summary: "Disable a webhook",
        description:
          "Nothing more is posted to it, within seconds, until it is enabled. A disabled one is returned unchanged.",
        params: OneWebhook,
        response: { 200: WebhookBody, ...errors(400, 401, 403, "webhook_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const { customerId } = request.grant;
      const disabled = await webhooks.disableBy(request.caller, customerId, webhookIdOf(request.params.id));
      return webhookBody(valueOrThrow(request, disabled));
    },
  );
}

/** Public: receivers get the URL, and they are no clients. */
function publicKeysRoute(api: Api, webhooks: Webhooks): void {
  api.get(
    "/v2/webhooks/:id/public-keys",
    {
      config: { scope: "public" },
      schema: {
        operationId: "listWebhookPublicKeys",
        tags: ["Webhooks"],
        summary: "Read a webhook's public keys",
        description: "For receivers, which need no token. Of its signatures of `v1a`, one is valid for one of these.",
        params: OneWebhook,
        response: { 200: PublicKeysBody, ...errors(400, "webhook_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const webhookId = webhookIdOf(request.params.id);
      const keys = await webhooks.findPublicKeys(webhookId);
      if (keys === undefined) throw problemFor(request, { code: "webhook_not_found", webhookId });
      return { public_keys: [...keys] };
    },
  );
}
