/**
 * Completes the OpenAPI document that is generated from the routes: addresses, tags, response descriptions, and named
 * schemas as components.
 */
import { isDeepStrictEqual } from "node:util";
import { tokenPath } from "../../oauth/oauth.ts";
import { assert, must } from "../../std/assert.ts";
import { type Dialect, OWN_DIALECT } from "../../web/dialect/dialect.ts";

export type Json = { [member: string]: unknown };

/** Descriptions of the tags. Every operation has one of them. */
const TAGS: Readonly<Record<string, string>> = {
  Tokens: "Access tokens, which every request needs except to public operations.",
  Profiles: "Profiles hold balances. Every customer has one DEFAULT profile and any number of others.",
  Balances: "The balances of a profile: available, and held by open orders.",
  Sandbox: "Simulated deposits. In sandbox mode only.",
  Transfers: "Movements of assets between profiles, deposits and withdrawals.",
  Conversions: "Minting, redeeming and converting stablecoins at par.",
  Orders: "Placing, reading and cancelling orders.",
  Executions: "Each party's record of a trade.",
  Events:
    "What happens, in order and numbered without gaps. Live as Server-Sent Events at `/v2/events/stream` on this address; see docs/events.md.",
  Markets: "The markets and their limits. Public.",
  "Market data":
    "Order books, prices and recent trades of each market. Public, except candles. Live updates are available over WebSocket at `/marketdata/{market}` and `/executiondata/{market}` on this address; see docs/market-data.md.",
};

const REQUEST_ID_HEADER = {
  description: "The id of the request: the caller's own if it sent a valid one (1 to 64 characters of [A-Za-z0-9._-]).",
  schema: { type: "string" },
};

export interface DocumentedAddresses {
  readonly baseUrl: string;
  /** Where tokens are issued. */
  readonly tokensUrl: string;
}

export function finishedDocument(
  made: Json,
  { baseUrl, tokensUrl }: DocumentedAddresses,
  words: Dialect = OWN_DIALECT,
): Json {
  const elsewhere = tokensUrl === baseUrl ? undefined : tokensUrl;
  const described: Record<string, Json> = {
    ...tokenPath(elsewhere, words.scopes),
    ...pathsIn(made.paths as Json, words),
  };
  const operations = Object.values(described).flatMap((path) => Object.values(path) as Json[]);
  for (const operation of operations) describeResponses(operation);
  const used = new Set(operations.flatMap((operation) => operation.tags as string[]));
  const schemas: Record<string, Json> = {};
  const paths = withNamedSchemas(described, schemas);
  return {
    ...made,
    servers: [{ url: baseUrl, description: "This service." }],
    tags: [...used].map((name) => ({ name, description: must(TAGS[name], `the tag ${name} has a description`) })),
    paths,
    components: {
      securitySchemes: withTokenUrl(made.components as Json, `${tokensUrl}/oauth2/token`),
      headers: { "X-Request-Id": REQUEST_ID_HEADER },
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

/** The paths as callers know them. */
function pathsIn(paths: Json, { paths: exchanged }: Dialect): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [exchanged?.given(path) ?? path, item as Json]),
  );
}

function describeResponses(operation: Json): void {
  for (const response of Object.values(operation.responses as Record<string, Json>)) {
    if (response.description === "Default Response") response.description = "Success.";
    response.headers = { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" }, ...(response.headers as Json) };
  }
}

function withTokenUrl(components: Json, tokenUrl: string): Json {
  const { oauth2 } = components.securitySchemes as { oauth2: { flows: { clientCredentials: Json } } };
  const { clientCredentials } = oauth2.flows;
  return { oauth2: { ...oauth2, flows: { clientCredentials: { ...clientCredentials, tokenUrl } } } };
}

/**
 * Moves each schema that has a title into `schemas` under that name, and leaves a reference. Two schemas with one title
 * must be equal. Examples are not part of the comparison: they may differ from use to use.
 */
function withNamedSchemas(value: unknown, schemas: Record<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((inner) => withNamedSchemas(inner, schemas));
  if (typeof value !== "object" || value === null) return value;
  const replaced = Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      if (name === "x-word") return [];
      // An example is data, even when it looks like a schema.
      return [[name, name === "example" || name === "examples" ? inner : withNamedSchemas(inner, schemas)]];
    }),
  );
  // Many client generators need the type of an enum, though JSON Schema does not. All our enums are strings.
  if (Array.isArray(replaced.enum)) return { type: "string", ...replaced };
  const { title, examples: _moved, ...schema } = replaced;
  if (typeof title !== "string" || typeof schema.type !== "string") return replaced;
  assert(schemas[title] === undefined || isDeepStrictEqual(schemas[title], schema), `one schema has the name ${title}`);
  schemas[title] = schema;
  return { $ref: `#/components/schemas/${title}` };
}
