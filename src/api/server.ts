/**
 * The HTTP API: one Fastify server with everything that all routes share. A request passes, in this order: request id,
 * header checks, 404 and 405, shutdown, load, token, rate limit, scope, queue capacity, body, validation, admission;
 * then the handler. Anything thrown on the way becomes a problem (`error-handler.ts`).
 *
 * A file in routes/ looks like this. The schema is validator, serialiser and documentation at once; the handler returns
 * the body or throws a problem; `request.grant` is the caller.
 *
 *     export function transferRoutes(api: Api, transfers: Transfers): void {
 *       api.get("/v2/transfer/transfers/:id", {
 *         config: { scope: "transfer:read_transfer" },
 *         schema: {
 *           operationId: "getTransfer",
 *           tags: ["Transfers"],
 *           summary: "Read a transfer",
 *           params: Type.Object({ id: UuidText }),
 *           response: { 200: TransferBody, ...errors(400, 401, 403, 404, 503) },
 *         },
 *       }, async (request) => {
 *         const transfer = await transfers.find(request.grant.customerId, uuidOf(request.params.id));
 *         if (transfer === undefined) throw notFound(`transfer not found: ${request.params.id}`);
 *         return transferBody(transfer);
 *       });
 *     }
 */
import type { SecureContextOptions } from "node:tls";
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
  LogController,
  type onRequestHookHandler,
  type RouteOptions,
} from "fastify";
import type { AccessDenial } from "../oauth/access-denials/access-denial.ts";
import { assert } from "../std/assert.ts";
import type { Network } from "../std/network.ts";
import { endConnection, ignoreWhatFollows } from "../web/connections/last-request.ts";
import { isOverLimit, paceRejections } from "../web/connections/rejection-pace.ts";
import { sharedBy, transport, trustOf } from "../web/connections/server-options.ts";
import { sliceTlsWrites } from "../web/connections/sliced-tls-writes.ts";
import { onceClosed, responseTo, TrackedResponse } from "../web/connections/tracked-response.ts";
import { boundResponses, createUnsentResponses, type UnsentByAccess } from "../web/connections/unsent-responses.ts";
import { type Dialect, OWN_DIALECT } from "../web/dialect/dialect.ts";
import { reduceForwardedFor } from "../web/forwarded-for.ts";
import { queueKey } from "../web/limits/address.ts";
import type { RateLimiter } from "../web/limits/rate-limiter.ts";
import { byteCost, READ_COST, RequestTurns, WRITE_COST } from "../web/limits/request-turns.ts";
import { hasLongPath, withoutLongPath } from "../web/long-paths.ts";
import { securityHeaders } from "../web/security-headers.ts";
import { BulkAdmission } from "./access/bulk-admission.ts";
import {
  type Access,
  callerOf,
  clientCallerOf,
  grantOf,
  guard,
  stillGranted,
  type Verify,
  whileGranted,
} from "./access/guard.ts";
import {
  type Admit,
  admitAddress,
  admitBy,
  admitMoreBy,
  type CountSent,
  countBody,
  countSentBy,
} from "./access/rate-limiting.ts";
import {
  type Admissions,
  admissionOfRead,
  admitted,
  atCapacity,
  createAdmissions,
  rejectUnread,
  rejectWhenFull,
  tooManyUnread,
  unsentOf,
} from "./access/request-admission.ts";
import type { Api } from "./api.ts";
import { ApiDialect } from "./dialect/api-dialect.ts";
import { BODY_LIMIT_BYTES, createErrorHandler, respondToClientError } from "./error-handler.ts";
import { KnownRoutes } from "./known-routes.ts";
import { documentRoutes } from "./openapi/openapi.ts";
import { type DemoClient, referencePage } from "./openapi/reference-page.ts";
import { problemPages } from "./problems/problem-pages.ts";
import { callerHasGone, notFound, Problem, problemBody, unavailable } from "./problems/problems.ts";
import { requestIdOf } from "./request-id.ts";
import { rejectAmbiguousBody, rejectAmbiguousHeaders } from "./requests/ambiguous-headers.ts";
import { readJson, unparsedQuery } from "./requests/body-reader.ts";
import { type DefaultProfileOf, withDefaultProfile } from "./requests/default-profile.ts";
import { inSlices } from "./requests/serialize-page.ts";
import { AJV, readRequest } from "./requests/validation.ts";
import { UpgradeRequest } from "./websocket-feeds/upgrade.ts";

export type { Api } from "./api.ts";

