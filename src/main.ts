/**
 * Starts the service: the core, then whatever the roles of this process require. It listens only after everything else
 * works, and stops in reverse order.
 */
import { rm } from "node:fs/promises";
import type { Server } from "node:net";
import type { Logger } from "pino";
import { sealConfigurationWrites } from "./ledger/configuration-writes.ts";
import { Maker, type MakerEvent } from "./market-maker/market-maker.ts";
import type { Domain } from "./service/api-routes.ts";
import { applyBootstrap } from "./service/bootstrap/bootstrap.ts";
import { type BootstrapFile, readBootstrapFile } from "./service/bootstrap/bootstrap-file.ts";
import { ensureDemoFile } from "./service/bootstrap/demo-file.ts";
import { keepMode, rejectDemoClients, rejectSandboxData } from "./service/bootstrap/reject-sandbox-data.ts";
import { type BuildOptions, type Built, build, sharedServerOptions } from "./service/build-service.ts";
import type { Config } from "./service/config/config.ts";
import { type Core, openCore } from "./service/core.ts";
import { makeDataDirectory, readyFile, writeReadyFile } from "./service/data-directory.ts";
import { examine } from "./service/doctor/examine-database.ts";
import { EXAMINATIONS_OF_MACHINE, EXAMINATIONS_OF_SERVICE } from "./service/doctor/examine-node.ts";
import { logFindings } from "./service/doctor/log-findings.ts";
import { checkPorts, close, gate, listen, listenAddressOf, ownAddress } from "./service/listening.ts";
import { laneObserver, observersOf } from "./service/observers.ts";
import { serveMetrics } from "./service/serve-metrics.ts";
import { type Component, startAll } from "./service/start-and-stop.ts";
import { StartupError } from "./service/startup-error.ts";
import { followTls, requireTls } from "./service/tls.ts";
import { systemClock } from "./std/clock.ts";
import { pause } from "./std/pause.ts";
import { startPoll } from "./std/poll.ts";
import { findTimesAhead } from "./verify/times-ahead.ts";

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

/** How long a stop waits for connections. Longer than the lane takes for a write; in sum well below the stop timeout. */
const CLOSE_LIMITS_MS = { api: 11_000, auth: 3_000 };

export interface StartOptions extends BuildOptions {
  /** Aborts a start that waits for its clock. */
  readonly stopping?: AbortSignal | undefined;
  /** For tests, which would wait as long. */
  readonly closeLimitsMs?: typeof CLOSE_LIMITS_MS | undefined;
}

export async function startService(options: StartOptions): Promise<Service> {
  const { config, log } = options;
  requireTls(config);
  await checkPorts(config);
  const observers = observersOf(config, log, options.requestLog);
  const shared = await sharedServerOptions(config, observers.metrics);
  const core = await openCore(config, "serve", log, laneObserver(observers));
  const service = await build(options, core, observers, shared).catch(async (error: unknown) => {
    await core.close().catch(() => undefined);
    throw error;
  });
  const stop = await startAll(componentsOf(options, service));
  return { ...service.domain, ...service.addresses, ...service.results, core, stop };
}

/** In starting order: nothing listens before everything behind it works. */
function componentsOf(options: StartOptions, service: Built): readonly Component[] {
  const { config, log, stopping } = options;
  const { core, domain, settlement, publisher, engines, denialLog, oauth, results, addresses } = service;
  const isWorker = config.roles.has("worker");
  return [
    { name: "core", start: () => () => core.close() },
    // A killed service leaves a stale one.
    step("ready file of an earlier start", () => rm(readyFile(config.dataDir), { force: true })),
    ...metricsComponents(options, service),
    step("clock", () => waitForClock(core, stopping)),
    step("what of this node is not fit for production", () => warnOfNode(config, log)),
    step("check for times in the future", () => void warnOfTimesAhead(core)),
    step("bootstrap", async () => {
      results.bootstrap = await bootstrapFrom(config, core);
      if (results.bootstrap !== undefined)
        await applyBootstrap({ ...core, ...domain, mode: config.mode }, results.bootstrap);
    }),
    ...(isWorker ? [component("settlement", settlement), component("events", publisher), sealing(core)] : []),
    // Before the servers, and after them when the service stops: what is posted names the API's address.
    ...(isWorker ? [component("webhooks", domain.deliveries)] : []),
    ...(config.roles.has("engine") ? [component("engines", engines)] : []),
    // Written once a minute and on stop, after the last request.
    component("denial log", denialLog),
    component("authorization", oauth),
    ...serverComponents(options, service),
    // First answer the requests that wait for a fill, or closing would wait for them.
    { name: "waits for fills", start: () => () => domain.exchange.stop() },
    ...(isWorker && config.mode === "sandbox" ? [makerComponent(options, service)] : []),
    { name: "ready file", start: () => writeReadyFile(config.dataDir, { ...addresses, coin: config.coin }) },
  ];
}

interface Part {
  start(): Promise<unknown> | unknown;
  stop(): Promise<unknown> | unknown;
}

