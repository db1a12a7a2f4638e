/**
 * The OpenAPI 3.1 document, generated from the schemas that validate and serialise, so that it cannot differ from them.
 * The scopes of an operation come from its `config`.
 */
import swagger from "@fastify/swagger";
import type { FastifySchema } from "fastify";
import { SCOPES } from "../../oauth/scopes.ts";
import { PROGRAM_VERSION } from "../../std/program-version.ts";
import type { Dialect } from "../../web/dialect/dialect.ts";
import type { Access } from "../access/guard.ts";
import type { Api } from "../api.ts";
import type { ObjectSchema } from "../requests/body-reader.ts";
import type { Json } from "./document-schemas.ts";
import { finishedDocument } from "./openapi-document.ts";

interface Addresses {
  readonly baseUrl: () => string;
  readonly authUrl: () => string;
  /** Whether the token endpoint answers on baseUrl too. */
  readonly sharesTokens?: boolean;
}

const INTRODUCTION = `Move assets between profiles, mint, redeem and convert stablecoins at par, and trade on an order book.

**Tokens.** Request a token from the token endpoint with the client credentials grant and the scopes that you need. Send a form; authenticate in its body or by HTTP Basic. A token is valid for 3599 seconds. The response names the scopes that it grants.

**Amounts** are decimal strings with at most as many decimals as their asset allows; trailing zeros do not count, and amounts are never rounded. Responses have neither exponents nor trailing zeros. **Times** are RFC 3339. Responses use UTC with three decimals; such a time, sent as an inclusive bound, matches its record.

**Requests.** Unknown body fields and query parameters are rejected; the response names the nearest known one. The name of a query parameter may end in \`[]\`: \`ids[]=a&ids[]=b\` equals \`ids=a&ids=b\`. \`null\` in an optional field equals leaving it out. Another customer's records do not exist for you: reading one is 404, and lists omit them.

**Replay protection.** A success is only sent once it is durable. After a time-out, send the request again with the same \`ref_id\`. If the first request took effect, the response is 409 with the first record in \`meta.existing\`, whatever else was sent. A rejected request does not use up its \`ref_id\`.

**Rate limits** may apply: per API client for operations that need a token, per address for public ones, with or without a token, and for requests without a valid token. They are averages over five minutes. Responses then have \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` (total requests, requests left, seconds until all are available again). Over the limit the response is 429 with \`Retry-After\`.

**Problems** are RFC 9457. Besides those that an operation lists, any request may get 404 or 405 (unknown path or method), 400, 408, 413, 414, 415, 431 or 501 (unreadable, too slow or too long). When several reasons apply, the response gives the first in this order: token, scope, validation, \`ref_id\`, not found, then rules that depend on the current state.

**Lists** are paged: pass \`next_page_cursor\` as \`page_cursor\`, with the same filters, until it is empty. \`limit\` may differ. Every record that existed when the first page was read is returned exactly once.

Identities and accounts are not resources yet: any identity of a customer may trade for any of its accounts.`;

/** Serves the document at /openapi.json. It covers the routes that are added after this call. */
export async function documentRoutes(api: Api, addresses: Addresses): Promise<void> {
  const { words } = api.dialect;
  await api.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Parbook",
        version: PROGRAM_VERSION,
        description: INTRODUCTION,
        license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
      },
      components: {
        securitySchemes: {
          // The address of the token endpoint is filled in when the document is finished.
          oauth2: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "", scopes: scopesIn(words) } } },
        },
      },
    },
    transform: ({ schema, url, route }) => {
      const { scope = "public" } = (route.config ?? {}) as { scope?: Access };
      return { schema: describedOperation(schema ?? {}, scope, words), url };
    },
  });
  let bytes: Buffer | undefined;
  api.get("/openapi.json", { config: { scope: "public" }, schema: { hide: true } }, async (_request, reply) => {
    const baseUrl = addresses.baseUrl();
    const addressed = { baseUrl, tokensUrl: addresses.sharesTokens ? baseUrl : addresses.authUrl() };
    bytes ??= Buffer.from(JSON.stringify(finishedDocument(api.swagger() as unknown as Json, addressed, words)));
    return reply.type("application/json").send(bytes);
  });
}

function scopesIn({ scopes }: Dialect): Record<string, string> {
  return Object.fromEntries(Object.entries(SCOPES).map(([scope, text]) => [scopes.given(scope), text]));
}

function describedOperation(schema: FastifySchema, access: Access, words: Dialect): FastifySchema {
  const { body, querystring } = schema;
  const scopes = access === "public" ? [] : [access].flat().map(words.scopes.given);
  return {
    ...schema,
    ...(body !== undefined && { body: withItems(body as ObjectSchema) }),
    ...(querystring !== undefined && { querystring: withoutRequiredDefaults(querystring as ObjectSchema) }),
    security: scopes.map((scope) => ({ oauth2: [scope] })),
  };
}

/** A parameter with a default is required in its schema, because handlers always get it, but not in the document. */
function withoutRequiredDefaults(query: ObjectSchema): ObjectSchema {
  const { required = [], properties = {} } = query;
  return { ...query, required: required.filter((name) => properties[name]?.default === undefined) };
}

/** Which items a handler validates itself is nothing for the document. */
function withItems(body: ObjectSchema): ObjectSchema {
  const { properties = {} } = body;
  const documented = Object.entries(properties).map(([name, { "x-items": items, ...field }]) => [
    name,
    items === undefined ? field : { ...field, items },
  ]);
  return { ...body, properties: Object.fromEntries(documented) };
}
