/** A customer's API clients, without their secrets, which it may disable. The operator makes them. */
import { type Static, Type } from "typebox";
import type { ClientFilter, ClientPosition, Clients, ListedClient } from "../../customers/clients/clients.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { heldScopes } from "../../oauth/scopes.ts";
import { formatInstant, parseInstant } from "../../std/clock.ts";
import type { Api } from "../api.ts";
import { type Every, present } from "../domain-mapping.ts";
import { errors } from "../problems/problem-responses.ts";
import { notFound } from "../problems/problems.ts";
import { logOf } from "../request-id.ts";
import { page, pageRequest } from "../requests/paging.ts";
import { ListOf, ListQuery, NamedEnum, Order, Repeatable, Timestamp, UuidText } from "../requests/schemas.ts";

const ClientId = Type.String({ description: "A client_id.", minLength: 1, maxLength: 100 });

const Status = NamedEnum(
  "ApiCredentialStatus",
  ["APPROVED", "DISABLED"],
  "A disabled client gets no tokens, and those that it has are not accepted.",
);

const ApiCredentialBody = Type.Object(
  {
    id: Type.String({ description: "The same as client_id." }),
    customer_id: UuidText,
    client_id: Type.String({ description: "What the client authenticates with, beside its secret." }),
    status: Status,
    client_scopes: Type.Array(Type.String({ "x-word": "scope" }), { description: "The scopes that it holds." }),
    ip_allowlist: Type.Array(Type.String(), { description: "The networks that it may call from. Empty: any." }),
    created_at: Timestamp,
    disabled_at: Type.Optional(Timestamp),
  },
  { title: "ApiCredential", description: "A program that calls the API for its customer." },
);

const DeletedBody = Type.Object(
  { credentials: ApiCredentialBody },
  { title: "DeletedApiCredentials", description: "The client, which is disabled." },
);

const ListClientsQuery = ListQuery(
  {
    statuses: Repeatable(Status, "Clients of these statuses. Absent: APPROVED."),
    ids: Repeatable(ClientId, "These clients."),
    client_ids: Repeatable(ClientId, "These clients."),
    order_by: { ...NamedEnum("ApiCredentialSortKey", ["CREATED_AT"], "The sort key."), default: "CREATED_AT" },
    order: Order("DESC"),
  },
  { standard: 1000, maximum: 1000 },
);

export function clientRoutes(api: Api, clients: Pick<Clients, "list" | "disableOf">): void {
  listRoute(api, clients);
  disableRoute(api, clients);
}

function listRoute(api: Api, clients: Pick<Clients, "list">): void {
  api.get(
    "/v2/api-creds/credentials",
    {
      config: { scope: "api_creds:read_credentials" },
      schema: {
        operationId: "listApiCredentials",
        tags: ["API credentials"],
        summary: "List API clients",
        description: "The caller's API clients by creation time, without their secrets. Filters combine with AND.",
        querystring: ListClientsQuery,
        response: { 200: ListOf(ApiCredentialBody), ...errors(400, 401, 403, 429, 500, 503) },
      },
    },
    async (request) => {
      const { query, grant } = request;
      const asked = pageRequest(request, query, positionIn);
      const statuses = new Set(query.statuses ?? ["APPROVED"]);
      const filter: Every<ClientFilter> = {
        customerId: grant.customerId,
        ids: query.ids,
        clientIds: query.client_ids,
        isDisabled: statuses.size > 1 ? undefined : statuses.has("DISABLED"),
        order: query.order,
        after: asked.after,
        limit: asked.limit + 1,
      };
      return page(
        await clients.list(filter),
        asked,
        ({ createdAt, clientId }) => [formatInstant(createdAt), clientId],
        (client) => credentialBody(grant.customerId, client),
      );
    },
  );
}

function positionIn([time = "", clientId = "", ...more]: readonly string[]): ClientPosition | undefined {
  const createdAt = parseInstant(time, "down");
  return createdAt === undefined || clientId === "" || more.length > 0 ? undefined : { createdAt, clientId };
}

function disableRoute(api: Api, clients: Pick<Clients, "disableOf">): void {
  api.delete(
    "/v2/api-creds/credentials/:client_id",
    {
      config: { scope: "api_creds:delete_credentials" },
      schema: {
        operationId: "deleteApiCredentials",
        tags: ["API credentials"],
        summary: "Disable an API client",
        description:
          "Disables one of the caller's API clients for good, also the calling one: it gets no more tokens, and those that it has are rejected within seconds. A disabled client is returned unchanged.",
        params: Type.Object({ client_id: ClientId }),
        response: {
          200: DeletedBody,
          ...errors(400, 401, 403, 404, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { customerId, clientId } = request.grant;
      const { client_id: named } = request.params;
      const client = await clients.disableOf(customerId, named, request.caller);
      if (client === undefined) throw notFound(`API credentials not found: ${named}`);
      logOf(request).warn({ client_id: named, disabled_by: clientId }, "a client was disabled through the API");
      return { credentials: credentialBody(customerId, client) };
    },
  );
}

function credentialBody(customerId: CustomerId, client: ListedClient): Static<typeof ApiCredentialBody> {
  return present<Static<typeof ApiCredentialBody>>({
    id: client.clientId,
    customer_id: customerId,
    client_id: client.clientId,
    status: client.disabledAt === undefined ? "APPROVED" : "DISABLED",
    client_scopes: [...heldScopes(client.scopes)],
    ip_allowlist: [...(client.networks ?? [])],
    created_at: formatInstant(client.createdAt),
    disabled_at: client.disabledAt === undefined ? undefined : formatInstant(client.disabledAt),
  });
}
