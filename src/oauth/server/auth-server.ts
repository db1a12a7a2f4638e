/**
 * The HTTP server on auth_url: the token endpoint and its discovery documents. Errors follow RFC 6749, not RFC 9457.
 * Secrets are never logged: no body, no header, no query.
 */
import type { SecureContextOptions } from "node:tls";
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type onRequestHookHandler,
} from "fastify";
import { DatabaseAway, isTimeout } from "../../postgres/database.ts";
import { ClockFault } from "../../std/clock.ts";
import type { IdSource } from "../../std/id.ts";
import type { Network } from "../../std/network.ts";
import type { Rejected, Result } from "../../std/result.ts";
import { answerExpectations } from "../../web/connections/expectations.ts";
import { endConnection, ignoreWhatFollows } from "../../web/connections/last-request.ts";
import { paceRejections } from "../../web/connections/rejection-pace.ts";
import { sharedBy, transport, trustOf } from "../../web/connections/server-options.ts";
import { sliceTlsWrites } from "../../web/connections/sliced-tls-writes.ts";
import { TrackedResponse } from "../../web/connections/tracked-response.ts";
import { reduceForwardedFor } from "../../web/forwarded-for.ts";
import { unreadable } from "../../web/header-checks.ts";
import type { RateLimiter, Verdict } from "../../web/limits/rate-limiter.ts";
import { RequestTurns } from "../../web/limits/request-turns.ts";
import { withoutLongPath } from "../../web/long-paths.ts";
import { type ReadinessChecks, watchReadiness } from "../../web/readiness.ts";
import { securityHeaders } from "../../web/security-headers.ts";
import { sentRequestId } from "../../web/sent-request-id.ts";
import type { AccessDenial } from "../access-denials/access-denial.ts";
import { PUBLISHED_BEFORE_USE_MS, type SigningKeys } from "../keys/signing-keys.ts";
import { checkHeaders, rejectUnreadable, respondToClientError } from "./ambiguous-requests.ts";
import { readCredentials } from "./client-credentials.ts";
import { readForm } from "./form.ts";
import { KEYS_PATH, METADATA_PATH, OPENID_PATH, openidConfiguration, serverMetadata, TOKEN_PATH } from "./metadata.ts";
import { ProvenSecrets } from "./recently-proven.ts";
import { TokenAdmission } from "./token-admission.ts";
import { handleTokenRequest, type TokenEndpointOptions, type TokenGranted } from "./token-endpoint.ts";
import { NOT_STORED, rejectToken, TOKEN_ERRORS, type TokenError, type TokenRejection } from "./token-error.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** On auth_url: the client that a token was issued to, for the request log. */
    issuedTo?: string;
  }
}

export interface AuthServerOptions extends TokenEndpointOptions {
  readonly authUrl: () => string;
  readonly keys: Pick<SigningKeys, "published">;
  readonly ids: IdSource;
  readonly log: FastifyBaseLogger;
  /** Called when client authentication fails. Not awaited. */
  readonly onDenied?: ((denial: AccessDenial) => void) | undefined;
  /** Adds its hooks before all others, so that metrics and traces include rejected requests. */
  readonly observe?: ((server: Pick<FastifyInstance, "addHook">) => void) | undefined;
  /** Called once with the outcome of every token request. */
  readonly onTokenRequest?: ((outcome: "issued" | TokenError) => void) | undefined;
  /** Absent: no rate limits. */
  readonly limiter?: RateLimiter | undefined;
  /** The checks of `/readyz`. */
  readonly readiness?: ReadinessChecks | undefined;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly Network[];
  /** Absent: plain HTTP. */
  readonly tls?: SecureContextOptions | undefined;
}

/** More than all parameters at their maximum length, in multipart. */
const BODY_LIMIT_BYTES = 16_384;

/** Keys are published for this long before they sign, so a cached key set is never missing a signing key. */
const KEYS_MAX_AGE_SECONDS = PUBLISHED_BEFORE_USE_MS / 1_000;

/** For operators, as on base_url; undocumented in the API. */
const ALIVE_PATH = "/healthz";
const READY_PATH = "/readyz";

