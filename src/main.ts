/**
 * The service, built by hand: the core, and on it whatever this process's roles ask for. Nothing listens before
 * everything behind it works; stopping goes the other way round.
 */
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance, onRequestHookHandler } from "fastify";
import type { Logger } from "pino";
import type { Refusal } from "./audit/refusal.ts";
import { Refusals } from "./audit/refusals.ts";
import { applyBootstrap } from "./bootstrap/bootstrap.ts";
import { type BootstrapFile, readBootstrapFile } from "./bootstrap/bootstrap-file.ts";
import { ensureDemoFile } from "./bootstrap/demo-file.ts";
import { refuseDemo, refuseDemoClients } from "./bootstrap/refuse-demo.ts";
import type { MarketCode } from "./catalogue/market.ts";
import type { Config } from "./config/config.ts";
import { type Conversions, createConversions } from "./conversions/conversions.ts";
import { Settlement } from "./conversions/settlement.ts";
import { type Core, closeAll, openCore, StartRefusal } from "./core.ts";
import { createEngines, type EngineEvent, type Engines } from "./exchange/engines.ts";
import { createExchange, type Exchange } from "./exchange/exchange.ts";
import { feedRoutes } from "./http/feeds/feeds.ts";
import { balanceRoutes } from "./http/routes/balances.ts";
import { conversionRoutes } from "./http/routes/conversions.ts";
import { executionRoutes } from "./http/routes/executions.ts";
import { feeRoutes } from "./http/routes/fees.ts";
import { healthRoutes } from "./http/routes/health.ts";
import { marketDataRoutes } from "./http/routes/market-data.ts";
import { marketRoutes } from "./http/routes/markets.ts";
import { orderRoutes } from "./http/routes/orders.ts";
import { profileRoutes } from "./http/routes/profiles.ts";
import { sandboxRoutes } from "./http/routes/sandbox.ts";
import { transferRoutes } from "./http/routes/transfers.ts";
import { type Api, createApi } from "./http/server.ts";
import { readBalances } from "./ledger/balances.ts";
import { isAmong } from "./limits/address.ts";
import { boundConnections, type ConnectionBounds } from "./limits/connections.ts";
import { RateLimiter } from "./limits/rate-limiter.ts";
import { Maker, type MakerEvent } from "./maker/maker.ts";
import { type AssetCode, USD } from "./money/asset.ts";
import { createOauth, type Oauth } from "./oauth/oauth.ts";
import { pendingMigrations } from "./postgres/migrations.ts";
import type { ReadinessChecks } from "./std/readiness.ts";
import { followTls, readTls, refusePlainHttp, type Tls } from "./tls.ts";
import { createTransfers, type Transfers } from "./transfers/transfers.ts";

export interface Service {
  readonly baseUrl: string;
  readonly authUrl: string;
  /** What was applied at the start, when there was anything. */
  readonly bootstrap: BootstrapFile | undefined;
  readonly core: Core;
  readonly transfers: Transfers;
  readonly conversions: Conversions;
  readonly exchange: Exchange;
  /** Stops accepting, finishes what is queued, and closes everything. */
  stop(): Promise<void>;
}

interface Addresses {
  baseUrl: string;
  authUrl: string;
}

/** Everything that is started is on `closing`, in the order in which it is to be closed. */
export async function startService(
  config: Config,
  log: Logger,
  /** Routes of the caller's own beside ours: what a benchmark compares them with. */
  addRoutes: (api: Api) => void = () => undefined,
): Promise<Service> {
  const closing: (() => Promise<void> | void)[] = [];
  try {
    return await start(config, log, closing, addRoutes);
  } catch (error) {
    await closeAll(closing).catch(() => undefined);
    throw error;
  }
}

