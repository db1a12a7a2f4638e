/**
 * The HTTP server on auth_url: the token endpoint, and the documents that describe it. Errors are those of RFC 6749,
 * not problems. Nothing that is secret is ever logged: no body, no header, no query.
 */
import { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { DatabaseAway } from "../postgres/database.ts";
import type { IdSource } from "../std/id.ts";
import { sentRequestId } from "../std/request-id.ts";
import { KEYS_PATH, METADATA_PATH, OPENID_PATH, openidConfiguration, serverMetadata, TOKEN_PATH } from "./metadata.ts";
import { PUBLISHED_BEFORE_USE_MS, type SigningKeys } from "./signing-keys.ts";
import { answerTokenRequest, type TokenEndpointOptions } from "./token-endpoint.ts";
import { TOKEN_ERRORS, TokenRefusal } from "./token-refusal.ts";

export interface AuthServerOptions extends TokenEndpointOptions {
  readonly authUrl: () => string;
  readonly keys: Pick<SigningKeys, "published">;
  readonly ids: IdSource;
  readonly log: FastifyBaseLogger;
}

/** Ample for all parameters at their longest, in multipart. */
const BODY_LIMIT_BYTES = 16_384;

/** A key is published for this long before it signs: a copy of the set that is no older never lacks one that signs. */
const KEYS_MAX_AGE_SECONDS = PUBLISHED_BEFORE_USE_MS / 1_000;

const METHODS: Readonly<Record<string, string>> = {
  [TOKEN_PATH]: "POST",
  [KEYS_PATH]: "GET, HEAD",
  [METADATA_PATH]: "GET, HEAD",
  [OPENID_PATH]: "GET, HEAD",
};

export function createAuthServer(options: AuthServerOptions): FastifyInstance {
  const handleError = createErrorHandler(options.log);
  const server = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: (request) => sentRequestId(request.headers["x-request-id"]) ?? options.ids.next(),
    requestIdHeader: false,
    trustProxy: false,
    requestTimeout: 10_000,
    connectionTimeout: 20_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // An address that cannot be decoded comes here before any hook.
    frameworkErrors: (error, request, reply) =>
      void handleError(error, request, reply.header("x-request-id", request.id)),
  });
  server.setErrorHandler(handleError);
  server.setNotFoundHandler(refuseUnknown);
  // Every body comes as it is: what it must be is a rule of the token endpoint, with an error of its own.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  server.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  server.post(TOKEN_PATH, (request, reply) => answer(request, reply, options));
  describe(server, options);
  return server;
}

function describe(server: FastifyInstance, { authUrl, keys }: AuthServerOptions): void {
  server.get(KEYS_PATH, (_request, reply) => {
    return reply.header("cache-control", `public, max-age=${KEYS_MAX_AGE_SECONDS}`).send({ keys: keys.published() });
  });
  server.get(METADATA_PATH, () => serverMetadata(authUrl()));
  server.get(OPENID_PATH, () => openidConfiguration(authUrl()));
}

async function answer(request: FastifyRequest, reply: FastifyReply, options: AuthServerOptions): Promise<FastifyReply> {
  const { authorization, "content-type": contentType } = request.headers;
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const { query } = addressOf(request);
  const answered = await answerTokenRequest({ query, contentType, authorization, body }, options);
  const about = { request_id: request.id, address: request.ip };
  if (answered instanceof TokenRefusal) {
    options.log.info({ ...about, error: answered.error, reason: answered.description }, "token refused");
    return refuse(reply, answered);
  }
  const { clientId, tokenId } = answered;
  // What goes well is a detail: at a higher level it would bury what does not.
  options.log.debug({ ...about, client_id: clientId, token_id: tokenId, scope: answered.body.scope }, "token issued");
  return reply.headers(NOT_STORED).send(answered.body);
}

/** RFC 6749, section 5.1. */
const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" };

/** RFC 6749, section 5.2, and `Retry-After` where trying again helps. */
function refuse(reply: FastifyReply, { error, description, challenge }: TokenRefusal): FastifyReply {
  if (challenge) reply.header("www-authenticate", 'Basic realm="parbook", charset="UTF-8"');
  if (error === "temporarily_unavailable") reply.header("retry-after", "1");
  return reply.code(TOKEN_ERRORS[error]).headers(NOT_STORED).send({ error, error_description: description });
}

function refuseUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const methods = METHODS[addressOf(request).path];
  const [status, description] =
    methods === undefined ? [404, "there is nothing at this path"] : [405, `the methods of this path are ${methods}`];
  if (methods !== undefined) reply.header("allow", methods);
  const body = { error: "invalid_request", error_description: description };
  return reply.code(status).headers(NOT_STORED).send(body);
}

function createErrorHandler(log: FastifyBaseLogger) {
  return (error: Error & { statusCode?: number }, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { statusCode = 500 } = error;
    // What the framework refuses by itself: a body that is too long or shorter than announced, an unreadable header.
    if (statusCode < 500) return refuse(reply, new TokenRefusal("invalid_request", "the request cannot be read"));
    log.error({ request_id: request.id, err: error }, "token request failed");
    return error instanceof DatabaseAway
      ? refuse(reply, new TokenRefusal("temporarily_unavailable", "the database cannot be reached"))
      : refuse(reply, new TokenRefusal("server_error", "the request failed; the log has why, under its X-Request-Id"));
  };
}

function addressOf(request: FastifyRequest): { path: string; query: URLSearchParams } {
  const [path = "", ...rest] = request.url.split("?");
  return { path, query: new URLSearchParams(rest.join("?")) };
}
