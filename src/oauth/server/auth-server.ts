/**
 * The HTTP server on auth_url: the token endpoint, and the documents that describe it. Errors are those of RFC 6749,
 * not problems. Nothing that is secret is ever logged: no body, no header, no query.
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
import { endConnection, ignoreWhatFollows } from "../../web/connections/last-request.ts";
import { TrackedResponse } from "../../web/connections/last-response.ts";
import { sliceTlsWrites } from "../../web/connections/tls-writes.ts";
import { sharedBy, transport, trustOf } from "../../web/connections/transport.ts";
import { reduceForwardedFor } from "../../web/forwarded-for.ts";
import type { RateLimiter, Verdict } from "../../web/limits/rate-limiter.ts";
import { paceRetries } from "../../web/limits/retry-pace.ts";
import { type ReadinessChecks, watchReadiness } from "../../web/readiness.ts";
import { sentRequestId } from "../../web/request-id.ts";
import { safeHeaders } from "../../web/safe-headers.ts";
import { ignoreExpectations } from "../../web/unsound-headers.ts";
import type { AccessDenial } from "../access-log/access-denial.ts";
import { PUBLISHED_BEFORE_USE_MS, type SigningKeys } from "../keys/signing-keys.ts";
import { KEYS_PATH, METADATA_PATH, OPENID_PATH, openidConfiguration, serverMetadata, TOKEN_PATH } from "./metadata.ts";
import { answerTokenRequest, type TokenEndpointOptions } from "./token-endpoint.ts";
import { NOT_STORED, TOKEN_ERRORS, type TokenError, TokenRequestError } from "./token-error.ts";
import { TokenAdmission } from "./token-turns.ts";
import { isRefusedUnread, refuseConnection, refuseUnsoundHeaders } from "./unsound-requests.ts";

export interface AuthServerOptions extends TokenEndpointOptions {
  readonly authUrl: () => string;
  readonly keys: Pick<SigningKeys, "published">;
  readonly ids: IdSource;
  readonly log: FastifyBaseLogger;
  /** Told of every client that could not prove who it is. Nobody waits for it. */
  readonly onDenied?: ((refusal: AccessDenial) => void) | undefined;
  /** Adds its hooks before all others: who counts or traces sees what is refused as well. */
  readonly watch?: ((server: Pick<FastifyInstance, "addHook">) => void) | undefined;
  /** Told how every request for a token ends. */
  readonly onTokenRequest?: ((outcome: "issued" | TokenError) => void) | undefined;
  /** Left out: nothing is limited. */
  readonly limiter?: RateLimiter | undefined;
  /** What `/readyz` asks for. Left out: nothing. */
  readonly readiness?: ReadinessChecks | undefined;
  /** Whose `X-Forwarded-For` is believed: addresses and networks. */
  readonly trustedProxies?: readonly Network[];
  /** Left out: plain HTTP. */
  readonly tls?: SecureContextOptions | undefined;
}

/** Ample for all parameters at their longest, in multipart. */
const BODY_LIMIT_BYTES = 16_384;

/** A key is published for this long before it signs: a copy of the set that is no older never lacks one that signs. */
const KEYS_MAX_AGE_SECONDS = PUBLISHED_BEFORE_USE_MS / 1_000;

/** For whoever runs the process, as on base_url; not in the documents. */
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
  const begin = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.headers(safeHeaders(options.authUrl())).header("x-request-id", request.id);
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
    requestTimeout: 10_000,
    connectionTimeout: 20_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // An address that cannot be decoded comes here before any hook.
    frameworkErrors: (error, request, reply) => {
      endConnection(request, reply);
      void handleError(error, request, begin(request, reply));
    },
    clientErrorHandler: refuseConnection,
  });
  sliceTlsWrites(server.server);
  ignoreExpectations(server.server);
  server.setErrorHandler(handleError);
  server.setNotFoundHandler(refuseUnknown);
  // Every body comes as it is: what it must be is a rule of the token endpoint, with an error of its own.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  ignoreWhatFollows(server);
  reduceForwardedFor(server, trustedProxies);
  options.watch?.(server);
  server.addHook("onRequest", (request, reply, done) => {
    begin(request, reply);
    if (isRefusedUnread(request, reply)) return;
    done();
  });
  paceRetries(server, sharedBy(trustedProxies));
  if (limiter !== undefined) limitAddresses(server, limiter);
  issueInTurn(server, options);
  describe(server, options);
  tellHealth(server, options);
  return server;
}