const METHODS: Readonly<Record<string, string>> = {
  [TOKEN_PATH]: "POST",
  [KEYS_PATH]: "GET, HEAD",
  [METADATA_PATH]: "GET, HEAD",
  [OPENID_PATH]: "GET, HEAD",
  [ALIVE_PATH]: "GET, HEAD",
  [READY_PATH]: "GET, HEAD",
};

export function createAuthServer(options: AuthServerOptions): FastifyInstance {
  const { limiter, trustedProxies = [] } = options;
  const handleError = createErrorHandler(options);
  const turns = new RequestTurns();
  const begin = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.headers(securityHeaders(options.authUrl())).header("x-request-id", request.id);
  const server = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: (request) => sentRequestId(request.headers["x-request-id"]) ?? options.ids.next(),
    requestIdHeader: false,
    trustProxy: trustOf(trustedProxies),
    ...transport(
      {
        ServerResponse: TrackedResponse,
        requireHostHeader: false,
        headersTimeout: 10_000,
        connectionsCheckingInterval: 5_000,
      },
      options.tls,
    ),
    routerOptions: { querystringParser: () => ({}) },
    rewriteUrl: ({ url = "" }) => withoutLongPath(url),
    requestTimeout: 10_000,
    connectionTimeout: 20_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // A URL that cannot be decoded gets here before any hook.
    frameworkErrors: (error, request, reply) => {
      endConnection(request, reply);
      turns.runRead(request.ip, () => void handleError(error, request, begin(request, reply)), reply.raw);
    },
    clientErrorHandler: respondToClientError,
  });
  sliceTlsWrites(server.server);
  answerExpectations(server.server);
  server.setErrorHandler(handleError);
  // Bodies arrive as bytes: the token endpoint checks them, with its own errors.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  ignoreWhatFollows(server);
  reduceForwardedFor(server, trustedProxies);
  options.observe?.(server);
  server.addHook("onRequest", (request, reply, done) => {
    const why = unreadable(request.raw);
    if (why !== undefined) endConnection(request, reply);
    const answer = (): void => {
      begin(request, reply);
      if (why === undefined) done();
      else rejectUnreadable(why, reply);
    };
    turns.runRead(request.ip, answer, reply.raw);
  });
  paceRejections(server, { isShared: sharedBy(trustedProxies), isPaced: (_request, status) => status >= 400 });
  const proven = new ProvenSecrets();
  if (limiter !== undefined) limitAddresses(server, limiter, proven);
  server.addHook("onRequest", (request, reply, done) => {
    // Nor a path in another spelling, such as with %74: what follows goes by the path as it was sent.
    if (request.is404 || request.routeOptions.url !== pathOf(request)) void rejectUnknownPath(request, reply);
    else done();
  });
  tokenRoute(server, { ...options, clients: proven.observing(options.clients) });
  documentRoutes(server, options);
  healthRoutes(server, options);
  return server;
}

/**
 * Limits by address, because the client is not authenticated yet, and authentication is the expensive part. Past the rate
 * of its address, a client that has just authenticated has a rate of its own; for this its request is read.
 */
function limitAddresses(server: FastifyInstance, limiter: RateLimiter, proven: ProvenSecrets): void {
  const overRate = new WeakMap<FastifyRequest, Verdict>();
  server.addHook("onRequest", (request, reply, done) => {
    const path = pathOf(request);
    if (path === ALIVE_PATH || path === READY_PATH) {
      const verdict = limiter.ofHealth(request.ip);
      return verdict?.admitted === false ? rejectTooMany(reply.headers(verdict.headers), verdict) : done();
    }
    const verdict = limiter.ofAddress(path === TOKEN_PATH ? "token" : "rest", request.ip);
    if (!verdict.admitted && path === TOKEN_PATH && isShortForm(request)) {
      overRate.set(request, verdict);
      return done();
    }
    reply.headers(verdict.headers);
    if (verdict.admitted) done();
    else rejectTooMany(reply, verdict);
  });
  server.addHook("preHandler", (request, reply, done) => {
    const rejection = overRate.get(request);
    if (rejection === undefined) return done();
    const decide = (clientId: string | undefined): void => {
      const verdict = clientId === undefined ? rejection : limiter.ofClientAt("token", clientId, request.ip);
      reply.headers(verdict.headers);
      // Not as a promise: that of a rejection which is still delayed ends when its caller leaves, and the handler would run.
      if (verdict.admitted) done();
      else rejectTooMany(reply, verdict);
    };
    findProven(request, proven).then(decide, done);
  });
}

