/** Builds everything that runs in this process. Nothing of it has started yet. */
import type { Logger } from "pino";
import { PROBLEM_KINDS } from "../api/problems/problems.ts";
import { healthRoutes } from "../api/routes/health.ts";
import { type Api, type ApiOptions, createApi } from "../api/server.ts";
import { createConversions } from "../conversions/conversions.ts";
import { Settlement } from "../conversions/settlement.ts";
import { createEvents } from "../events/events.ts";
import { Publisher, type PublisherEvent } from "../events/publishing/publisher.ts";
import { createEngines, type EngineEvent, type Engines } from "../exchange/engine/engines.ts";
import { createExchange } from "../exchange/exchange.ts";
import type { AccessDenial } from "../oauth/access-denials/access-denial.ts";
import { DenialLog } from "../oauth/access-denials/denial-log.ts";
import { createOauth, DISCOVERY_PATHS, type Oauth, TOKEN_PATH } from "../oauth/oauth.ts";
import { SCOPES } from "../oauth/scopes.ts";
import type { Database } from "../postgres/database.ts";
import { pendingMigrations } from "../postgres/migrations.ts";
import type { Network } from "../std/network.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { createTransfers } from "../transfers/transfers.ts";
import { ConnectionPace } from "../web/connections/connection-pace.ts";
import { boundConnections, type ConnectionBounds } from "../web/connections/connections.ts";
import { containBugs } from "../web/connections/contain-bugs.ts";
import { sharedBy } from "../web/connections/server-options.ts";
import { createDialect, type Dialect, OWN_DIALECT } from "../web/dialect/dialect.ts";
import { RateLimiter } from "../web/limits/rate-limiter.ts";
import type { ReadinessChecks } from "../web/readiness.ts";
import { addApiRoutes, type Domain } from "./api-routes.ts";
import type { BootstrapFile } from "./bootstrap/bootstrap-file.ts";
import type { Config } from "./config/config.ts";
import type { Core } from "./core.ts";
import { type KnownWords, readDialectFile, rejectMistakes } from "./dialect-file.ts";
import { judgeOpenFiles } from "./doctor/examine-node.ts";
import { logFindings } from "./doctor/log-findings.ts";
import { type Observers, reportBug, serverObserver } from "./observers.ts";
import { openDeliveries } from "./open-deliveries.ts";
import { connectionsWithin, openFilesLimit } from "./open-files.ts";
import type { RequestLogForm } from "./request-log.ts";
import { shareTokenEndpoint } from "./share-token-endpoint.ts";
import { measureHandshakeMs, readTls, type Tls } from "./tls.ts";

export interface BuildOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Absent: requests are not logged. */
  readonly requestLog?: RequestLogForm | undefined;
  /** Extra routes, for benchmarks. */
  readonly addRoutes?: ((api: Api) => void) | undefined;
}

export interface Addresses {
  baseUrl: string;
  authUrl: string;
}

/** Everything that runs in this process, built and not yet started. */
export interface Built {
  readonly core: Core;
  readonly observers: Observers;
  readonly settlement: Settlement;
  readonly publisher: Publisher;
  readonly engines: Engines;
  readonly domain: Domain;
  readonly denialLog: DenialLog;
  readonly oauth: Oauth;
  readonly api: Api;
  /** The certificate in use, which is reloaded. */
  readonly certificate: { current: Tls | undefined; use(tls: Tls): void };
  /** Complete once both servers listen. */
  readonly addresses: Addresses;
  /** Complete once everything has started. */
  readonly results: { bootstrap: BootstrapFile | undefined; metricsUrl: string | undefined };
}