/**
 * By address alone: who the client is has yet to be found out, and that is what is to be limited.
 */
function limitAddresses(server: FastifyInstance, limiter: RateLimiter): void {
  server.addHook("onRequest", (request, reply, done) => {
    const { path } = addressOf(request);
    if (path === ALIVE_PATH || path === READY_PATH) {
      const verdict = limiter.ofHealth(request.ip);
      return verdict?.admitted === false ? refuseTooMany(reply.headers(verdict.headers), verdict) : done();
    }
    const verdict = limiter.ofAddress(path === TOKEN_PATH ? "token" : "rest", request.ip);
    reply.headers(verdict.headers);
    if (verdict.admitted) done();
    else refuseTooMany(reply, verdict);
  });
}

/**
 * RFC 6749 knows no such refusal. The status is that of RFC 6585, section 4; the error is the one that section 4.1.2.1
 * has for a server that cannot answer for now, so that a client finds the body that it expects.
 */
function refuseTooMany(reply: FastifyReply, { retryAfter }: Verdict): void {
  const description = `too many requests from this address: try again in ${retryAfter} s`;
  const body = { error: "temporarily_unavailable", error_description: description };
  void reply.code(429).headers(NOT_STORED).send(body);
}

/** What there is no room for is refused before its body is read, and without a line in the log. */
function issueInTurn(server: FastifyInstance, options: AuthServerOptions): void {
  const turns = new TokenAdmission();
  const crowded = (reply: FastifyReply, refusal: TokenRequestError): FastifyReply => {
    options.onTokenRequest?.(refusal.error);
    return refuse(reply, refusal);
  };
  const refuseCrowd: onRequestHookHandler = (request, reply, done) => {
    const refusal = turns.refusal(request.ip);
    if (refusal === undefined) done();
    else void crowded(reply, refusal);
  };
  server.post(TOKEN_PATH, { onRequest: refuseCrowd }, async (request, reply) => {
    const answered = await turns.take(request.ip, () => answer(request, reply, options));
    return answered instanceof TokenRequestError ? crowded(reply, answered) : answered;
  });
}

function describe(server: FastifyInstance, { authUrl, keys }: AuthServerOptions): void {
  server.get(KEYS_PATH, (_request, reply) => {
    return reply.header("cache-control", `public, max-age=${KEYS_MAX_AGE_SECONDS}`).send({ keys: keys.published() });
  });
  server.get(METADATA_PATH, () => serverMetadata(authUrl()));
  server.get(OPENID_PATH, () => openidConfiguration(authUrl()));
}

function tellHealth(server: FastifyInstance, { readiness = {} }: AuthServerOptions): void {
  const failingChecks = watchReadiness(readiness);
  server.get(ALIVE_PATH, (_request, reply) => reply.headers(NOT_STORED).send({ status: "alive" }));
  server.get(READY_PATH, async (_request, reply) => {
    const missing = await failingChecks();
    if (missing.length === 0) return reply.headers(NOT_STORED).send({ status: "ready" });
    return refuse(reply, new TokenRequestError("temporarily_unavailable", `not ready: ${missing.join(", ")}`));
  });
}

