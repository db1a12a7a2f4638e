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
export class TokenRefusal {
  readonly error: TokenError;
  /** Printable ASCII without quotes and backslashes (RFC 6749, section 5.2). */
  readonly description: string;
  /** Whether the client used HTTP Basic, and is answered in kind. */
  readonly challenge: boolean;

  constructor(error: TokenError, description: string, { challenge = false } = {}) {
    this.error = error;
    this.description = description;
    this.challenge = challenge;
  }
}