export async function build(
  { config, log, addRoutes }: BuildOptions,
  core: Core,
  observers: Observers,
  shared: SharedServerOptions,
): Promise<Built> {
  const { metrics, traces } = observers;
  const settlement = new Settlement({
    ...core,
    delayMs: config.settlementDelayMs,
    onError: (error) => log.warn({ error }, "settlement failed; will be retried"),
    onRecovered: (failures) => log.info({ failures }, "settlement works again"),
  });
  const engines = createEngines({
    ...core,
    aroundRound: traces?.aroundRound,
    log: (event) => {
      logEngine(log, event);
      metrics?.exchange.onEngineEvent(event);
    },
  });
  const dialectFile = config.dialect === undefined ? undefined : await readDialectFile(config.dialect);
  const dialect = dialectFile === undefined ? OWN_DIALECT : createDialect(dialectFile.words);
  const addresses: Addresses = { baseUrl: config.baseUrl ?? "", authUrl: config.authUrl ?? "" };
  const baseUrl = (): string => addresses.baseUrl;
  const domain = createDomain(core, config, { settlement, engines, metrics, dialect, baseUrl });
  const publisher = new Publisher({
    ...core,
    clockToleranceMs: config.clockToleranceMs,
    keptMs: config.eventsKeptMs,
    log: (event) => {
      logPublisher(log, event);
      domain.events.onPublisher(event);
    },
  });
  const denialLog = new DenialLog({
    ...core,
    onFailure: (error) => log.warn({ error }, "access log could not be written"),
  });
  const onDenied = (denial: AccessDenial): void => {
    denialLog.record(denial);
    metrics?.access.denied(denial);
  };
  const oauth = createOauth({
    ...core,
    ...shared,
    onDenied,
    observe: serverObserver("auth", observers),
    onTokenRequest: metrics?.access.tokenRequest,
    readiness: readinessOf(core),
    signingKeys: config.signingKeys,
    scopeWords: dialect.scopes,
    baseUrl,
    authUrl: () => addresses.authUrl,
  });
  const results: Built["results"] = { bootstrap: undefined, metricsUrl: undefined };
  const demoClient = demoClientOf(config, results);
  const reached = { ...shared, onDenied, observers, dialect, demoClient };
  const api = await buildApi(config, core, domain, oauth, addresses, reached);
  if (dialectFile !== undefined) rejectMistakes(dialectFile, knownWords(config, core, api));
  if (config.roles.has("auth")) {
    const isDiscovered = (path: string): boolean =>
      addresses.authUrl === addresses.baseUrl && DISCOVERY_PATHS.includes(path);
    shareTokenEndpoint(api.server, oauth.authServer, (path) => path === TOKEN_PATH || isDiscovered(path));
  }
  const bounds = await connectionBounds(config, log, metrics);
  for (const server of [api.server, oauth.authServer.server]) {
    containBugs(server, reportBug(log, metrics));
    boundConnections(server, bounds);
  }
  addRoutes?.(api);
  const certificate = certificateInUse(shared.tls, bounds.pace);
  return {
    core,
    observers,
    settlement,
    publisher,
    engines,
    domain,
    denialLog,
    oauth,
    api,
    certificate,
    addresses,
    results,
  };
}

/**
 * The client with which /docs signs in by itself: in a sandbox that only this machine reaches, and that has the demo.
 */
function demoClientOf(
  { mode, host, baseUrl, bootstrap, roles }: Config,
  results: Built["results"],
): ApiOptions["demoClient"] {
  const isLocal = host === "127.0.0.1" && baseUrl === undefined;
  if (mode !== "sandbox" || bootstrap !== undefined || !isLocal || !roles.has("auth")) return undefined;
  return () => results.bootstrap?.customers[0]?.clients?.[0];
}

/** Of the servers: what a new connection costs depends on its key. */
function certificateInUse(first: Tls | undefined, pace: ConnectionPace): Built["certificate"] {
  const certificate: Built["certificate"] = {
    current: undefined,
    use: (tls) => {
      certificate.current = tls;
      pace.setCost(measureHandshakeMs(tls));
    },
  };
  if (first !== undefined) certificate.use(first);
  return certificate;
}

interface DomainParts {
  readonly settlement: Settlement;
  readonly engines: Engines;
  readonly metrics: Metrics | undefined;
  readonly dialect: Dialect;
  readonly baseUrl: () => string;
}

function createDomain(core: Core, config: Config, parts: DomainParts): Domain {
  const { settlement, engines, metrics, dialect, baseUrl } = parts;
  const settles = config.roles.has("worker");
  const transfers = createTransfers(core);
  const events = createEvents({ ...core, transfers });
  const onEvent = metrics?.webhooks.onDeliveryEvent;
  const deliveries = openDeliveries(core, config, { events, dialect, baseUrl, onEvent });
  metrics?.webhooks.watch(deliveries);
  return {
    transfers,
    events,
    deliveries,
    conversions: createConversions({
      ...core,
      // Without the role, another node's worker settles it.
      onCreated: (conversion) => (settles ? settlement.onCreated(conversion) : undefined),
    }),
    exchange: createExchange({
      ...core,
      engines,
      onFeedGap: metrics?.exchange.onFeedGap,
      onFeedFault: (error) => core.log.warn({ error }, "market data feed failed; retrying"),
    }),
  };
}