export interface ApiOptions {
  /** The public URLs. Functions, because with port 0 they are known only once the server listens. */
  readonly baseUrl: () => string;
  readonly authUrl: () => string;
  /** Whether the token endpoint answers on baseUrl too. Absent: on authUrl only. */
  readonly sharesTokens?: boolean;
  /** The words of callers. Absent: our own. */
  readonly dialect?: Dialect;
  readonly log: FastifyBaseLogger;
  readonly verify: Verify;
  /** The reason why no more writes are accepted, if any. Then a write is rejected before its token and body are read. */
  readonly rejectsWork: () => string | undefined;
  /** The id of a customer's DEFAULT profile, which requests may call `default`. */
  readonly defaultProfileOf: DefaultProfileOf;
  readonly admissions?: Admissions;
  /** The bounds on responses that callers do not read. */
  readonly answers?: UnsentByAccess;
  /** Called with the number of connections closed because their responses were read too slowly. */
  readonly onCutOff?: ((count: number) => void) | undefined;
  /** The client with which /docs signs in by itself. Absent: none. */
  readonly demoClient?: DemoClient | undefined;
  /** Called on every access denial. Not awaited. */
  readonly onDenied?: (denial: AccessDenial) => void;
  /** Adds its hooks before all others, so that metrics and traces include rejected requests. */
  readonly observe?: ((server: Pick<FastifyInstance, "addHook">) => void) | undefined;
  /** Called on every problem response. */
  readonly onProblem?: ((problem: Problem) => void) | undefined;
  /** Absent: no rate limits. */
  readonly limiter?: RateLimiter | undefined;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly Network[];
  /** Absent: plain HTTP. */
  readonly tls?: SecureContextOptions | undefined;
  /** How long a request may take to arrive. */
  readonly timeouts?: ArrivalTimeouts;
}

interface ArrivalTimeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly checkEveryMs: number;
}

const ARRIVAL_TIMEOUTS: ArrivalTimeouts = { headersMs: 20_000, requestMs: 30_000, checkEveryMs: 5_000 };

/** Builds the API without its resources. Add routes, then listen. */
export async function createApi(options: ApiOptions): Promise<Api> {
  const { dialect = OWN_DIALECT } = options;
  const handleError = createErrorHandler(options.baseUrl, options.onProblem, dialect);
  const { timeouts = ARRIVAL_TIMEOUTS, trustedProxies = [], admissions = createAdmissions() } = options;
  const { answers = createUnsentResponses(), onCutOff } = options;
  const api: Api = fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    // No child logger for each request: see `logOf`.
    childLoggerFactory: (log) => log,
    genReqId: requestIdOf,
    requestIdHeader: false,
    trustProxy: trustOf(trustedProxies),
    ajv: AJV,
    bodyLimit: BODY_LIMIT_BYTES,
    // maxHeaderSize allows a hundred values in each of several repeatable filters.
    ...transport(
      {
        IncomingMessage: UpgradeRequest,
        ServerResponse: TrackedResponse,
        requireHostHeader: false,
        maxHeaderSize: 65_536,
        headersTimeout: timeouts.headersMs,
        connectionsCheckingInterval: timeouts.checkEveryMs,
      },
      options.tls,
    ),
    routerOptions: { maxParamLength: 1_024, querystringParser: unparsedQuery },
    ...rewritten(dialect),
    requestTimeout: timeouts.requestMs,
    connectionTimeout: 60_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // A URL that cannot be decoded gets here before any hook.
    frameworkErrors: (error, request, reply) => {
      endConnection(request as FastifyRequest, reply as never);
      turns.runRead(request.ip, () => handleError(error, request as FastifyRequest, reply as never), reply.raw);
    },
    clientErrorHandler: respondToClientError,
  });
  sliceTlsWrites(api.server);
  const bulkAdmission = prepareBulks(api, options, admissions);
  api.setErrorHandler(handleError);
  api.decorate("dialect", new ApiDialect(dialect));
  api.decorate("isStillGranted", stillGranted(options.verify));
  api.decorate("countSent", countSentBy(options.limiter));
  api.removeAllContentTypeParsers();
  const turns = new RequestTurns();
  parseJson(api, { bulkAdmission, turns, largeBodies: admissions.largeBodies });
  // Fields of the request: a WeakMap beside it would cost more in garbage collection than the guard itself.
  api.decorateRequest("known", null);
  api.decorateRequest("verifiedAtMs", 0);
  api.decorateRequest("leave", null);
  api.decorateRequest("enterAgain", null);
  api.decorateRequest("grant", {
    getter(this: FastifyRequest) {
      return grantOf(this);
    },
  });
  api.decorateRequest("caller", {
    getter(this: FastifyRequest) {
      return clientCallerOf(this);
    },
  });
  ignoreWhatFollows(api);
  reduceForwardedFor(api, trustedProxies);
  options.observe?.(api);
  const admit = admitBy(options.limiter);
  rejectAmbiguousHeaders(api, turns);
  rejectUnknownRoutes(api, options.baseUrl, admit, turns);
  rejectWhileClosing(api);
  paceRejections(api, { isShared: sharedBy(trustedProxies), isPaced });
  const { checkEveryMs } = timeouts;
  const answersOf = (request: FastifyRequest) => unsentOf(request, answers);
  boundResponses(api, { all: answers, groupOf: answersOf, callerOf, rejection: tooManyUnread, checkEveryMs, onCutOff });
  api.addHook("onRoute", (route) => {
    api.dialect.prepare(route);
    prepareRoute(route, options, admit, { ...admissions, answers, bulkAdmission, turns, countSent: api.countSent });
  });
  await documentRoutes(api, options);
  problemPages(api, options.baseUrl, dialect);
  await referencePage(api, options);
  return api;
}