async function start(
  config: Config,
  log: Logger,
  closing: (() => Promise<void> | void)[],
  addRoutes: (api: Api) => void,
): Promise<Service> {
  refusePlainHttp(config);
  const doors = await doorsOf(config);
  const core = await openCore(config, "serve", log);
  closing.unshift(() => core.close());
  // One that was killed has left its own: whoever waits for this service must not take that for ours.
  await rm(readyFile(config.dataDir), { force: true });
  const settlement = new Settlement({
    ...core,
    delayMs: config.settlementDelayMs,
    onError: (error) => log.warn({ error }, "a settlement was put off"),
  });
  const engines = createEngines({ ...core, log: (event) => logEngine(log, event) });
  const parts = createDomain(core, config, settlement, engines);
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
  const onRefused = keepRefusals(core, closing);
  const oauth = createOauth({
    ...core,
    ...doors,
    onRefused,
    readiness: readinessOf(core),
    signingKeys: config.signingKeys,
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
  });
  await oauth.start();
  closing.unshift(() => oauth.stop());
  const api = await buildApi(config, core, parts, oauth, addresses, { ...doors, onRefused });
  const servers = [api.server, oauth.authServer.server];
  for (const server of servers) boundConnections(server, connectionBounds(config, log));
  if (doors.tls !== undefined) closing.unshift(followTls(config, doors.tls, servers, log));
  const { hook, open } = gate();
  api.addHook("onRequest", hook);
  oauth.authServer.addHook("onRequest", hook);
  addRoutes(api);
  if (config.roles.has("auth")) {
    const port = await listen(oauth.authServer, config.host, config.authPort, "PARBOOK_AUTH_PORT");
    closing.unshift(() => oauth.authServer.close());
    addresses.authUrl = config.authUrl ?? ownAddress(config, port);
  }
  const port = await listen(api, config.host, config.port, "PARBOOK_PORT");
  closing.unshift(() => api.close());
  addresses.baseUrl = config.baseUrl ?? ownAddress(config, port);
  open();
  // Whoever waits for an order to be filled is answered first, or closing would wait for them.
  closing.unshift(() => parts.exchange.stop());
  if (config.mode === "sandbox" && config.roles.has("worker")) await makeMarkets(config, core, parts, closing);
  const ready = await announce(config.dataDir, addresses);
  closing.unshift(ready.withdraw);
  return { ...addresses, ...parts, bootstrap, core, stop: () => closeAll(closing) };
}

/**
 * Holds requests until both servers listen. Tokens are issued and verified for both addresses, and one that was issued
 * before the other is known would be good for nothing.
 */
function gate(): { hook: onRequestHookHandler; open: () => void } {
  let isOpen = false;
  const waiting: (() => void)[] = [];
  return {
    hook: (_request, _reply, done) => {
      if (isOpen) done();
      else waiting.push(done);
    },
    open: () => {
      isOpen = true;
      for (const go of waiting.splice(0)) go();
    },
  };
}

interface Domain {
  readonly transfers: Transfers;
  readonly conversions: Conversions;
  readonly exchange: Exchange;
}

function createDomain(core: Core, config: Config, settlement: Settlement, engines: Engines): Domain {
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
      onFeedFault: (error) => core.log.warn({ error }, "the feed of market data has stumbled"),
    }),
  };
}

