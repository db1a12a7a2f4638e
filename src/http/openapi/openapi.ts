/**
 * The OpenAPI 3.1 document, made from the schemas that validate and serialise, so that it cannot say anything else.
 * What an operation asks of its caller is read from its `config`.
 */
import { createRequire } from "node:module";
import swagger from "@fastify/swagger";
import type { FastifySchema } from "fastify";
import { SCOPES } from "../../oauth/scopes.ts";
import type { Access } from "../access/guard.ts";
import type { Api } from "../api.ts";
import type { ObjectSchema } from "../requests/body-reader.ts";
import { finishedDocument, type Json } from "./openapi-document.ts";

interface Addresses {
  readonly baseUrl: () => string;
  readonly authUrl: () => string;
}

const INTRODUCTION = `Move assets between profiles, mint, redeem and convert stablecoins at par, and trade on an order book.

**Tokens.** Ask the token endpoint with the client credentials grant for the scopes that you need, by a form and with the client in its body or by HTTP Basic. A token lives 3599 seconds. The answer names the scopes that it grants.

**Amounts** are decimal strings with at most as many decimals as their asset allows; zeros at the end do not count, and nothing is ever rounded. Answers have neither exponents nor zeros at the end. **Times** are RFC 3339; answers have UTC and three decimals, and such a time as an inclusive bound finds its record.

**Requests.** A field of a body that is not known is refused, a query parameter that is not known is ignored. The name of a query parameter may be written with \`[]\` at its end: \`ids[]=a&ids[]=b\` is \`ids=a&ids=b\`. \`null\` in an optional field is the same as leaving it out. What is somebody else's does not exist: 404, and in lists it is missing.

**Once.** Every answer that says that something happened is given after it is durable: after a time-out, send the request again with the same \`ref_id\` and learn the truth. A \`ref_id\` that was used before is answered with 409 and the first record in \`meta.existing\`, whatever else was sent. A refusal does not use it up.

**Rates** may be limited, for each API client and, where no token is asked for, for each address; they are averages over five minutes. Answers then have \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` (requests in all and left, seconds until none is missing), and past the limit the answer is 429 with \`Retry-After\`.

**Problems** are RFC 9457. Beside those that an operation lists, any request may hear 404 or 405 (path, method), 400, 408, 413, 414, 415, 431 or 501 (what cannot be read, comes too slowly, or is too long). When several reasons apply, the first of these is told: token, scope, shape of the request, \`ref_id\`, what is not found, and then what depends on the state of things.

**Lists** come in pages: pass \`next_page_cursor\` as \`page_cursor\`, with the same filters, until it is empty. \`limit\` may differ. Every record that was there when the first page was read is returned exactly once.

Until identities and accounts are resources of their own, any identity of a customer may trade for any of its accounts.`;

/** Collects the routes that are added after it, and serves the document at /openapi.json. */
export async function documentRoutes(api: Api, addresses: Addresses): Promise<void> {
  const { version } = createRequire(import.meta.url)("../../../package.json") as { readonly version: string };
  await api.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Parbook",
        version,
        description: INTRODUCTION,
        license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
      },
      components: {
        securitySchemes: {
          // The address of the token endpoint is filled in when the document is finished.
          oauth2: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "", scopes: SCOPES } } },
        },
      },
    },
    transform: ({ schema, url, route }) => ({
      schema: describedOperation(schema ?? {}, (route.config as { scope?: Access } | undefined)?.scope ?? "public"),
      url,
    }),
  });
  let bytes: Buffer | undefined;
  api.get("/openapi.json", { config: { scope: "public" }, schema: { hide: true } }, async (_request, reply) => {
    const addressed = { baseUrl: addresses.baseUrl(), authUrl: addresses.authUrl() };
    bytes ??= Buffer.from(JSON.stringify(finishedDocument(api.swagger() as unknown as Json, addressed)));
    return reply.type("application/json").send(bytes);
  });
}

function describedOperation(schema: FastifySchema, access: Access): FastifySchema {
  const scopes = access === "public" ? [] : [access].flat();
  const described = { ...schema, security: scopes.map((scope) => ({ oauth2: [scope] })) };
  return schema.querystring === undefined
    ? described
    : { ...described, querystring: withoutRequiredDefaults(schema.querystring as ObjectSchema) };
}

/** A parameter with a default is always there for the handler, but nobody has to send it. */
function withoutRequiredDefaults(query: ObjectSchema): ObjectSchema {
  const { required = [], properties = {} } = query;
  return { ...query, required: required.filter((name) => properties[name]?.default === undefined) };
}
