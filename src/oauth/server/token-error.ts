import { type Rejected, reject } from "../../std/result.ts";

/** RFC 6749, section 5.2, plus `temporarily_unavailable` and `server_error` from section 4.1.2.1. */
export const TOKEN_ERRORS = {
  invalid_request: 400,
  invalid_client: 401,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  temporarily_unavailable: 503,
  server_error: 500,
} as const;

export type TokenError = keyof typeof TOKEN_ERRORS;

/** Why a token is not issued. */
export interface TokenRejection {
  readonly error: TokenError;
  /** Printable ASCII without quotes and backslashes (RFC 6749, section 5.2). */
  readonly description: string;
  /** For our log. */
  readonly reason: string;
  /** Whether the client used HTTP Basic, and gets a challenge. */
  readonly challenge: boolean;
  /** The client_id presented; only for `invalid_client`. */
  readonly clientId: string | undefined;
}

/** @param more what differs from the usual: by default the log says the same as the response, and there is no challenge */
export function rejectToken(
  error: TokenError,
  description: string,
  more: Partial<Omit<TokenRejection, "error" | "description">> = {},
): Rejected<TokenRejection> {
  return reject({ error, description, reason: description, challenge: false, clientId: undefined, ...more });
}

/** RFC 6749, section 5.1. */
export const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" };
