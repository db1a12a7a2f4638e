/**
 * The service, built by hand: the core, and on it whatever this process's roles ask for. Nothing listens before
 * everything behind it works; stopping goes the other way round.
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
import { announce, makeDataDirectory, readyFile } from "./service/data-directory.ts";
import { ensureDemoFile } from "./service/demo-file.ts";
import { close, gate, listen, ownAddress, placeOf } from "./service/listening.ts";
import { bugTo, type Observers, observersOf, watchingLane, watchingServer } from "./service/observers.ts";
import { refuseDemo, refuseDemoClients } from "./service/refuse-demo.ts";
import { addResources, type Domain } from "./service/resources.ts";
import { serveMetrics } from "./service/serve-metrics.ts";
import { followTls, readTls, refusePlainHttp, type Tls } from "./service/tls.ts";
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
  /** What was applied at the start, when there was anything. */
  readonly bootstrap: BootstrapFile | undefined;
  /** Undefined where the operator has not asked for metrics. */
  readonly metricsUrl: string | undefined;
  readonly core: Core;
  /** Stops accepting, finishes what is queued, and closes everything. */
  stop(): Promise<void>;
}

/** On the way out: longer than the lane takes to answer a write, and both together well within the time that a stop has. */
const REQUESTS_LIMIT_MS = 11_000;
const TOKENS_LIMIT_MS = 3_000;

interface Addresses {
  baseUrl: string;
  authUrl: string;
}

export interface StartOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Routes of the caller's own beside ours: what a benchmark compares them with. */
  readonly addRoutes?: ((api: Api) => void) | undefined;
  /** Aborted when the service is to stop: a start that waits for its clock then ends. */
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

/** Everything that is started is on `closing`, in the order in which it is to be closed. */
async function start(
  { config, log, addRoutes, stopping }: StartOptions,
  closing: (() => Promise<void> | void)[],
): Promise<Service> {
  refusePlainHttp(config);
  const observers = observersOf(config);
  const { metrics, traces } = observers;
  const doors = await doorsOf(config, metrics);
  const core = await openCore(config, "serve", log, watchingLane(observers));
  closing.unshift(() => core.close());
  // One that was killed has left its own: whoever waits for this service must not take that for ours.
  await rm(readyFile(config.dataDir), { force: true });
  const settlement = new Settlement({
    ...core,
    delayMs: config.settlementDelayMs,
    onError: (error) => log.warn({ error }, "a settlement was put off"),
  });
  const engines = createEngines({
    ...core,
    aroundRound: traces?.aroundRound,
    log: (event) => {
      logEngine(log, event);
      metrics?.exchange.engineTold(event);
    },
  });
  const parts = createDomain(core, config, { settlement, engines, metrics });
  const { certificate, inUse } = certificateOf(doors.tls);
  const served = metrics && (await serveMetrics(metrics, { config, core, engines, certificate }));
  if (served !== undefined) closing.unshift(() => served.close());
  await untilClockIsRight(core, stopping);
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
  const keep = keepRefusals(core, closing);
  const onDenied = (refusal: AccessDenial): void => {
    keep(refusal);
    metrics?.access.refused(refusal);
  };
  const oauth = createOauth({
    ...core,
    ...doors,
    onDenied,
    watch: watchingServer("auth", observers),
    onTokenRequest: metrics?.access.tokenRequest,
    readiness: readinessOf(core),
    signingKeys: config.signingKeys,
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
  });
  await oauth.start();
  closing.unshift(() => oauth.stop());
  const api = await buildApi(config, core, parts, oauth, addresses, { ...doors, onDenied, observers });
  const servers = [api.server, oauth.authServer.server];
  for (const server of servers) containBugs(server, bugTo(log, metrics));
  for (const server of servers) boundConnections(server, connectionBounds(config, log, metrics));
  if (doors.tls !== undefined) closing.unshift(followTls(config, doors.tls, servers, log, { changed: inUse }));
  const { hook, open } = gate();
  api.addHook("onRequest", hook);
  oauth.authServer.addHook("onRequest", hook);
  addRoutes?.(api);
  if (config.roles.has("auth")) {
    const port = await listen(oauth.authServer, placeOf(config, "auth"));
    closing.unshift(() => close(oauth.authServer, TOKENS_LIMIT_MS));
    addresses.authUrl = config.authUrl ?? ownAddress(config, port);
  }
  const port = await listen(api, placeOf(config, "api"));
  closing.unshift(() => close(api, REQUESTS_LIMIT_MS));
  addresses.baseUrl = config.baseUrl ?? ownAddress(config, port);
  open();
  // Whoever waits for an order to be filled is answered first, or closing would wait for them.
  closing.unshift(() => parts.exchange.stop());
  if (config.mode === "sandbox" && config.roles.has("worker")) await makeMarkets(config, core, parts, closing, metrics);
  const ready = await announce(config.dataDir, addresses);
  closing.unshift(ready.withdraw);
  return { ...addresses, ...parts, bootstrap, core, metricsUrl: served?.url, stop: () => closeAll(closing) };
}

