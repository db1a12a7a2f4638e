/**
 * Access tokens: JWTs by RFC 9068. The token endpoint issues them; any node verifies them on every API request, without
 * the database for a token that it has seen before.
 */
import { type CryptoKey, errors, type JWTPayload, type JWTVerifyResult, jwtVerify, SignJWT } from "jose";
import type { AuthenticatedClient, Clients } from "../../customers/clients/clients.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { ClockFault, type ComparedClock, type Instant } from "../../std/clock.ts";
import { type IdSource, parseUuid } from "../../std/id.ts";
import { ALGORITHM, type SigningKeys, TOKEN_LIFE_SECONDS } from "../keys/signing-keys.ts";
import type { Scope } from "../scopes.ts";
import { hasCanonicalSignature, withCanonicalSignature } from "./canonical-signature.ts";
import type { ClientRestrictions } from "./client-restrictions.ts";
import type { Grant, RestrictedToken } from "./grant.ts";
import { fingerprint, TokenCache, type VerifiedToken } from "./token-cache.ts";
import type { Freshness } from "./token-data-freshness.ts";

/** RFC 9068, section 2.1: distinguishes access tokens from other JWTs. */
const TYPE = "at+jwt";

/** No token that we issue is longer. */
const MAX_TOKEN_LENGTH = 4_096;
const CACHED_TOKENS = 10_000;

/** For clocks without `toleranceMs`. */
const TOLERANCE_MS = 2_000;

export interface TokensOptions {
  readonly keys: SigningKeys;
  readonly clients: Pick<Clients, "has" | "history">;
  readonly restrictions: ClientRestrictions;
  /** Of the keys and the restrictions. */
  readonly freshness: Freshness;
  readonly clock: ComparedClock;
  readonly ids: IdSource;
  /** The issuer. */
  readonly authUrl: () => string;
  /** The audience. */
  readonly baseUrl: () => string;
}

export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenId: string;
}

export class Tokens {
  readonly #options: TokensOptions;
  readonly #cache = new TokenCache(CACHED_TOKENS);

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** @throws ClockFault: a token with wrong times would be accepted once the clock is right again */
  async issue({ clientId, customerId }: AuthenticatedClient, scopes: readonly Scope[]): Promise<IssuedToken> {
    const { keys, clock, ids, authUrl, baseUrl } = this.#options;
    if (clock.fault !== undefined) throw new ClockFault(clock.fault);
    const { kid, signs } = keys.signing();
    const tokenId = ids.next();
    const issuedAt = Math.floor(clock.now() / 1_000);
    const signed = await new SignJWT({ client_id: clientId, customer_id: customerId, scope: scopes.join(" ") })
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
      .setIssuer(authUrl())
      // RFC 9068, section 2.2: where no resource owner is involved, the subject is the client.
      .setSubject(clientId)
      .setAudience(baseUrl())
      .setJti(tokenId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + TOKEN_LIFE_SECONDS)
      .sign(signs);
    return { accessToken: withCanonicalSignature(signed), tokenId };
  }

  /**
   * Verifies a token that was sent from an address. A token seen before costs one hash and one lookup, without waiting.
   * @returns undefined when it is invalid or expired, or its client is not there; restricted when its client is disabled or may
   * not call from there
   * @throws DatabaseAway when the keys and restrictions cannot be read
   * @throws ClockFault when the result depends on the time, and the clock has a fault
   */
  verify(token: string, address: string): Promise<Grant | RestrictedToken | undefined> {
    if (token.length > MAX_TOKEN_LENGTH) return Promise.resolve(undefined);
    const key = fingerprint(token);
    const known = this.#cache.get(key, this.#options.clients.history);
    if (known === undefined || !this.#options.freshness.isFresh())
      return this.#verifyAfresh(token, key, known, address);
    try {
      return Promise.resolve(this.#grantOf(known, address));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #verifyAfresh(
    token: string,
    key: string,
    known: VerifiedToken | undefined,
    address: string,
  ): Promise<Grant | RestrictedToken | undefined> {
    const verified = known ?? (await this.#checkSignature(token));
    if (verified === undefined) return undefined;
    const { freshness, clients } = this.#options;
    await freshness.freshen();
    if (known === undefined) {
      const { history } = clients;
      const { customerId, clientId } = verified.grant;
      // A restored database may lack a client that was created since, which then nobody could disable.
      if (!(await clients.has(customerId, clientId))) return undefined;
      this.#cache.add(key, verified, history);
    }
    return this.#grantOf(verified, address);
  }

  /** Checks what can change during a token's life: the time, the key, the client and the address. */
  #grantOf({ grant, kid, issuedAt, expiresAt }: VerifiedToken, address: string): Grant | RestrictedToken | undefined {
    const { clock, keys, restrictions } = this.#options;
    if (!keys.has(kid)) return undefined;
    // Of two clocks of which one is wrong it may be either.
    const times = [clock.now(), clock.ownNow?.() ?? clock.now()];
    // The issuing node may be ahead by the tolerance, and this one behind by it.
    const isOfTheFuture = issuedAt > Math.min(...times) + 2 * (clock.toleranceMs ?? TOLERANCE_MS);
    if (Math.max(...times) >= expiresAt || isOfTheFuture) return this.#outOfTime();
    return restrictions.admits(grant.clientId, address) ? grant : { restricted: grant };
  }

  /** For a token that is valid except for the time: grants nothing, unless the clock has a fault. */
  #outOfTime(): undefined {
    const { fault } = this.#options.clock;
    if (fault !== undefined) throw new ClockFault(fault);
  }

  /** RFC 9068, section 4, and RFC 8725: one algorithm, our own keys, and every claim as we issue it. */
  async #checkSignature(token: string): Promise<VerifiedToken | undefined> {
    const { clock, authUrl, baseUrl } = this.#options;
    if (!hasCanonicalSignature(token)) return undefined;
    try {
      const result = await jwtVerify(token, ({ kid }) => this.#verifyingKey(kid), {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer: authUrl(),
        audience: baseUrl(),
        requiredClaims: ["exp", "iat"],
        clockTolerance: 0,
        currentDate: new Date(clock.now()),
      });
      return readToken(result);
    } catch (error) {
      // The library checks expiry last, when everything else is valid.
      if (error instanceof errors.JWTExpired) return this.#outOfTime();
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  async #verifyingKey(kid: string | undefined): Promise<CryptoKey> {
    const key = typeof kid === "string" ? await this.#options.keys.find(kid) : undefined;
    if (key === undefined) throw new errors.JWKSNoMatchingKey();
    return key.verifies;
  }
}

function readToken({ payload, protectedHeader }: JWTVerifyResult): VerifiedToken | undefined {
  const customerId = parseUuid(textOf(payload, "customer_id") ?? "");
  const clientId = textOf(payload, "client_id");
  const scope = textOf(payload, "scope");
  const { jti: tokenId, iat, exp } = payload;
  const { kid } = protectedHeader;
  if (customerId === undefined || clientId === undefined || scope === undefined) return undefined;
  if (tokenId === undefined || iat === undefined || exp === undefined || kid === undefined) return undefined;
  const grant: Grant = {
    customerId: customerId as CustomerId,
    clientId,
    scopes: new Set(scope.split(" ")),
    tokenId,
  };
  return { grant, kid, issuedAt: (iat * 1_000) as Instant, expiresAt: (exp * 1_000) as Instant };
}

function textOf(payload: JWTPayload, claim: string): string | undefined {
  const value = payload[claim];
  return typeof value === "string" ? value : undefined;
}
