/**
 * Completes the OpenAPI document that is generated from the routes: addresses, tags, response descriptions, named schemas,
 * and the recorded examples.
 */
import { tokenPath } from "../../oauth/oauth.ts";
import { must } from "../../std/assert.ts";
import { type Dialect, OWN_DIALECT } from "../../web/dialect/dialect.ts";
import { ANSWERS, DocumentSchemas, type Json } from "./document-schemas.ts";
import { eventWebhooks } from "./event-webhooks.ts";
import { exampleIn, problemIn } from "./example-words.ts";
import { type RecordedExample, recordedExamples } from "./recorded-examples.ts";

/** Descriptions of the tags. Every operation has one of them. */
const TAGS: Readonly<Record<string, string>> = {
  Tokens: "Access tokens, which every request needs except to public operations.",
  Profiles: "Profiles hold balances. Every customer has one DEFAULT profile and any number of others.",
  "API credentials": "The programs that call the API for a customer. The operator makes them.",
  Balances: "The balances of a profile: available, and held by open orders.",
  Sandbox: "Simulated deposits. In sandbox mode only.",
  Transfers: "Movements of assets between profiles, deposits and withdrawals.",
  Conversions: "Minting, redeeming and converting stablecoins at par.",
  Orders: "Placing, reading and cancelling orders.",
  Executions: "Each party's record of a trade.",
  Events:
    "What happens, in order and numbered without gaps. Live as Server-Sent Events at `/v2/events/stream` on this address; see docs/events.md.",
  Webhooks: "Where a customer's events are posted, signed; see docs/webhooks.md.",
  Markets: "The markets and their limits. Public.",
  "Market data":
    "Order books, prices and recent trades of each market. Public, except candles. Live updates are available over WebSocket at `/marketdata` and `/executiondata` on this address, of one market with its code behind it; see docs/market-data.md.",
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

interface Parameter {
  readonly name: string;
  readonly schema: Json;
  readonly example?: unknown;
}

interface Media {
  readonly schema: Json;
  readonly [ANSWERS]?: readonly string[];
}

/** A request or a response. */
interface Message {
  readonly description?: string | undefined;
  readonly headers?: Readonly<Record<string, Json>>;
  readonly content?: Readonly<Record<string, Media>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Message;
  readonly responses: Readonly<Record<string, Message>>;
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** @param recorded by operation, in our words */
export function finishedDocument(
  made: Json,
  { baseUrl, tokensUrl }: DocumentedAddresses,
  dialect: Dialect = OWN_DIALECT,
  recorded = recordedExamples(baseUrl),
): Json {
  const elsewhere = tokensUrl === baseUrl ? undefined : tokensUrl;
  const schemas = new DocumentSchemas();
  const tags = new Set<string>();
  const documented = (operation: Operation): Operation => {
    for (const tag of operation.tags) tags.add(tag);
    return documentedOperation(operation, { schemas, dialect, baseUrl }, recorded[operation.operationId]);
  };
  const all = { ...tokenPath(elsewhere), ...pathsIn(made.paths as Paths, dialect) };
  const paths = mapValues(all, (path) => mapValues(path, documented));
  // In another dialect the recorded events would have to be translated, object by object.
  const hasEvents = schemas.named().Event !== undefined && dialect.isOwn;
  const webhooks = hasEvents ? eventWebhooks(schemas, baseUrl) : undefined;
  const named = schemas.named();
  return {
    ...made,
    servers: [{ url: baseUrl, description: "This service." }],
    tags: [...tags].map((name) => ({ name, description: must(TAGS[name], `the tag ${name} has a description`) })),
    paths,
    ...(webhooks !== undefined && { webhooks }),
    components: {
      securitySchemes: withTokenUrl(made.components as Json, `${tokensUrl}/oauth2/token`),
      headers: { "X-Request-Id": REQUEST_ID_HEADER },
      schemas: named,
    },
  };
}

/** The paths as callers know them. */
function pathsIn(paths: Paths, { paths: exchanged }: Dialect): Paths {
  return Object.fromEntries(Object.entries(paths).map(([path, item]) => [exchanged?.given(path) ?? path, item]));
}

interface Documenting {
  readonly schemas: DocumentSchemas;
  readonly dialect: Dialect;
  readonly baseUrl: string;
}

function documentedOperation(
  { parameters, requestBody, responses, ...operation }: Operation,
  { schemas, dialect, baseUrl }: Documenting,
  { parameters: sent = {}, body, response, problems = {} }: RecordedExample = {},
): Operation {
  const documented = ({ content, ...message }: Message, example: unknown): Message => {
    const mediaOf = ({ schema, [ANSWERS]: answers }: Media): Media => ({
      schema: schemas.shown(schema),
      ...(answers === undefined
        ? withExample(exampleIn(example, schema, dialect))
        : { examples: examplesOf(answers, problems, { dialect, baseUrl }) }),
    });
    return content === undefined ? message : { ...message, content: mapValues(content, mediaOf) };
  };
  const parameterOf = ({ schema, example: _none, ...parameter }: Parameter): Parameter => ({
    ...parameter,
    schema: schemas.shown(schema),
    ...withExample(exampleIn(sent[parameter.name], schema, dialect)),
  });
  return {
    ...operation,
    ...(parameters && { parameters: parameters.map(parameterOf) }),
    ...(requestBody && { requestBody: documented(requestBody, body) }),
    responses: mapValues(responses, (each) => documented(describedResponse(each), response)),
  };
}

const withExample = (example: unknown): object => (example === undefined ? {} : { example });

/** The answers of these names, of which some cannot be provoked. */
function examplesOf(
  names: readonly string[],
  recorded: Readonly<Record<string, unknown>>,
  { dialect, baseUrl }: Pick<Documenting, "dialect" | "baseUrl">,
): object {
  const known = names.filter((name) => recorded[name] !== undefined);
  const types = `${baseUrl}/problems/`;
  return Object.fromEntries(known.map((name) => [name, { value: problemIn(recorded[name], types, dialect) }]));
}

function describedResponse({ description, headers, ...response }: Message): Message {
  return {
    description: description === "Default Response" ? "Success." : description,
    headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" }, ...headers },
    ...response,
  };
}

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

function withTokenUrl(components: Json, tokenUrl: string): Json {
  const { oauth2 } = components.securitySchemes as { oauth2: { flows: { clientCredentials: Json } } };
  const { clientCredentials } = oauth2.flows;
  return { oauth2: { ...oauth2, flows: { clientCredentials: { ...clientCredentials, tokenUrl } } } };
}