async function answer(request: FastifyRequest, reply: FastifyReply, options: AuthServerOptions): Promise<FastifyReply> {
  const { "content-type": contentType, authorization } = request.headers;
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const { query } = addressOf(request);
  const asked = { query, contentType, authorization, body, address: request.ip };
  const answered = refuseUnsoundHeaders(request) ?? (await answerTokenRequest(asked, options));
  const about = { request_id: request.id, address: request.ip };
  options.onTokenRequest?.(answered instanceof TokenRequestError ? answered.error : "issued");
  if (answered instanceof TokenRequestError) {
    options.log.info({ ...about, refusal: answered.error, reason: answered.reason }, "token refused");
    noteRefusal(answered, request, options);
    return refuse(reply, answered);
  }
  const { clientId, tokenId } = answered;
  // What goes well is a detail: at a higher level it would bury what does not.
  options.log.debug({ ...about, client_id: clientId, token_id: tokenId, scope: answered.body.scope }, "token issued");
  return reply.headers(NOT_STORED).send(answered.body);
}

function noteRefusal(
  { error, clientId }: TokenRequestError,
  { ip }: FastifyRequest,
  { onDenied }: AuthServerOptions,
): void {
  if (error !== "invalid_client") return;
  onDenied?.({ kind: "invalid_client", clientId, address: ip, operation: `POST ${TOKEN_PATH}` });
}

/** RFC 6749, section 5.2, and `Retry-After` where trying again helps. */
function refuse(reply: FastifyReply, { error, description, challenge }: TokenRequestError): FastifyReply {
  if (challenge) reply.header("www-authenticate", 'Basic realm="parbook", charset="UTF-8"');
  if (error === "temporarily_unavailable") reply.header("retry-after", "1");
  return reply.code(TOKEN_ERRORS[error]).headers(NOT_STORED).send({ error, error_description: description });
}

function refuseUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const methods = METHODS[addressOf(request).path];
  const [status, description] =
    methods === undefined ? [404, "no such path"] : [405, `the methods of this path are ${methods}`];
  if (methods !== undefined) reply.header("allow", methods);
  const body = { error: "invalid_request", error_description: description };
  return reply.code(status).headers(NOT_STORED).send(body);
}

function createErrorHandler({ log, onTokenRequest }: AuthServerOptions) {
  return (error: Thrown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const refusal = refusalFor(error, request, log);
    if (addressOf(request).path === TOKEN_PATH) onTokenRequest?.(refusal.error);
    return refuse(reply, refusal);
  };
}

type Thrown = Error & { readonly statusCode?: number };

function refusalFor(error: Thrown, { id }: FastifyRequest, log: FastifyBaseLogger): TokenRequestError {
  const { statusCode = 500 } = error;
  // What the framework refuses by itself: a body that is too long or shorter than announced, an unreadable header.
  if (statusCode === 413)
    return new TokenRequestError("invalid_request", `the body has more than ${BODY_LIMIT_BYTES} bytes`);
  if (statusCode < 500) return new TokenRequestError("invalid_request", "the request cannot be read");
  const busy = busyDatabase(error);
  const about = { request_id: id, err: error };
  if (busy === undefined) log.error(about, "a token request met a bug");
  else log.warn(about, "a token request met a fault");
  return busy ?? new TokenRequestError("server_error", "the request failed; the log has why, under its X-Request-Id");
}

/** What trying again helps against. */
function busyDatabase(error: Error): TokenRequestError | undefined {
  if (error instanceof DatabaseAway)
    return new TokenRequestError("temporarily_unavailable", "the database cannot be reached");
  if (error instanceof ClockFault) return new TokenRequestError("temporarily_unavailable", error.message);
  return isTimeout(error) ? new TokenRequestError("temporarily_unavailable", "the database took too long") : undefined;
}

function addressOf(request: FastifyRequest): { path: string; query: URLSearchParams } {
  const [path = "", ...rest] = request.url.split("?");
  return { path, query: new URLSearchParams(rest.join("?")) };
}
