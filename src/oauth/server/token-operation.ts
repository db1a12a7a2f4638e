/** The token endpoint as the OpenAPI document of the API describes it, whose server has no route here to make it of. */
import { CLIENT_ID_MAX_LENGTH, SECRET_MAX_LENGTH } from "../../customers/clients/clients.ts";
import { TOKEN_LIFE_SECONDS } from "../keys/signing-keys.ts";
import { TOKEN_PATH } from "./metadata.ts";
import { TOKEN_ERRORS, type TokenError } from "./token-error.ts";

const TOKEN_REQUEST = {
  type: "object",
  title: "TokenRequest",
  description: "RFC 6749, section 4.4.2. No parameter may be there twice; those that are not known are ignored.",
  required: ["grant_type"],
  properties: {
    grant_type: { enum: ["client_credentials"] },
    client_id: {
      type: "string",
      description: "Left out by a client that uses HTTP Basic.",
      maxLength: CLIENT_ID_MAX_LENGTH,
    },
    client_secret: {
      type: "string",
      format: "password",
      writeOnly: true,
      description: "Left out by a client that uses HTTP Basic.",
      maxLength: SECRET_MAX_LENGTH,
    },
    scope: {
      type: "string",
      description: "Scopes with blanks between them. Left out: all that the client holds.",
    },
  },
};

const TOKEN_REQUEST_EXAMPLE = {
  grant_type: "client_credentials",
  client_id: "acme",
  client_secret: "correct horse battery staple",
  scope: "transfer:read_transfer transfer:write_platform_transfer",
};

const TOKEN = {
  type: "object",
  title: "Token",
  description: "RFC 6749, section 5.1.",
  required: ["access_token", "expires_in", "scope", "token_type"],
  properties: {
    access_token: { type: "string", description: "To be sent as `Authorization: Bearer <access_token>`." },
    expires_in: { type: "integer", description: "Seconds that the token lives." },
    scope: { type: "string", description: "The scopes that are granted, with blanks between them." },
    token_type: { enum: ["bearer"] },
  },
};

const TOKEN_EXAMPLE = {
  access_token: "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl",
  expires_in: TOKEN_LIFE_SECONDS,
  scope: TOKEN_REQUEST_EXAMPLE.scope,
  token_type: "bearer",
};

const TOKEN_REFUSED = {
  type: "object",
  title: "TokenError",
  description: "RFC 6749, section 5.2.",
  required: ["error", "error_description"],
  properties: {
    error: { enum: Object.keys(TOKEN_ERRORS) },
    error_description: { type: "string", description: "What went wrong, for people." },
  },
};

const RETRY_AFTER = {
  "Retry-After": { description: "Seconds after which to try again.", schema: { type: "integer" } },
};

/** A path of the document, with the one operation that it has. */
export function tokenPath(authUrl: string) {
  return {
    [TOKEN_PATH]: {
      post: {
        servers: [{ url: authUrl, description: "The token endpoint has an address of its own." }],
        operationId: "issueToken",
        tags: ["Tokens"],
        summary: "Issue a token",
        description:
          "The client credentials grant (RFC 6749, section 4.4). The client authenticates in the form or by HTTP Basic, not both, and never in the address.",
        security: [],
        requestBody: {
          required: true,
          content: Object.fromEntries(
            ["multipart/form-data", "application/x-www-form-urlencoded"].map((mediaType) => [
              mediaType,
              { schema: TOKEN_REQUEST, example: TOKEN_REQUEST_EXAMPLE },
            ]),
          ),
        },
        responses: {
          200: {
            description: "The token. It is not to be cached on its way.",
            content: { "application/json": { schema: TOKEN, example: TOKEN_EXAMPLE } },
          },
          ...refused("invalid_scope", "The request cannot be granted.", {
            example: "the client does not hold the scope transfer:read_transfer",
          }),
          ...refused("invalid_client", "The client is not known, disabled, or its secret is wrong.", {
            example: "client authentication failed",
            headers: {
              "WWW-Authenticate": { description: "To a client that used HTTP Basic.", schema: { type: "string" } },
            },
          }),
          429: refusal("temporarily_unavailable", "Too many requests from this address.", {
            example: "too many requests from this address: try again in 1 s",
            headers: RETRY_AFTER,
          }),
          ...refused("server_error", "Something went wrong on our side.", {
            example: "the request failed; the log has why, under its X-Request-Id",
          }),
          ...refused("temporarily_unavailable", "Nothing was issued for now.", {
            example: "the database cannot be reached",
            headers: RETRY_AFTER,
          }),
        },
      },
    },
  };
}

interface Told {
  readonly example: string;
  readonly headers?: object;
}

/** The response of a refusal, under the status that it has at the token endpoint. */
function refused(error: TokenError, description: string, told: Told) {
  return { [TOKEN_ERRORS[error]]: refusal(error, description, told) };
}

function refusal(error: TokenError, description: string, { example, headers = {} }: Told) {
  return {
    description,
    headers,
    content: { "application/json": { schema: TOKEN_REFUSED, example: { error, error_description: example } } },
  };
}