/** Past the rate, no more than this is read: the longest id, a generated secret and all scopes, with escapes. */
const SHORT_FORM_BYTES = 1_280;

const URL_ENCODED = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/** Past the rate nothing is read in multipart: parsing takes ten times as long. */
function isShortForm({ method, headers }: FastifyRequest): boolean {
  const { "content-type": type = "", "content-length": length = Number.NaN } = headers;
  const isShort = headers["transfer-encoding"] === undefined && Number(length) <= SHORT_FORM_BYTES;
  return method === "POST" && isShort && URL_ENCODED.test(type);
}

/** @returns the client whose secret the request shows, if it was valid a short time ago */
async function findProven(request: FastifyRequest, proven: ProvenSecrets): Promise<string | undefined> {
  const { "content-type": contentType, authorization } = request.headers;
  if (!Buffer.isBuffer(request.body)) return undefined;
  const form = await readForm(contentType, request.body);
  const credentials = form.kind === "rejected" ? form : readCredentials(authorization, form.value);
  if (credentials.kind === "rejected") return undefined;
  return credentials.value.readings.find(({ clientId, secret }) => proven.has(clientId, secret))?.clientId;
}

/**
 * RFC 6749 has no error for this. The status is from RFC 6585, section 4; the error is `temporarily_unavailable` of RFC
 * 6749, section 4.1.2.1, so that the body has the expected form.
 */
function rejectTooMany(reply: FastifyReply, { retryAfter }: Verdict): void {
  const description = `too many requests from this address: try again in ${retryAfter} s`;
  const body = { error: "temporarily_unavailable", error_description: description };
  void reply.code(429).headers(NOT_STORED).send(body);
}

/** Over capacity, requests are rejected before their body is read, and not logged. */
function tokenRoute(server: FastifyInstance, options: AuthServerOptions): void {
  const admission = new TokenAdmission();
  const rejectAtCapacity: onRequestHookHandler = (request, reply, done) => {
    const room = admission.check(request.ip);
    if (room.kind === "done") done();
    else void answer(room, reply, options);
  };
  server.post(TOKEN_PATH, { onRequest: rejectAtCapacity }, async (request, reply) => {
    const result = await admission.run(request.ip, () => issueToken(request, options));
    return answer(result, reply, options);
  });
}

function documentRoutes(server: FastifyInstance, { authUrl, keys, scopeWords }: AuthServerOptions): void {
  server.get(KEYS_PATH, (_request, reply) => {
    return reply.header("cache-control", `public, max-age=${KEYS_MAX_AGE_SECONDS}`).send({ keys: keys.published() });
  });
  server.get(METADATA_PATH, () => serverMetadata(authUrl(), scopeWords));
  server.get(OPENID_PATH, () => openidConfiguration(authUrl(), scopeWords));
}

function healthRoutes(server: FastifyInstance, { readiness = {} }: AuthServerOptions): void {
  const failingChecks = watchReadiness(readiness);
  server.get(ALIVE_PATH, (_request, reply) => reply.headers(NOT_STORED).send({ status: "alive" }));
  server.get(READY_PATH, async (_request, reply) => {
    const missing = await failingChecks();
    if (missing.length === 0) return reply.headers(NOT_STORED).send({ status: "ready" });
    return sendError(reply, rejectToken("temporarily_unavailable", `not ready: ${missing.join(", ")}`).rejection);
  });
}

