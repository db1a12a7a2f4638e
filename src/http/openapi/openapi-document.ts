/**
 * The last steps from what the routes say to a document that reads well: addresses, tags, answers with a description,
 * and schemas with a name said once.
 */
import { isDeepStrictEqual } from "node:util";
import { tokenPath } from "../../oauth/oauth.ts";
import { assert, must } from "../../std/assert.ts";

export type Json = { [member: string]: unknown };

/** What the document says about its groups of operations. Every operation has one of these tags. */
const TAGS: Readonly<Record<string, string>> = {
  Tokens: "What every request carries that is not a public one.",
  Profiles: "Who holds balances. Every customer has one DEFAULT profile and any number of others.",
  Balances: "What a profile holds: available, and held by open orders.",
  Sandbox: "Deposits out of nothing, in sandbox mode only.",
  Transfers: "Assets moved between profiles, and what came in from outside.",
  Conversions: "Minting, redeeming and converting stablecoins at par.",
  Orders: "Placing, reading and cancelling orders.",
  Executions: "What was traded.",
  Markets: "What can be traded, and within which bounds. Public.",
  "Market data":
    "Order books, prices, and what was traded by whomever. Public, but for candles. The same as it changes, over WebSocket on this address: `/marketdata/{market}` and `/executiondata/{market}`, which docs/market-data.md describes.",
};

const REQUEST_ID_HEADER = {
  description: "The request's id: the caller's own when it sent one of 1 to 64 characters of [A-Za-z0-9._-].",
  schema: { type: "string" },
};

export function finishedDocument(made: Json, addresses: { readonly baseUrl: string; readonly authUrl: string }): Json {
  const described: Record<string, Json> = { ...tokenPath(addresses.authUrl), ...(made.paths as Record<string, Json>) };
  const operations = Object.values(described).flatMap((path) => Object.values(path) as Json[]);
  for (const operation of operations) describeResponses(operation);
  const used = new Set(operations.flatMap((operation) => operation.tags as string[]));
  const schemas: Record<string, Json> = {};
  const paths = withNamedSchemas(described, schemas);
  return {
    ...made,
    servers: [{ url: addresses.baseUrl, description: "This service." }],
    tags: [...used].map((name) => ({ name, description: must(TAGS[name], `the tag ${name} has a description`) })),
    paths,
    components: {
      securitySchemes: withTokenUrl(made.components as Json, `${addresses.authUrl}/oauth2/token`),
      headers: { "X-Request-Id": REQUEST_ID_HEADER },
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

function describeResponses(operation: Json): void {
  for (const response of Object.values(operation.responses as Record<string, Json>)) {
    if (response.description === "Default Response") response.description = "Done.";
    response.headers = { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" }, ...(response.headers as Json) };
  }
}

function withTokenUrl(components: Json, tokenUrl: string): Json {
  const { oauth2 } = components.securitySchemes as { oauth2: { flows: { clientCredentials: Json } } };
  const { clientCredentials } = oauth2.flows;
  return { oauth2: { ...oauth2, flows: { clientCredentials: { ...clientCredentials, tokenUrl } } } };
}

/**
 * Puts each schema that has a title into `schemas` under that name, and a reference in its place. Two schemas of one
 * name are the same, or somebody forgot that the name was taken. Their examples may stand beside one use and not beside
 * another: those of a body or an answer are moved to it.
 */
function withNamedSchemas(value: unknown, schemas: Record<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((inner) => withNamedSchemas(inner, schemas));
  if (typeof value !== "object" || value === null) return value;
  const replaced = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      // What stands here is a caller's data, not a schema, whatever it looks like.
      name === "example" || name === "examples" ? inner : withNamedSchemas(inner, schemas),
    ]),
  );
  // All enums here are words. JSON Schema need not be told, but many generators of clients have to be.
  if (Array.isArray(replaced.enum)) return { type: "string", ...replaced };
  const { title, examples: _moved, ...schema } = replaced;
  if (typeof title !== "string" || typeof schema.type !== "string") return replaced;
  assert(schemas[title] === undefined || isDeepStrictEqual(schemas[title], schema), `one schema has the name ${title}`);
  schemas[title] = schema;
  return { $ref: `#/components/schemas/${title}` };
}