const component = (name: string, part: Part): Component => ({
  name,
  start: async () => {
    await part.start();
    return () => part.stop();
  },
});

/** A step of the start, with nothing to stop. */
const step = (name: string, run: () => Promise<unknown> | unknown): Component => ({
  name,
  start: async () => {
    await run();
    return undefined;
  },
});

function metricsComponents(
  { config }: StartOptions,
  { core, engines, observers, certificate, results }: Built,
): Component[] {
  const { metrics } = observers;
  if (metrics === undefined) return [];
  return [
    {
      name: "metrics",
      start: async () => {
        const certificateNow = () => certificate.current?.cert;
        const served = await serveMetrics(metrics, { config, core, engines, certificate: certificateNow });
        results.metricsUrl = served.url;
        return () => served.close();
      },
    },
  ];
}

/** Requests are held until both servers listen. */
function serverComponents(options: StartOptions, { api, oauth, certificate, addresses }: Built): Component[] {
  const { config, log, closeLimitsMs = CLOSE_LIMITS_MS } = options;
  const { authServer } = oauth;
  const { hook, open } = gate();
  for (const server of [api, authServer]) server.addHook("onRequest", hook);
  const listenOn = async (server: typeof api | typeof authServer, name: "api" | "auth"): Promise<string> =>
    ownAddress(config, await listen(server, listenAddressOf(config, name)));
  const auth: Component = {
    name: "token server",
    start: async () => {
      const own = await listenOn(authServer, "auth");
      addresses.authUrl = config.authUrl ?? own;
      return () => close(authServer, closeLimitsMs.auth);
    },
  };
  return [
    ...certificateComponents(config, log, certificate, [api.server, authServer.server]),
    ...(config.roles.has("auth") ? [auth] : []),
    {
      name: "API",
      start: async () => {
        const own = await listenOn(api, "api");
        addresses.baseUrl = config.baseUrl ?? own;
        open();
        return () => close(api, closeLimitsMs.api);
      },
    },
  ];
}

function certificateComponents(
  config: Config,
  log: Logger,
  certificate: Built["certificate"],
  servers: readonly Server[],
): Component[] {
  const { current, use: changed } = certificate;
  if (current === undefined) return [];
  return [{ name: "certificate", start: () => followTls(config, current, servers, log, { changed }) }];
}

const SEALS_EVERY_MS = 1_000;

/** Adds records of configuration writes to the hash chain, from any process. If the lane cannot work, it says so itself. */
function sealing({ database, lane, log }: Core): Component {
  const seal = () => sealConfigurationWrites(database, lane);
  const onFailure = (error: unknown) => log.debug({ error }, "configuration writes could not be sealed; will retry");
  return {
    name: "seals of configuration writes",
    start: () => {
      const poll = startPoll(SEALS_EVERY_MS, seal, onFailure);
      return () => poll.stop();
    },
  };
}

/** The sandbox's market maker. If it is off, the orders of an earlier one are cancelled. */
function makerComponent({ config, log }: StartOptions, { core, domain, observers }: Built): Component {
  const onEvent = (event: MakerEvent): void => {
    logMaker(log, event);
    observers.metrics?.exchange.onMakerEvent(event);
  };
  const maker = new Maker({ ...core, ...domain, seed: SEED, log: onEvent });
  return config.sandboxMaker
    ? component("market maker", maker)
    : step("orders of an earlier market maker", () => maker.cancelAll());
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

/** The database was examined when it was opened. */
async function warnOfNode(config: Config, log: Logger): Promise<void> {
  if (config.mode === "sandbox") return;
  const about = { config, now: systemClock.now() };
  const { findings } = await examine([...EXAMINATIONS_OF_MACHINE, ...EXAMINATIONS_OF_SERVICE], about);
  logFindings(findings, config, log);
}

/** Reads all accounts, so it runs in the background. */
async function warnOfTimesAhead({ database, log }: Core): Promise<void> {
  try {
    for (const note of await findTimesAhead(database)) log.warn(note);
  } catch (error) {
    log.info({ error }, "check for times in the future failed; parbook verify repeats it");
  }
}

/** A fixed seed gives every sandbox the same prices. */
const SEED = "parbook";

function logMaker(log: Logger, event: MakerEvent): void {
  if (event.kind === "pass_failed") log.warn({ error: event.error }, "market maker pass failed; retrying");
  else log.info(event, "market maker was rejected");
}

/** The operator's bootstrap file; in a sandbox without one, the demo. */
async function bootstrapFrom(config: Config, { ids, database }: Core): Promise<BootstrapFile | undefined> {
  const own = config.bootstrap === undefined ? undefined : await readBootstrapFile(config.bootstrap);
  if (config.mode === "production") {
    await rejectSandboxData(config.dataDir, own);
    await rejectDemoClients(database);
  }
  await keepMode(database.commits, config.mode);
  if (own !== undefined || config.mode === "production") return own;
  await makeDataDirectory(config.dataDir);
  return readBootstrapFile(await ensureDemoFile(config.dataDir, ids));
}
