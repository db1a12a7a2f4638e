/**
 * Starts the service: the core, then whatever the roles of this process require. It listens only after everything else
 * works, and stops in reverse order.
 */
import { rm } from "node:fs/promises";
import type { Logger } from "pino";
import type { Config } from "./config/config.ts";
import { createConversions } from "./conversions/conversions.ts";
import { Settlement } from "./conversions/settlement.ts";
import { createEngines, type EngineEvent, type Engines } from "./exchange/engine/engines.ts";
import { createExchange } from "./exchange/exchange.ts";
import { healthRoutes } from "./http/routes/health.ts";
import { type Api, createApi } from "./http/server.ts";
import { Maker, type MakerEvent } from "./market-maker/maker.ts";
import type { AccessDenial } from "./oauth/access-log/access-denial.ts";
import { AccessLog } from "./oauth/access-log/access-log.ts";
import { createOauth, type Oauth } from "./oauth/oauth.ts";
import { pendingMigrations } from "./postgres/migrations.ts";
import { applyBootstrap } from "./service/bootstrap.ts";
import { type BootstrapFile, readBootstrapFile } from "./service/bootstrap-file.ts";
import { type Core, closeAll, openCore, StartupError } from "./service/core.ts";
import { makeDataDirectory, readyFile, writeReadyFile } from "./service/data-directory.ts";
import { ensureDemoFile } from "./service/demo-file.ts";
import { close, gate, listen, listenAddressOf, ownAddress } from "./service/listening.ts";
import { laneObserver, type Observers, observersOf, reportBug, serverObserver } from "./service/observers.ts";
import { rejectDemo, rejectDemoClients } from "./service/refuse-demo.ts";
import { addResources, type Domain } from "./service/resources.ts";
import { serveMetrics } from "./service/serve-metrics.ts";
import { followTls, readTls, requireTls, type Tls } from "./service/tls.ts";
import { isWithin, type Network } from "./std/network.ts";
import { pause } from "./std/pause.ts";
import type { Metrics } from "./telemetry/metrics/metrics.ts";
import { createTransfers } from "./transfers/transfers.ts";
import { findTimesAhead } from "./verify/times-ahead.ts";
import { boundConnections, type ConnectionBounds } from "./web/connections/connections.ts";
import { containBugs } from "./web/connections/contained.ts";
import { sharedBy } from "./web/connections/transport.ts";
import { RateLimiter } from "./web/limits/rate-limiter.ts";
import type { ReadinessChecks } from "./web/readiness.ts";

export interface Service extends Domain {
  readonly baseUrl: string;
  readonly authUrl: string;
  /** The bootstrap file applied at the start, if any. */
  readonly bootstrap: BootstrapFile | undefined;
  /** Undefined if metrics are off. */
  readonly metricsUrl: string | undefined;
  readonly core: Core;
  /** Stops accepting, finishes pending work, and closes everything. */
  stop(): Promise<void>;
}

/** Longer than the lane takes for a write, and in sum well below the stop timeout. */
const API_CLOSE_LIMIT_MS = 11_000;
const AUTH_CLOSE_LIMIT_MS = 3_000;

interface Addresses {
  baseUrl: string;
  authUrl: string;
}

export interface StartOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Extra routes, for benchmarks. */
  readonly addRoutes?: ((api: Api) => void) | undefined;
  /** Aborts a start that waits for its clock. */
  readonly stopping?: AbortSignal | undefined;
}

export async function startService(options: StartOptions): Promise<Service> {
  const closing: (() => Promise<void> | void)[] = [];
  try {
    return await start(options, closing);
  } catch (error) {
    await closeAll(closing).catch(() => undefined);
    throw error;
  }
}