/** The trail of refusals is written once a minute, and to its end after the last request. */
function keepRefusals({ log, ...core }: Core, closing: (() => Promise<void> | void)[]): (refusal: Refusal) => void {
  const refusals = new Refusals({
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
  readonly trustedProxies: readonly string[];
  readonly tls: Tls | undefined;
}

async function doorsOf(config: Config): Promise<Doors> {
  const { rateLimits, trustedProxies } = config;
  const limiter = rateLimits === "off" ? undefined : new RateLimiter(rateLimits);
  return { limiter, trustedProxies, tls: await readTls(config) };
}

function connectionBounds({ maxConnections, trustedProxies }: Config, log: Logger): ConnectionBounds {
  return {
    most: maxConnections,
    isProxy: isAmong(trustedProxies),
    onDropped: (dropped) => log.warn({ ...dropped }, "connections were dropped"),
  };
}

async function buildApi(
  config: Config,
  core: Core,
  domain: Domain,
  oauth: Oauth,
  addresses: Addresses,
  doors: Doors & { readonly onRefused: (refusal: Refusal) => void },
): Promise<Api> {
  const api = await createApi({
    ...doors,
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
    log: core.log,
    verify: (token, address) => oauth.verify(token, address),
    refusesWork: () => core.lane.refusesWork,
  });
  healthRoutes(api, readinessOf(core));
  if (config.roles.has("api")) addResources(api, config, core, domain);
  return api;
}

function readinessOf({ database }: Core): ReadinessChecks {
  return {
    database: async () => (await database.rows("select 1")).length === 1,
    migrations: async () => (await pendingMigrations(database)).length === 0,
  };
}

function addResources(api: Api, config: Config, core: Core, { transfers, conversions, exchange }: Domain): void {
  const { database, profiles, catalogue } = core;
  profileRoutes(api, profiles, transfers);
  balanceRoutes(api, {
    profiles,
    catalogue,
    readBalances: (profileId, assets, at) => readBalances(database, profileId, assets, at),
  });
  transferRoutes(api, transfers, profiles);
  conversionRoutes(api, conversions, profiles);
  if (config.mode === "sandbox") {
    const lastPrice = (asset: AssetCode) => exchange.lastPrice(`${asset}${USD}` as MarketCode);
    sandboxRoutes(api, { profiles, transfers, catalogue, lastPrice });
  }
  orderRoutes(api, exchange, profiles);
  executionRoutes(api, exchange, profiles);
  marketRoutes(api, exchange);
  feeRoutes(api, exchange);
  marketDataRoutes(api, exchange);
  // The other half is for those who ask and go.
  feedRoutes(api, exchange, { mostReaders: Math.ceil(config.maxConnections / 2) });
}

/** One seed for all sandboxes: what was tried on one gives the same prices on another. */
const SEED = "parbook";

/** Starts the sandbox's market maker, or takes away what one has left behind when there was one. */
async function makeMarkets(
  config: Config,
  core: Core,
  domain: Domain,
  closing: (() => Promise<void> | void)[],
): Promise<void> {
  const maker = new Maker({ ...core, ...domain, seed: SEED, log: (event) => logMaker(core.log, event) });
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
  if ("error" in event) log.warn({ kind, market, error: event.error }, "an engine has stumbled");
  else log.debug(event, `the engine of ${market}: ${kind.replaceAll("_", " ")}`);
}

/** The data directory when it is ours to make: what is in it is secrets, or leads to money. */
const OWNER_ALONE = 0o700;

/** The operator's file; in sandbox mode without one, the demo's. */
async function bootstrapFrom(config: Config, { ids, database }: Core): Promise<BootstrapFile | undefined> {
  const own = config.bootstrap === undefined ? undefined : await readBootstrapFile(config.bootstrap);
  if (config.mode === "production") {
    await refuseDemo(config.dataDir, own);
    await refuseDemoClients(database);
  }
  if (own !== undefined || config.mode === "production") return own;
  await mkdir(config.dataDir, { recursive: true, mode: OWNER_ALONE });
  return readBootstrapFile(await ensureDemoFile(config.dataDir, ids));
}

/** Listens, and answers the port. The usual mishaps are told in a line. */
async function listen(server: FastifyInstance | Api, host: string, port: number, setting: string): Promise<number> {
  try {
    await server.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      throw new StartRefusal(`port ${port} on ${host} is in use: stop what uses it, or set ${setting} to another one`);
    }
    if (code === "EACCES")
      throw new StartRefusal(`port ${port} on ${host} may not be used: set ${setting} to another one`);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      throw new StartRefusal(`PARBOOK_HOST ${host} is not an address of this machine`);
    }
    throw error;
  }
  const address = server.server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

function ownAddress({ host, tlsCert }: Config, port: number): string {
  return `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export const readyFile = (dataDir: string): string => join(dataDir, "ready.json");

/** Writes `ready.json`, whole or not at all, for whoever waits for the service. */
async function announce(dataDir: string, { baseUrl, authUrl }: Addresses): Promise<{ withdraw: () => Promise<void> }> {
  await mkdir(dataDir, { recursive: true, mode: OWNER_ALONE });
  const path = readyFile(dataDir);
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify({ base_url: baseUrl, auth_url: authUrl, pid: process.pid })}\n`);
  await chmod(draft, 0o644);
  await rename(draft, path);
  return { withdraw: () => rm(path, { force: true }) };
}
