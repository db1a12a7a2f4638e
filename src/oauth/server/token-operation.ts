/** The token endpoint in the API's OpenAPI document. Written by hand, because its route is that of the auth server. */
import { CLIENT_ID_MAX_LENGTH, SECRET_MAX_LENGTH } from "../../customers/clients/clients.ts";
import { OWN_DIALECT, type Words } from "../../web/dialect/dialect.ts";
import { TOKEN_LIFE_SECONDS } from "../keys/signing-keys.ts";
import type { Scope } from "../scopes.ts";
import { TOKEN_PATH } from "./metadata.ts";
import { TOKEN_ERRORS, type TokenError } from "./token-error.ts";

const TOKEN_REQUEST = {
  type: "object",
  title: "TokenRequest",
  description: "RFC 6749, section 4.4.2. No parameter may occur twice; unknown parameters are ignored.",
  required: ["grant_type"],
  properties: {
    grant_type: { enum: ["client_credentials"] },
    client_id: {
      type: "string",
      description: "Omitted with HTTP Basic.",
      maxLength: CLIENT_ID_MAX_LENGTH,
    },
    client_secret: {
      type: "string",
      format: "password",
      writeOnly: true,
      description: "Omitted with HTTP Basic.",
      maxLength: SECRET_MAX_LENGTH,
    },
    scope: {
      type: "string",
      description: "Scopes, separated by spaces. Default: all that the client holds.",
    },
  },
};

const TOKEN_REQUEST_EXAMPLE = {
  grant_type: "client_credentials",
  client_id: "acme",
  client_secret: "correct horse battery staple",
};

const EXAMPLE_SCOPES: readonly Scope[] = ["transfer:read_transfer", "transfer:write_platform_transfer"];

const TOKEN = {
  type: "object",
  title: "Token",
  description: "RFC 6749, section 5.1.",
  required: ["access_token", "expires_in", "scope", "token_type"],
  properties: {
    access_token: { type: "string", description: "Send it as `Authorization: Bearer <access_token>`." },
    expires_in: { type: "integer", description: "The lifetime of the token in seconds." },
    scope: { type: "string", description: "The granted scopes, separated by spaces." },
    token_type: { enum: ["bearer"] },
  },
};

const TOKEN_EXAMPLE = {
  access_token: "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl",
  expires_in: TOKEN_LIFE_SECONDS,
  token_type: "bearer",
};

const TOKEN_ERROR = {
  type: "object",
  title: "TokenError",
  description: "RFC 6749, section 5.2.",
  required: ["error", "error_description"],
  properties: {
    error: { enum: Object.keys(TOKEN_ERRORS) },
    error_description: { type: "string", description: "A human-readable explanation." },
  },
};

const RETRY_AFTER = {
  "Retry-After": { description: "Seconds to wait before a retry.", schema: { type: "integer" } },
};

/** @param url the address that serves it, if that is not the API's */
export function tokenPath(url: string | undefined, scopeWords: Words = OWN_DIALECT.scopes) {
  const scope = EXAMPLE_SCOPES.map(scopeWords.given).join(" ");
  return {
    [TOKEN_PATH]: {
      post: {
        ...(url !== undefined && { servers: [{ url, description: "The authorization server." }] }),
        operationId: "issueToken",
        tags: ["Tokens"],
        summary: "Issue a token",
        description:
          "The client credentials grant (RFC 6749, section 4.4). The client authenticates in the form or by HTTP Basic, not both, and never in the URL.",
        security: [],
        requestBody: {
          required: true,
          content: Object.fromEntries(
            ["multipart/form-data", "application/x-www-form-urlencoded"].map((mediaType) => [
              mediaType,
              { schema: TOKEN_REQUEST, example: { ...TOKEN_REQUEST_EXAMPLE, scope } },
            ]),
          ),
        },
        responses: {
          200: {
            description: "The token. Not cacheable.",
            content: { "application/json": { schema: TOKEN, example: { ...TOKEN_EXAMPLE, scope } } },
          },
          ...errorResponse("invalid_scope", "The request cannot be granted.", {
            example: "the client does not hold the scope transfer:read_transfer",
          }),
          ...errorResponse("invalid_client", "The client is unknown or disabled, or its secret is wrong.", {
            example: "client authentication failed",
            headers: {
              "WWW-Authenticate": { description: "Only for clients that use HTTP Basic.", schema: { type: "string" } },
            },
          }),
          429: response("temporarily_unavailable", "Too many requests from this address.", {
            example: "too many requests from this address: try again in 1 s",
            headers: RETRY_AFTER,
          }),
          ...errorResponse("server_error", "An internal error.", {
            example: "internal error: quote the X-Request-Id when you report it",
          }),
          ...errorResponse("temporarily_unavailable", "The service cannot issue tokens at the moment.", {
            example: "the database cannot be reached",
            headers: RETRY_AFTER,
          }),
        },
      },
    },
  };
}

interface ErrorExample {
  readonly example: string;
  readonly headers?: object;
}

/** An error response, under its status. */
function errorResponse(error: TokenError, description: string, example: ErrorExample) {
  return { [TOKEN_ERRORS[error]]: response(error, description, example) };
}

function response(error: TokenError, description: string, { example, headers = {} }: ErrorExample) {
  return {
    description,
    headers,
    content: { "application/json": { schema: TOKEN_ERROR, example: { error, error_description: example } } },
  };
}
