/** RFC 6749, section 5.2, and `temporarily_unavailable` and `server_error` from section 4.1.2.1 for what it leaves out. */
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
  /** What our own log says of it. */
  readonly reason: string;
  /** Whether the client used HTTP Basic, and is answered in kind. */
  readonly challenge: boolean;

  /** Whom it presented itself as; only of `invalid_client`. */
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