/** Requests are routed, measured and logged by our own paths. */
function rewritten({ paths }: Dialect): Pick<FastifyServerOptions, "rewriteUrl"> {
  const routed = (target: string): string => paths?.taken(target) ?? target;
  return { rewriteUrl: ({ url = "" }) => routed(withoutLongPath(url)) };
}

function prepareBulks(
  api: Api,
  { baseUrl, limiter, dialect = OWN_DIALECT }: ApiOptions,
  { writes }: Admissions,
): BulkAdmission {
  const bulkAdmission = new BulkAdmission(writes, admitMoreBy(limiter));
  api.decorate("bulkAdmission", bulkAdmission);
  // Before all others: a rejection may be delayed.
  api.addHook("onSend", bulkAdmission.leave);
  api.decorate("problemBodyOf", (request: FastifyRequest, problem: Problem) =>
    problemBody(problem, { baseUrl: baseUrl(), requestId: request.id, dialect }),
  );
  return bulkAdmission;
}

/** Larger ones are parsed in turns. */
const SMALL_BODY_BYTES = 4_096;
/** To receive a large body, to respond and to collect its garbage takes the thread twice as long as to parse and to check it. */
const LARGE_BODY_TIMES = 3;

interface BodyAdmission extends Pick<Admissions, "largeBodies"> {
  readonly bulkAdmission: BulkAdmission;
  readonly turns: RequestTurns;
}

function parseJson(api: Api, admission: BodyAdmission): void {
  api.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (request: FastifyRequest, bytes: Buffer) => {
      rejectAmbiguousBody(request);
      const { bulk } = request.routeOptions.config;
      if (bulk !== undefined) await admission.bulkAdmission.parse(request, bytes.length);
      else if (bytes.length > SMALL_BODY_BYTES) await turnOfLargeBody(request, bytes.length, admission);
      return readJson(bytes, bulk?.maxValues);
    },
  );
}

/** Waits until a large body may be parsed, at once. @throws Problem 503 without room or after too long a wait */
async function turnOfLargeBody(
  request: FastifyRequest,
  bytes: number,
  { largeBodies, turns }: BodyAdmission,
): Promise<void> {
  const caller = callerOf(request);
  if (!(await largeBodies.enter(caller))) throw atCapacity();
  try {
    await turnToParse(request, bytes, turns);
  } catch (error) {
    largeBodies.leave(caller);
    throw error;
  }
  const startedMs = performance.now();
  // Until the thread has also checked and rejected it, or begun what it asks for. What others do in this turn of the event
  // loop is not this caller's.
  const leave = (): void => largeBodies.leave(caller, (performance.now() - startedMs) * LARGE_BODY_TIMES);
  queueMicrotask(() => process.nextTick(leave));
}

/** @throws Problem 503 when the caller has closed the connection before */
function turnToParse({ raw, ip }: FastifyRequest, bytes: number, turns: RequestTurns): Promise<void> {
  return new Promise<void>((parse, reject) => {
    const gone = (): void => reject(callerHasGone());
    if (raw.socket.destroyed) return gone();
    const response = responseTo(raw);
    if (response !== undefined) onceClosed(response, gone);
    turns.run(queueKey(ip), byteCost(bytes), parse, response);
  });
}

/** All rejections of unauthenticated callers too: their rate allows a burst of 15,000. */
function isPaced({ known }: FastifyRequest, status: number): boolean {
  return isOverLimit(status) || (status >= 400 && known === null);
}