/** Issues a token, or not, and logs it. */
async function issueToken(
  request: FastifyRequest,
  options: AuthServerOptions,
): Promise<Result<TokenGranted, TokenRejection>> {
  const { "content-type": contentType, authorization } = request.headers;
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const query = queryOf(request);
  const asked = { query, contentType, authorization, body, address: request.ip };
  const headers = checkHeaders(request);
  const result = headers.kind === "rejected" ? headers : await handleTokenRequest(asked, options);
  const about = { request_id: request.id, address: request.ip };
  if (result.kind === "rejected") {
    const { error, reason, clientId } = result.rejection;
    options.log.info({ ...about, client_id: clientId, rejection: error, reason }, "token request rejected");
    reportDenial(result.rejection, request, options);
    return result;
  }
  const { clientId, tokenId } = result.value;
  request.issuedTo = clientId;
  // Debug level: successes would bury rejections.
  options.log.debug(
    { ...about, client_id: clientId, token_id: tokenId, scope: result.value.body.scope },
    "token issued",
  );
  return result;
}

function answer(
  result: Result<TokenGranted, TokenRejection>,
  reply: FastifyReply,
  { onTokenRequest }: AuthServerOptions,
): FastifyReply {
  onTokenRequest?.(result.kind === "done" ? "issued" : result.rejection.error);
  if (result.kind === "rejected") return sendError(reply, result.rejection);
  return reply.headers(NOT_STORED).send(result.value.body);
}

function reportDenial(
  { error, clientId }: TokenRejection,
  { ip }: FastifyRequest,
  { onDenied }: AuthServerOptions,
): void {
  if (error !== "invalid_client") return;
  onDenied?.({ kind: "invalid_client", clientId, address: ip, operation: `POST ${TOKEN_PATH}` });
}

/** RFC 6749, section 5.2, with `Retry-After` where a retry helps. */
function sendError(reply: FastifyReply, { error, description, challenge }: TokenRejection): FastifyReply {
  if (challenge) reply.header("www-authenticate", 'Basic realm="parbook", charset="UTF-8"');
  if (error === "temporarily_unavailable") reply.header("retry-after", "1");
  return reply.code(TOKEN_ERRORS[error]).headers(NOT_STORED).send({ error, error_description: description });
}

function rejectUnknownPath(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const methods = METHODS[pathOf(request)];
  const [status, description] = methods === undefined ? [404, "no such path"] : [405, `this path allows ${methods}`];
  if (methods !== undefined) reply.header("allow", methods);
  const body = { error: "invalid_request", error_description: description };
  return reply.code(status).headers(NOT_STORED).send(body);
}

function createErrorHandler({ log, onTokenRequest }: AuthServerOptions) {
  return (error: Thrown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { rejection } = rejectionOf(error, request, log);
    if (pathOf(request) === TOKEN_PATH) onTokenRequest?.(rejection.error);
    return sendError(reply, rejection);
  };
}

type Thrown = Error & { readonly statusCode?: number };

function rejectionOf(error: Thrown, { id }: FastifyRequest, log: FastifyBaseLogger): Rejected<TokenRejection> {
  const { statusCode = 500 } = error;
  // The framework's own rejections: a body too long or shorter than announced, an unreadable header.
  if (statusCode === 413) return rejectToken("invalid_request", `the body has more than ${BODY_LIMIT_BYTES} bytes`);
  if (statusCode < 500) return rejectToken("invalid_request", "the request cannot be read");
  const retry = reasonToRetry(error);
  const about = { request_id: id, err: error };
  if (retry === undefined) log.error(about, "token request failed: bug");
  else log.warn(about, "token request failed: fault");
  return retry === undefined
    ? rejectToken("server_error", "internal error: quote the X-Request-Id when you report it")
    : rejectToken("temporarily_unavailable", retry);
}

/** Faults for which a retry helps. */
function reasonToRetry(error: Error): string | undefined {
  if (error instanceof DatabaseAway) return "the database cannot be reached";
  if (error instanceof ClockFault) return error.message;
  return isTimeout(error) ? "the database took too long" : undefined;
}

const pathOf = ({ url }: FastifyRequest): string => url.split("?", 1)[0] as string;

const queryOf = (request: FastifyRequest): string => request.url.slice(pathOf(request).length);