/** @param closing Receives a function for everything started, in closing order. */
async function start(
  { config, log, addRoutes, stopping }: StartOptions,
  closing: (() => Promise<void> | void)[],
): Promise<Service> {
  requireTls(config);
  const observers = observersOf(config);
  const { metrics, traces } = observers;
  const shared = await sharedServerOptions(config, metrics);
  const core = await openCore(config, "serve", log, laneObserver(observers));
  closing.unshift(() => core.close());
  // A killed service leaves a stale file.
  await rm(readyFile(config.dataDir), { force: true });
  const settlement = new Settlement({
    ...core,
    delayMs: config.settlementDelayMs,
    onError: (error) => log.warn({ error }, "settlement failed; will be retried"),
  });
  const engines = createEngines({
    ...core,
    aroundRound: traces?.aroundRound,
    log: (event) => {
      logEngine(log, event);
      metrics?.exchange.onEngineEvent(event);
    },
  });
  const parts = createDomain(core, config, { settlement, engines, metrics });
  const { certificate, inUse } = certificateOf(shared.tls);
  const served = metrics && (await serveMetrics(metrics, { config, core, engines, certificate }));
  if (served !== undefined) closing.unshift(() => served.close());
  await waitForClock(core, stopping);
  void warnOfTimesAhead(core);
  const bootstrap = await bootstrapFrom(config, core);
  if (bootstrap !== undefined) await applyBootstrap({ ...core, ...parts }, bootstrap);
  if (config.roles.has("worker")) {
    settlement.start();
    closing.unshift(() => settlement.stop());
  }
  if (config.roles.has("engine")) {
    engines.start();
    closing.unshift(() => engines.stop());
  }
  const addresses: Addresses = { baseUrl: config.baseUrl ?? "", authUrl: config.authUrl ?? "" };
  const recordDenial = startAccessLog(core, closing);
  const onDenied = (denial: AccessDenial): void => {
    recordDenial(denial);
    metrics?.access.denied(denial);
  };
  const oauth = createOauth({
    ...core,
    ...shared,
    onDenied,
    watch: serverObserver("auth", observers),
    onTokenRequest: metrics?.access.tokenRequest,
    readiness: readinessOf(core),
    signingKeys: config.signingKeys,
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
  });
  await oauth.start();
  closing.unshift(() => oauth.stop());
  const api = await buildApi(config, core, parts, oauth, addresses, { ...shared, onDenied, observers });
  const servers = [api.server, oauth.authServer.server];
  for (const server of servers) containBugs(server, reportBug(log, metrics));
  for (const server of servers) boundConnections(server, connectionBounds(config, log, metrics));
  if (shared.tls !== undefined) closing.unshift(followTls(config, shared.tls, servers, log, { changed: inUse }));
  const { hook, open } = gate();
  api.addHook("onRequest", hook);
  oauth.authServer.addHook("onRequest", hook);
  addRoutes?.(api);
  if (config.roles.has("auth")) {
    const port = await listen(oauth.authServer, listenAddressOf(config, "auth"));
    closing.unshift(() => close(oauth.authServer, AUTH_CLOSE_LIMIT_MS));
    addresses.authUrl = config.authUrl ?? ownAddress(config, port);
  }
  const port = await listen(api, listenAddressOf(config, "api"));
  closing.unshift(() => close(api, API_CLOSE_LIMIT_MS));
  addresses.baseUrl = config.baseUrl ?? ownAddress(config, port);
  open();
  // First answer the requests that wait for a fill, or closing would wait for them.
  closing.unshift(() => parts.exchange.stop());
  if (config.mode === "sandbox" && config.roles.has("worker")) await startMaker(config, core, parts, closing, metrics);
  const ready = await writeReadyFile(config.dataDir, addresses);
  closing.unshift(ready.withdraw);
  return { ...addresses, ...parts, bootstrap, core, metricsUrl: served?.url, stop: () => closeAll(closing) };
}

/** Bootstrap writes need a correct clock. The lane has logged the error. */
async function waitForClock({ lane }: Core, stopping: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const fault = lane.report().clockFault;
    if (fault === undefined) return;
    if (stopping?.aborted) throw new StartupError(`${fault}: stopped before it was corrected`);
    await pause(200);
  }
}

/** Reads all accounts, so it runs in the background. */
async function warnOfTimesAhead({ database, log }: Core): Promise<void> {
  try {
    for (const note of await findTimesAhead(database)) log.warn(note);
  } catch (error) {
    log.info({ error }, "check for times in the future failed; parbook verify repeats it");
  }
}

/** The current certificate, for the metrics. */
function certificateOf(tls: Tls | undefined): { certificate: () => string | undefined; inUse: (tls: Tls) => void } {
  let current = tls;
  return {
    certificate: () => current?.cert,
    inUse: (next) => {
      current = next;
    },
  };
}

interface DomainParts {
  readonly settlement: Settlement;
  readonly engines: Engines;
  readonly metrics: Metrics | undefined;
}

function createDomain(core: Core, config: Config, { settlement, engines, metrics }: DomainParts): Domain {
  const settles = config.roles.has("worker");
  return {
    transfers: createTransfers(core),
    conversions: createConversions({
      ...core,
      // Without the role, another node's worker settles it.
      onCreated: (conversion) => (settles ? settlement.created(conversion) : undefined),
    }),
    exchange: createExchange({
      ...core,
      engines,
      onFeedGap: metrics?.exchange.onFeedGap,
      onFeedFault: (error) => core.log.warn({ error }, "market data feed failed; retrying"),
    }),
  };
}

