/**
 * Authentication and authorization. Every route declares in its `config` the scope that it requires, or that it is
 * public; without either the service does not start. The token is verified before the rest of the request is read
 * (docs/contract/requests.md#order-of-checks).
 */
import type { FastifyRequest, onRequestAsyncHookHandler, RouteHandlerMethod } from "fastify";
import type { ClientCaller } from "../../ledger/caller.ts";
import type { AccessDenial } from "../../oauth/access-denials/access-denial.ts";
import type { Scope } from "../../oauth/scopes.ts";
import type { Grant, RestrictedToken } from "../../oauth/tokens/grant.ts";
import { must } from "../../std/assert.ts";
import { noteValidToken } from "../../web/connections/open-connections.ts";
import type { Words } from "../../web/dialect/dialect.ts";
import { queueKey } from "../../web/limits/address.ts";
import { Problem } from "../problems/problems.ts";
import { logOf } from "../request-id.ts";
import type { Admit } from "./rate-limiting.ts";

/** What a route requires: nothing, one scope, or one of several. */
export type Access = "public" | Scope | readonly Scope[];

/** Returns what a token grants from an address; undefined when it is malformed, expired or revoked. */
export type Verify = (token: string, address: string) => Promise<Grant | RestrictedToken | undefined>;

declare module "fastify" {
  interface FastifyContextConfig {
    scope: Access;
  }
  interface FastifyRequest {
    /** The authenticated caller. Reading it on a public route is a bug, and throws. */
    readonly grant: Grant;
    /** The caller as recorded with a write: client, token, address, operation. */
    readonly caller: ClientCaller;
    /** The verified grant; null before the guard has run, and on a public route. */
    known: Grant | null;
    /** When its token was last verified, in time of the process. */
    verifiedAtMs: number;
  }
  interface FastifyInstance {
    /**
     * Whether the token of a request that has been open for long still grants something. While it cannot be known, because
     * the database is away, it does.
     */
    isStillGranted(request: FastifyRequest): Promise<boolean>;
  }
}

export function grantOf({ known }: FastifyRequest): Grant {
  return must(known ?? undefined, "only a route with a scope reads its caller");
}

/** The key of fair queues: the customer, or the address on a public route. */
export function callerOf(request: FastifyRequest): string {
  return request.known?.customerId ?? queueKey(request.ip);
}

export function clientCallerOf(request: FastifyRequest): ClientCaller {
  const { clientId, tokenId } = grantOf(request);
  return { client: clientId, token: tokenId, address: request.ip, operation: operationOf(request) };
}

/** The method and the path's pattern, such as "GET /v2/profiles/:id". */
const operationOf = ({ method, routeOptions }: FastifyRequest): string => `${method} ${routeOptions.url ?? ""}`;

export interface GuardOptions {
  readonly verify: Verify;
  readonly admit: Admit;
  /** Called on every access denial. Not awaited. */
  readonly onDenied: (denial: AccessDenial) => void;
  /** In which rejections name scopes. */
  readonly scopeWords: Words;
}

/**
 * The hook of a route that is not public: admits a request whose token grants one of the scopes. A request without a
 * valid token counts against the rate limit of its address, so that guessing tokens is not free.
 */
export function guard(
  required: readonly Scope[],
  { verify, admit, onDenied, scopeWords }: GuardOptions,
): onRequestAsyncHookHandler {
  return async (request, reply) => {
    const token = bearerToken(request.headers.authorization);
    const known = token === undefined ? undefined : await verify(token, request.ip);
    request.verifiedAtMs = performance.now();
    const grant = isGrant(known) ? known : undefined;
    admit(request, reply, grant?.clientId);
    if (token === undefined) {
      onDenied(denialOf(request, "no_token"));
      throw unauthorized("the access token is missing: send Authorization: Bearer <token>");
    }
    if (grant === undefined) {
      const whose = isRestricted(known) ? reportRestrictedToken(request, known) : {};
      onDenied({ ...denialOf(request, "invalid_token"), ...whose });
      throw invalidToken();
    }
    if (!required.some((scope) => grant.scopes.has(scope))) {
      const { clientId, tokenId } = grant;
      onDenied({ ...denialOf(request, "insufficient_scope"), clientId, tokenId });
      throw insufficientScopes(required.map(scopeWords.given), [...grant.scopes].map(scopeWords.given));
    }
    request.known = grant;
    noteValidToken(request.raw.socket, grant.customerId);
  };
}

/** For so long a token counts as verified: nodes learn within seconds which clients are disabled. */
const VERIFIED_FOR_MS = 1_000;

/** Whether the token was verified so long ago that its client may be disabled by now. */
export const isToBeVerified = ({ verifiedAtMs }: FastifyRequest): boolean =>
  performance.now() - verifiedAtMs > VERIFIED_FOR_MS;

export function stillGranted(verify: Verify): (request: FastifyRequest) => Promise<boolean> {
  return async (request) => {
    try {
      if (!isGrant(await verify(bearerToken(request.headers.authorization) ?? "", request.ip))) return false;
      request.verifiedAtMs = performance.now();
      return true;
    } catch {
      return true;
    }
  };
}

/** Wraps a handler that writes: a body may take half a minute to arrive. @throws Problem 401 when the token has ended */
export function whileGranted(handler: RouteHandlerMethod): RouteHandlerMethod {
  return async function (request, reply) {
    if (isToBeVerified(request) && !(await request.server.isStillGranted(request))) throw invalidToken();
    return handler.call(this, request, reply);
  };
}

export const invalidToken = (): Problem =>
  unauthorized("the access token is malformed, expired, revoked or not valid from this address", "invalid_token");

const isRestricted = (known: Grant | RestrictedToken | undefined): known is RestrictedToken =>
  known !== undefined && "restricted" in known;
const isGrant = (known: Grant | RestrictedToken | undefined): known is Grant =>
  known !== undefined && !isRestricted(known);

/** The caller must not learn that the token is valid: it may be stolen. The operator should. */
function reportRestrictedToken(request: FastifyRequest, { restricted }: RestrictedToken) {
  const { clientId, tokenId } = restricted;
  logOf(request).info(
    { client_id: clientId, token_id: tokenId, address: request.ip },
    "token rejected: its client is disabled, or may not call from this address",
  );
  return { clientId, tokenId };
}

function denialOf(request: FastifyRequest, kind: AccessDenial["kind"]): AccessDenial {
  return { kind, address: request.ip, operation: operationOf(request) };
}

/** RFC 6750, section 2.1; the name of a scheme is case-insensitive (RFC 9110, section 11.1). */
function bearerToken(header: string | undefined): string | undefined {
  return /^bearer +(.+)$/i.exec(header ?? "")?.[1]?.trimEnd();
}

/** RFC 6750, section 3.1: the challenge to a request without a token has no error code. */
function unauthorized(detail: string, error?: string): Problem {
  const why = error === undefined ? "" : `, error="${error}", error_description="${detail}"`;
  return new Problem(401, detail, { headers: { "www-authenticate": `Bearer realm="parbook"${why}` } });
}

function insufficientScopes(required: readonly string[], granted: readonly string[]): Problem {
  const scope = required.join(" ");
  return new Problem(403, `insufficient scopes: found '${granted.join(" ")}', required one of '[${scope}]'`, {
    meta: { required, granted },
    headers: {
      "www-authenticate": `Bearer realm="parbook", error="insufficient_scope", error_description="the access token does not grant the scope", scope="${scope}"`,
    },
  });
}
