/**
 * The token endpoint for the client credentials grant (RFC 6749, section 4.4). Each wire rule is one function;
 * `handleTokenRequest` defines their order.
 */
import type { AuthenticatedClient, Clients } from "../../customers/clients/clients.ts";
import type { ComparedClock } from "../../std/clock.ts";
import { type Check, done, PASSED, type Rejected, type Result } from "../../std/result.ts";
import { OWN_DIALECT, type Words } from "../../web/dialect/dialect.ts";
import { TOKEN_LIFE_SECONDS } from "../keys/signing-keys.ts";
import { heldScopes, isScope, type Scope } from "../scopes.ts";
import type { IssuedToken, Tokens } from "../tokens/tokens.ts";
import { type ClientCredentials, readCredentials } from "./client-credentials.ts";
import { type Form, readForm } from "./form.ts";
import { rejectToken, type TokenRejection } from "./token-error.ts";

/** Node takes 2 ms to parse a kilobyte of wrong escapes, and no parameter is read from the query. */
const MAX_QUERY_LENGTH = 512;

export interface TokenRequest {
  /** As it was sent, from the question mark on. */
  readonly query: string;
  readonly contentType: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Buffer;
  /** The caller's IP address. */
  readonly address: string;
}

/** RFC 6749, section 5.1. */
export interface TokenBody {
  readonly access_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly token_type: "bearer";
}

export interface TokenGranted {
  readonly clientId: string;
  readonly tokenId: string;
  readonly body: TokenBody;
}

export interface TokenEndpointOptions {
  /** Absent: a clock without faults. */
  readonly clock?: Pick<ComparedClock, "fault">;
  readonly clients: Pick<Clients, "authenticate">;
  readonly tokens: Pick<Tokens, "issue">;
  /** The words of callers for scopes. Absent: our own. Tokens have ours, so that every node reads them. */
  readonly scopeWords?: Words;
}

export async function handleTokenRequest(
  { query, contentType, authorization, body, address }: TokenRequest,
  { clients, tokens, clock, scopeWords = OWN_DIALECT.scopes }: TokenEndpointOptions,
): Promise<Result<TokenGranted, TokenRejection>> {
  const noCredentials = checkNoCredentialsInUrl(query);
  if (noCredentials.kind === "rejected") return noCredentials;
  const form = await readForm(contentType, body);
  if (form.kind === "rejected") return form;
  const grantType = checkGrantType(form.value);
  if (grantType.kind === "rejected") return grantType;
  const credentials = readCredentials(authorization, form.value);
  if (credentials.kind === "rejected") return credentials;
  // Secrets expire, so the time matters here too.
  if (clock?.fault !== undefined) return rejectToken("temporarily_unavailable", clock.fault);
  const client = await authenticate(credentials.value, address, clients);
  if (client.kind === "rejected") return client;
  const scopes = grantScopes(form.value.get("scope"), client.value.scopes, scopeWords);
  if (scopes.kind === "rejected") return scopes;

  // From here the token is issued.
  const issued = await tokens.issue(client.value, scopes.value);
  return done(granted(client.value, scopes.value.map(scopeWords.given), issued));
}

/** RFC 6749, section 2.3.1: no credentials in the URL, which ends up in logs. */
function checkNoCredentialsInUrl(query: string): Check<TokenRejection> {
  if (query.length > MAX_QUERY_LENGTH) return rejectToken("invalid_request", "the query is too long");
  const parameters = new URLSearchParams(query);
  if (!parameters.has("client_secret") && !parameters.has("client_id")) return PASSED;
  return rejectToken("invalid_request", "client credentials must be in the header or the body, not in the URL");
}

/** RFC 6749, section 4.4.2. */
function checkGrantType(form: Form): Check<TokenRejection> {
  const grantType = form.get("grant_type");
  if (grantType === undefined) return rejectToken("invalid_request", "grant_type is missing");
  if (grantType === "client_credentials") return PASSED;
  return rejectToken("unsupported_grant_type", "grant_type must be client_credentials");
}

/** RFC 6749, section 5.2: `invalid_client`, with a challenge for Basic. Never reveals what was wrong. */
async function authenticate(
  { readings, sentBy }: ClientCredentials,
  address: string,
  clients: TokenEndpointOptions["clients"],
): Promise<Result<AuthenticatedClient, TokenRejection>> {
  let reason = "client authentication failed";
  let claimed: string | undefined;
  for (const { clientId, secret } of readings) {
    const client = await clients.authenticate(clientId, secret, address);
    if (client.kind === "done") return client;
    if (client.rejection === "too_many_authentications") {
      return rejectToken("temporarily_unavailable", "too many clients are being authenticated");
    }
    // What names no client may be a secret.
    if (client.rejection !== "unknown_client") claimed ??= clientId;
    // The caller must not learn that the secret is valid: it may be stolen. The operator should.
    if (client.rejection === "address_not_allowed") reason = `the client ${clientId} may not call from this address`;
  }
  return rejectToken("invalid_client", "client authentication failed", {
    challenge: sentBy === "basic",
    reason,
    clientId: claimed,
  });
}

/**
 * RFC 6749, section 3.3. Without a scope parameter the client is granted all its scopes; with one that it does not hold,
 * none.
 */
function grantScopes(
  asked: string | undefined,
  listed: readonly string[],
  words: Words,
): Result<readonly Scope[], TokenRejection> {
  const held = heldScopes(listed);
  const names = new Set((asked ?? "").split(" ").filter((name) => name !== ""));
  const scopes: Scope[] = [];
  for (const name of names) {
    const scope = held.find((each) => words.given(each) === name);
    if (scope === undefined) return invalidScope(name, words);
    scopes.push(scope);
  }
  if (names.size > 0) return done(scopes);
  return held.length > 0 ? done(held) : rejectToken("invalid_scope", "the client holds no scope");
}

/**
 * RFC 6749, section 5.2: descriptions contain no quotes or backslashes; neither do scope tokens. The log names known
 * scopes only: anything else may be a misplaced secret.
 */
function invalidScope(name: string, words: Words): Rejected<TokenRejection> {
  const isToken = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(name);
  const description = isToken ? `the client does not hold the scope ${name}` : "a scope is malformed";
  return rejectToken("invalid_scope", description, {
    reason: isScope(words.taken(name)) ? description : "the client requested an unknown scope",
  });
}

function granted({ clientId }: AuthenticatedClient, scopes: readonly string[], issued: IssuedToken): TokenGranted {
  return {
    clientId,
    tokenId: issued.tokenId,
    body: {
      access_token: issued.accessToken,
      expires_in: TOKEN_LIFE_SECONDS,
      scope: scopes.join(" "),
      token_type: "bearer",
    },
  };
}
