/**
 * The token endpoint for the client credentials grant (RFC 6749, section 4.4). Each wire rule is one function;
 * `handleTokenRequest` defines their order.
 */
import type { AuthenticatedClient, Clients } from "../../customers/clients/clients.ts";
import type { ComparedClock } from "../../std/clock.ts";
import { TOKEN_LIFE_SECONDS } from "../keys/signing-keys.ts";
import { heldScopes, isScope, type Scope } from "../scopes.ts";
import type { IssuedToken, Tokens } from "../tokens/tokens.ts";
import { type ClientCredentials, readCredentials } from "./client-credentials.ts";
import { type Form, readForm } from "./form.ts";
import { TokenRequestError } from "./token-error.ts";

export interface TokenRequest {
  readonly query: URLSearchParams;
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
}

export async function handleTokenRequest(
  { query, contentType, authorization, body, address }: TokenRequest,
  { clients, tokens, clock }: TokenEndpointOptions,
): Promise<TokenGranted | TokenRequestError> {
  const form = rejectCredentialsInUrl(query) ?? (await readForm(contentType, body));
  if (form instanceof TokenRequestError) return form;
  const refused = rejectOtherGrants(form);
  if (refused !== undefined) return refused;
  const credentials = readCredentials(authorization, form);
  if (credentials instanceof TokenRequestError) return credentials;
  // Secrets expire, so the time matters here too.
  if (clock?.fault !== undefined) return new TokenRequestError("temporarily_unavailable", clock.fault);
  const client = await authenticate(credentials, address, clients);
  if (client instanceof TokenRequestError) return client;
  const scopes = grantScopes(form.get("scope"), client.scopes);
  if (scopes instanceof TokenRequestError) return scopes;

  // From here the token is issued.
  return granted(client, scopes, await tokens.issue(client, scopes));
}

/** RFC 6749, section 2.3.1: no credentials in the URL, which ends up in logs. */
function rejectCredentialsInUrl(query: URLSearchParams): TokenRequestError | undefined {
  if (!query.has("client_secret") && !query.has("client_id")) return undefined;
  return new TokenRequestError(
    "invalid_request",
    "client credentials must be in the header or the body, not in the URL",
  );
}

/** RFC 6749, section 4.4.2. */
function rejectOtherGrants(form: Form): TokenRequestError | undefined {
  const grantType = form.get("grant_type");
  if (grantType === undefined) return new TokenRequestError("invalid_request", "grant_type is missing");
  if (grantType === "client_credentials") return undefined;
  return new TokenRequestError("unsupported_grant_type", "grant_type must be client_credentials");
}

/** RFC 6749, section 5.2: `invalid_client`, with a challenge for Basic. Never reveals what was wrong. */
async function authenticate(
  { readings, sentBy }: ClientCredentials,
  address: string,
  clients: TokenEndpointOptions["clients"],
): Promise<AuthenticatedClient | TokenRequestError> {
  let reason = "client authentication failed";
  for (const { clientId, secret } of readings) {
    const client = await clients.authenticate(clientId, secret, address);
    if (client === "too_many_authentications") {
      return new TokenRequestError("temporarily_unavailable", "too many clients are being authenticated");
    }
    if (typeof client !== "string") return client;
    // The caller must not learn that the secret is valid: it may be stolen. The operator should.
    if (client === "address_not_allowed") reason = `the client ${clientId} may not call from this address`;
  }
  const [first] = readings;
  return new TokenRequestError("invalid_client", "client authentication failed", {
    challenge: sentBy === "basic",
    reason,
    clientId: first?.clientId,
  });
}

/**
 * RFC 6749, section 3.3. Without a scope parameter the client is granted all its scopes; with one that it does not hold,
 * none.
 */
function grantScopes(asked: string | undefined, listed: readonly string[]): readonly Scope[] | TokenRequestError {
  const held = heldScopes(listed);
  const names = new Set((asked ?? "").split(" ").filter((name) => name !== ""));
  const scopes: Scope[] = [];
  for (const name of names) {
    const scope = held.find((each) => each === name);
    if (scope === undefined) return invalidScope(name);
    scopes.push(scope);
  }
  if (names.size > 0) return scopes;
  return held.length > 0 ? held : new TokenRequestError("invalid_scope", "the client holds no scope");
}

/**
 * RFC 6749, section 5.2: descriptions contain no quotes or backslashes; neither do scope tokens. The log names known
 * scopes only: anything else may be a misplaced secret.
 */
function invalidScope(name: string): TokenRequestError {
  const isToken = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(name);
  const description = isToken ? `the client does not hold the scope ${name}` : "a scope is malformed";
  return new TokenRequestError("invalid_scope", description, {
    reason: isScope(name) ? description : "the client requested an unknown scope",
  });
}

function granted({ clientId }: AuthenticatedClient, scopes: readonly Scope[], issued: IssuedToken): TokenGranted {
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
