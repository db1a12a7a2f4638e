/** The token endpoint in the API's OpenAPI document. Written by hand, because its route is that of the auth server. */
import { CLIENT_ID_MAX_LENGTH, SECRET_MAX_LENGTH } from "../../customers/clients/clients.ts";
import { TOKEN_PATH } from "./metadata.ts";
import { TOKEN_ERRORS } from "./token-error.ts";

const TOKEN_REQUEST = {
  type: "object",
  title: "TokenRequest",
  description: "RFC 6749, section 4.4.2. No parameter may occur twice; unknown parameters are ignored.",
  required: ["grant_type"],
  properties: {
    grant_type: { title: "GrantType", description: "RFC 6749, section 4.4.2.", enum: ["client_credentials"] },
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

const TOKEN = {
  type: "object",
  title: "Token",
  description: "RFC 6749, section 5.1.",
  required: ["access_token", "expires_in", "scope", "token_type"],
  properties: {
    access_token: { type: "string", description: "Send it as `Authorization: Bearer <access_token>`." },
    expires_in: { type: "integer", description: "The lifetime of the token in seconds." },
    scope: { type: "string", description: "The granted scopes, separated by spaces." },
    token_type: { title: "TokenType", description: "RFC 6750.", enum: ["bearer"] },
  },
};

const TOKEN_ERROR = {
  type: "object",
  title: "TokenError",
  description: "RFC 6749, section 5.2.",
  required: ["error", "error_description"],
  properties: {
    error: {
      title: "TokenErrorCode",
      description: "RFC 6749, sections 5.2 and 4.1.2.1.",
      enum: Object.keys(TOKEN_ERRORS),
    },
    error_description: { type: "string", description: "A human-readable explanation." },
  },
};

const RETRY_AFTER = {
  "Retry-After": { description: "Seconds to wait before a retry.", schema: { type: "integer" } },
};

/** @param url the address that serves it, if that is not the API's */
export function tokenPath(url: string | undefined) {
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
              { schema: TOKEN_REQUEST },
            ]),
          ),
        },
        responses: {
          200: {
            description: "The token. Not cacheable.",
            content: { "application/json": { schema: TOKEN } },
          },
          400: errorResponse("The request cannot be granted.", [
            "invalid-request",
            "unsupported-grant-type",
            "invalid-scope",
          ]),
          401: errorResponse("The client is unknown or disabled, or its secret is wrong.", ["invalid-client"], {
            "WWW-Authenticate": { description: "Only for clients that use HTTP Basic.", schema: { type: "string" } },
          }),
          429: errorResponse("Too many requests from this address.", ["too-many-requests"], RETRY_AFTER),
          500: errorResponse("An internal error.", ["internal-server-error"]),
          503: errorResponse("The service cannot issue tokens at the moment.", ["service-unavailable"], RETRY_AFTER),
        },
      },
    },
  };
}

type Headers = Record<string, { description: string; schema: { type: string } }>;

/** @param examples the names of its examples, which are recorded (`api/openapi/document-schemas.ts`) */
function errorResponse(description: string, examples: readonly string[], headers: Headers = {}) {
  return { description, headers, content: { "application/json": { schema: TOKEN_ERROR, "x-answers": examples } } };
}