/** Sets the headers that all responses share, and rejects unknown paths and methods before their bodies are read. */
function rejectUnknownRoutes(api: Api, baseUrl: () => string, admit: Admit, turns: RequestTurns): void {
  const routes = new KnownRoutes();
  api.addHook("onRoute", ({ url, method }) => routes.add(url, [method].flat()));
  api.addHook("onRequest", (request, reply, done) => {
    // Not cached unless the route overrides it: responses are private to their caller, and prices change.
    reply.headers(securityHeaders(baseUrl())).headers({ "cache-control": "no-store", "x-request-id": request.id });
    if (!request.is404) return done();
    // Rejected in turn, like what is served: others would wait for hundreds that arrive together.
    const reject = (): void => {
      try {
        admit(request, reply, undefined);
        done(unknownRoute(request, routes));
      } catch (error) {
        done(error as Error);
      }
    };
    turns.runRead(request.ip, reject, reply.raw);
  });
}

function unknownRoute(request: FastifyRequest, routes: KnownRoutes): Problem {
  if (hasLongPath(request.url)) return new Problem(414, "the path is too long");
  const methods = routes.methodsOf(request.url);
  if (methods.length === 0) return notFound("no such path");
  const allow = methods.join(", ");
  return new Problem(405, `${request.method} is not allowed on this path: use ${allow}`, { headers: { allow } });
}

/** During shutdown, requests in flight complete; new ones get 503 and their connections are closed. */
function rejectWhileClosing(api: Api): void {
  let closing = false;
  api.addHook("preClose", async () => {
    closing = true;
  });
  api.addHook("onRequest", (_request, _reply, done) => {
    if (closing) done(unavailable("the service is shutting down"));
    else done();
  });
  api.addHook("onSend", (_request, reply, _payload, done) => {
    if (closing) reply.header("connection", "close");
    done();
  });
}

/** Adds the hooks that the configuration and the schemas of a route require. */
function prepareRoute(
  route: RouteOptions,
  { verify, rejectsWork, defaultProfileOf, dialect = OWN_DIALECT, onDenied = () => {} }: ApiOptions,
  admit: Admit,
  parts: Admissions & {
    readonly answers: UnsentByAccess;
    readonly bulkAdmission: BulkAdmission;
    readonly turns: RequestTurns;
    readonly countSent: CountSent;
  },
): void {
  const access: Access | undefined = route.config?.scope;
  assert(access !== undefined, `${[route.method].flat().join()} ${route.url} declares its scope`);
  const isWrite = [route.method].flat().some((method) => WRITES.has(method));
  const scopeWords = dialect.scopes;
  const entrance =
    access === "public" ? admitAddress(admit) : guard([access].flat(), { verify, admit, onDenied, scopeWords });
  route.handler = withDefaultProfile(route.schema ?? {}, defaultProfileOf, route.handler);
  if (isWrite && access !== "public") route.handler = whileGranted(route.handler);
  const hooks = [inTurnByAddress(parts.turns, isWrite ? WRITE_COST : READ_COST), entrance];
  if (isWrite) hooks.unshift(rejectAtCapacity(rejectsWork));
  if (route.config?.admission !== false) {
    const { reads, writes, answers } = parts;
    hooks.push(rejectWhenFull(isWrite ? writes : reads), rejectUnread(answers));
    if (route.config?.bulk !== undefined) {
      hooks.push(parts.bulkAdmission.arrive);
      route.handler = inSlices(route.handler);
    } else route.handler = admitted((request) => (isWrite ? writes : admissionOfRead(request, parts)), route.handler);
  }
  route.onRequest = [...hooks, ...[route.onRequest ?? []].flat()];
  if (access === "public") route.onSend = [countBody(parts.countSent), ...[route.onSend ?? []].flat()];
  route.preValidation = [readRequest(route.url, route.schema ?? {}), ...[route.preValidation ?? []].flat()];
}

const WRITES: ReadonlySet<string> = new Set(["POST", "PUT", "DELETE"]);

function inTurnByAddress(turns: RequestTurns, cost: number): onRequestHookHandler {
  // A long query is split and decoded, and its names are looked at.
  return ({ ip, url }, reply, done) => turns.run(queueKey(ip), cost + byteCost(url.length), done, reply.raw);
}

function rejectAtCapacity(rejectsWork: () => string | undefined): onRequestHookHandler {
  return (_request, _reply, done) => {
    const why = rejectsWork();
    if (why === undefined) done();
    else done(unavailable(why));
  };
}
