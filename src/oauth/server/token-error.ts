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
export class TokenRequestError {
  readonly error: TokenError;
  /** Printable ASCII without quotes and backslashes (RFC 6749, section 5.2). */
  readonly description: string;
  /** For our log. */
  readonly reason: string;
  /** Whether the client used HTTP Basic, and gets a challenge. */
  readonly challenge: boolean;

  /** The client_id presented; only for `invalid_client`. */
  readonly clientId: string | undefined;

  constructor(
    error: TokenError,
    description: string,
    {
      challenge = false,
      reason = description,
      clientId,
    }: { challenge?: boolean; reason?: string; clientId?: string | undefined } = {},
  ) {
    this.error = error;
    this.description = description;
    this.reason = reason;
    this.challenge = challenge;
    this.clientId = clientId;
  }
}

/** RFC 6749, section 5.1. */
export const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" };