/** The access log is written once a minute and on stop, after the last request. */
function startAccessLog(
  { log, ...core }: Core,
  closing: (() => Promise<void> | void)[],
): (denial: AccessDenial) => void {
  const accessLog = new AccessLog({
    ...core,
    onFailure: (error) => log.warn({ error }, "access log could not be written"),
  });
  accessLog.start();
  closing.unshift(() => accessLog.stop());
  return (denial) => accessLog.note(denial);
}

/** Options of both servers. They share the rate limiter, so that a client's token requests count too. */
interface SharedServerOptions {
  readonly limiter: RateLimiter | undefined;
  readonly trustedProxies: readonly Network[];
  readonly tls: Tls | undefined;
}

async function sharedServerOptions(config: Config, metrics: Metrics | undefined): Promise<SharedServerOptions> {
  const { rateLimits, trustedProxies } = config;
  const isShared = sharedBy(trustedProxies);
  const limiter =
    rateLimits === "off"
      ? undefined
      : new RateLimiter(rateLimits, { isShared, ...(metrics && { onLimited: metrics.requests.limited }) });
  return { limiter, trustedProxies, tls: await readTls(config) };
}

function connectionBounds(
  { maxConnections, trustedProxies }: Config,
  log: Logger,
  metrics: Metrics | undefined,
): ConnectionBounds {
  return {
    most: maxConnections,
    isProxy: (address) => isWithin(trustedProxies, address),
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
  }: SharedServerOptions & { readonly onDenied: (denial: AccessDenial) => void; readonly observers: Observers },
): Promise<Api> {
  const api = await createApi({
    ...shared,
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
    log: core.log,
    verify: (token, address) => oauth.verify(token, address),
    refusesWork: () => core.lane.unavailableReason,
    observe: serverObserver("api", observers),
    onProblem: observers.metrics?.requests.problem,
    onCutOff: observers.metrics?.requests.slowReaders,
  });
  healthRoutes(api, readinessOf(core));
  if (config.roles.has("api")) addResources(api, config, core, domain, observers.metrics?.exchange.onFeedEvent);
  return api;
}

function readinessOf({ database, lane }: Core): ReadinessChecks {
  return {
    clock: async () => lane.report().clockFault ?? true,
    database: async () => (await database.rows("select 1")).length === 1,
    migrations: async () => (await pendingMigrations(database)).length === 0,
  };
}

/** A fixed seed gives every sandbox the same prices. */
const SEED = "parbook";

/** Starts the sandbox's market maker or, if it is off, cancels the orders of an earlier one. */
async function startMaker(
  config: Config,
  core: Core,
  domain: Domain,
  closing: (() => Promise<void> | void)[],
  metrics: Metrics | undefined,
): Promise<void> {
  const onEvent = (event: MakerEvent): void => {
    logMaker(core.log, event);
    metrics?.exchange.onMakerEvent(event);
  };
  const maker = new Maker({ ...core, ...domain, seed: SEED, log: onEvent });
  if (!config.sandboxMaker) return maker.withdraw();
  closing.unshift(() => maker.stop());
  return maker.start();
}

function logMaker(log: Logger, event: MakerEvent): void {
  if (event.kind === "pass_failed") log.warn({ error: event.error }, "market maker pass failed; retrying");
  else log.info(event, "market maker was rejected");
}

function logEngine(log: Logger, event: EngineEvent): void {
  const { kind, market } = event;
  if (kind === "round_committed") return;
  if ("error" in event) log.warn({ kind, market, error: event.error }, "engine failed; retrying");
  else log.debug(event, `the engine of ${market}: ${kind.replaceAll("_", " ")}`);
}

/** The operator's bootstrap file; in a sandbox without one, the demo. */
async function bootstrapFrom(config: Config, { ids, database }: Core): Promise<BootstrapFile | undefined> {
  const own = config.bootstrap === undefined ? undefined : await readBootstrapFile(config.bootstrap);
  if (config.mode === "production") {
    await rejectDemo(config.dataDir, own);
    await rejectDemoClients(database);
  }
  if (own !== undefined || config.mode === "production") return own;
  await makeDataDirectory(config.dataDir);
  return readBootstrapFile(await ensureDemoFile(config.dataDir, ids));
}