/** What a start does to the books is decided like everything else. The lane has logged by how much the clock is wrong. */
async function untilClockIsRight({ lane }: Core, stopping: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const fault = lane.report().clockFault;
    if (fault === undefined) return;
    if (stopping?.aborted) throw new StartupError(`${fault}: stopped before it was right`);
    await pause(200);
  }
}

/** It reads all accounts, so nobody waits for it. */
async function warnOfTimesAhead({ database, log }: Core): Promise<void> {
  try {
    for (const note of await findTimesAhead(database)) log.warn(note);
  } catch (error) {
    log.info({ error }, "whether there are times in the future was not looked for; parbook verify does");
  }
}

/** The certificate in use, which is renewed while we serve. */
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
      // Another node's worker finds what this one leaves.
      onCreated: (conversion) => (settles ? settlement.created(conversion) : undefined),
    }),
    exchange: createExchange({
      ...core,
      engines,
      onFeedGap: metrics?.exchange.feedGap,
      onFeedFault: (error) => core.log.warn({ error }, "the feed of market data has stumbled"),
    }),
  };
}

/** The trail of refusals is written once a minute, and to its end after the last request. */
function keepRefusals(
  { log, ...core }: Core,
  closing: (() => Promise<void> | void)[],
): (refusal: AccessDenial) => void {
  const refusals = new AccessLog({
    ...core,
    onFailure: (error) => log.warn({ error }, "the trail of refusals was not written"),
  });
  refusals.start();
  closing.unshift(() => refusals.stop());
  return (refusal) => refusals.note(refusal);
}

/** What both servers have at their door. A client's tokens and its other requests are counted in one place. */
interface Doors {
  readonly limiter: RateLimiter | undefined;
  readonly trustedProxies: readonly Network[];
  readonly tls: Tls | undefined;
}

async function doorsOf(config: Config, metrics: Metrics | undefined): Promise<Doors> {
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
      log.warn({ ...dropped }, "connections were dropped");
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
    ...doors
  }: Doors & { readonly onDenied: (refusal: AccessDenial) => void; readonly observers: Observers },
): Promise<Api> {
  const api = await createApi({
    ...doors,
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
    log: core.log,
    verify: (token, address) => oauth.verify(token, address),
    refusesWork: () => core.lane.unavailableReason,
    observe: watchingServer("api", observers),
    onProblem: observers.metrics?.requests.problem,
    onCutOff: observers.metrics?.requests.slowReaders,
  });
  healthRoutes(api, readinessOf(core));
  if (config.roles.has("api")) addResources(api, config, core, domain, observers.metrics?.exchange.feedTold);
  return api;
}

function readinessOf({ database, lane }: Core): ReadinessChecks {
  return {
    clock: async () => lane.report().clockFault ?? true,
    database: async () => (await database.rows("select 1")).length === 1,
    migrations: async () => (await pendingMigrations(database)).length === 0,
  };
}

/** One seed for all sandboxes: what was tried on one gives the same prices on another. */
const SEED = "parbook";

/** Starts the sandbox's market maker, or takes away what one has left behind when there was one. */
async function makeMarkets(
  config: Config,
  core: Core,
  domain: Domain,
  closing: (() => Promise<void> | void)[],
  metrics: Metrics | undefined,
): Promise<void> {
  const tell = (event: MakerEvent): void => {
    logMaker(core.log, event);
    metrics?.exchange.makerTold(event);
  };
  const maker = new Maker({ ...core, ...domain, seed: SEED, log: tell });
  if (!config.sandboxMaker) return maker.withdraw();
  closing.unshift(() => maker.stop());
  return maker.start();
}

function logMaker(log: Logger, event: MakerEvent): void {
  if (event.kind === "pass_failed") log.warn({ error: event.error }, "the market maker has stumbled");
  else log.info(event, "the market maker was refused");
}

function logEngine(log: Logger, event: EngineEvent): void {
  const { kind, market } = event;
  if (kind === "round_committed") return;
  if ("error" in event) log.warn({ kind, market, error: event.error }, "an engine has stumbled");
  else log.debug(event, `the engine of ${market}: ${kind.replaceAll("_", " ")}`);
}

/** The operator's file; in sandbox mode without one, the demo's. */
async function bootstrapFrom(config: Config, { ids, database }: Core): Promise<BootstrapFile | undefined> {
  const own = config.bootstrap === undefined ? undefined : await readBootstrapFile(config.bootstrap);
  if (config.mode === "production") {
    await refuseDemo(config.dataDir, own);
    await refuseDemoClients(database);
  }
  if (own !== undefined || config.mode === "production") return own;
  await makeDataDirectory(config.dataDir);
  return readBootstrapFile(await ensureDemoFile(config.dataDir, ids));
}