/** Options of both servers. They share the rate limiter, so that a client's token requests count too. */
export interface SharedServerOptions {
  readonly limiter: RateLimiter | undefined;
  readonly trustedProxies: readonly Network[];
  readonly tls: Tls | undefined;
}

export async function sharedServerOptions(config: Config, metrics: Metrics | undefined): Promise<SharedServerOptions> {
  const { rateLimits, trustedProxies } = config;
  const isShared = sharedBy(trustedProxies);
  const limiter =
    rateLimits === "off"
      ? undefined
      : new RateLimiter(rateLimits, { isShared, ...(metrics && { onLimited: metrics.requests.limited }) });
  return { limiter, trustedProxies, tls: await readTls(config) };
}

async function connectionBounds(
  config: Config,
  log: Logger,
  metrics: Metrics | undefined,
): Promise<ConnectionBounds & { readonly pace: ConnectionPace }> {
  const { mode, maxConnections, trustedProxies, roles } = config;
  const openFiles = await openFilesLimit();
  const most = connectionsWithin(openFiles, roles.has("auth") ? 2 : 1, maxConnections);
  // A sandbox has few callers, and its machine was not made for more.
  if (mode === "production") logFindings(judgeOpenFiles(openFiles, config), config, log);
  return {
    most,
    pace: new ConnectionPace(),
    isShared: sharedBy(trustedProxies),
    onDropped: (dropped) => {
      log.warn({ ...dropped }, "connections dropped");
      metrics?.requests.dropped(dropped);
    },
  };
}

async function buildApi(
  config: Config,
  core: Core,
  domain: Domain,
  oauth: Oauth,
  addresses: Addresses,
  {
    observers,
    ...shared
  }: SharedServerOptions & {
    readonly onDenied: (denial: AccessDenial) => void;
    readonly observers: Observers;
    readonly dialect: Dialect;
    readonly demoClient: ApiOptions["demoClient"];
  },
): Promise<Api> {
  const api = await createApi({
    ...shared,
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
    log: core.log,
    verify: (token, address) => oauth.verify(token, address),
    rejectsWork: () => core.lane.unavailableReason,
    sharesTokens: config.roles.has("auth"),
    defaultProfileOf: async (customerId) => (await core.profiles.getDefault(customerId)).id,
    observe: serverObserver("api", observers),
    onProblem: observers.metrics?.requests.problem,
    onCutOff: observers.metrics?.requests.slowReaders,
  });
  healthRoutes(api, readinessOf(core));
  if (config.roles.has("api")) addApiRoutes(api, config, core, domain, observers.metrics?.exchange.onFeedEvent);
  return api;
}

/** A process without the API knows neither its enums nor its paths; those that serve it do. */
function knownWords({ roles }: Config, { catalogue }: Core, { dialect }: Api): KnownWords {
  const hasApi = roles.has("api");
  return {
    assets: new Set(catalogue.listAssets().map(({ code }) => code)),
    markets: new Set(catalogue.listMarkets().map(({ code }) => code)),
    scopes: new Set(Object.keys(SCOPES)),
    problem_titles: new Set(Object.values(PROBLEM_KINDS).map(({ title }) => title)),
    enums: hasApi ? dialect.enums : undefined,
    paths: hasApi ? new Set([...dialect.paths, TOKEN_PATH, ...DISCOVERY_PATHS]) : undefined,
  };
}

function readinessOf({ database, lane }: Core): ReadinessChecks {
  return {
    clock: async () => lane.report().clockFault ?? true,
    database: () => whyNotWritable(database),
    migrations: async () => (await pendingMigrations(database)).length === 0,
  };
}

/** A standby and a database with `default_transaction_read_only` serve reads, while every write fails. */
async function whyNotWritable(database: Database): Promise<true | string> {
  const [row] = await database.rows<{ setting: string }>("select current_setting('transaction_read_only') as setting");
  return row?.setting === "off" || "it is read-only";
}

function logPublisher(log: Logger, event: PublisherEvent): void {
  const { kind } = event;
  if (kind === "failed") log.warn({ error: event.error }, "events could not be published; retrying");
  else if (kind === "recovered") log.info({ failures: event.failures }, "events are published again");
}

function logEngine(log: Logger, event: EngineEvent): void {
  const { kind, market } = event;
  if (kind === "round_committed") return;
  if ("error" in event) log.warn({ kind, market, error: event.error }, "engine failed; retrying");
  else log.debug(event, `the engine of ${market}: ${kind.replaceAll("_", " ")}`);
}
