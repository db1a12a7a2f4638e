/**
 * The service, built by hand: the core, and on it whatever this process's roles ask for. Nothing listens before
 * everything behind it works; stopping goes the other way round.
 */
import { access, chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance, onRequestHookHandler } from "fastify";
import type { Logger } from "pino";
import { applyBootstrap } from "./bootstrap/bootstrap.ts";
import { type BootstrapFile, readBootstrapFile } from "./bootstrap/bootstrap-file.ts";
import { demoFile, ensureDemoFile } from "./bootstrap/demo-file.ts";
import type { MarketCode } from "./catalogue/market.ts";
import type { Config } from "./config/config.ts";
import { type Conversions, createConversions } from "./conversions/conversions.ts";
import { Settlement } from "./conversions/settlement.ts";
import { type Core, closeAll, openCore, StartRefusal } from "./core.ts";
import { createEngines, type EngineEvent, type Engines } from "./exchange/engines.ts";
import { createExchange, type Exchange } from "./exchange/exchange.ts";
import { balanceRoutes } from "./http/routes/balances.ts";
import { conversionRoutes } from "./http/routes/conversions.ts";
import { executionRoutes } from "./http/routes/executions.ts";
import { healthRoutes } from "./http/routes/health.ts";
import { marketDataRoutes } from "./http/routes/market-data.ts";
import { marketRoutes } from "./http/routes/markets.ts";
import { orderRoutes } from "./http/routes/orders.ts";
import { profileRoutes } from "./http/routes/profiles.ts";
import { sandboxRoutes } from "./http/routes/sandbox.ts";
import { transferRoutes } from "./http/routes/transfers.ts";
import { type Api, createApi } from "./http/server.ts";
import { readBalances } from "./ledger/balances.ts";
import { type AssetCode, USD } from "./money/asset.ts";
import { createOauth, type Oauth } from "./oauth/oauth.ts";
import { pendingMigrations } from "./postgres/migrations.ts";
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
  const oauth = createOauth({
    ...core,
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
  });
  await oauth.start();
  closing.unshift(() => oauth.stop());
  const api = await buildApi(config, core, parts, oauth, addresses);
  const { hook, open } = gate();
  api.addHook("onRequest", hook);
  oauth.authServer.addHook("onRequest", hook);
  addRoutes(api);
  if (config.roles.has("auth")) {
    const port = await listen(oauth.authServer, config.host, config.authPort, "PARBOOK_AUTH_PORT");
    closing.unshift(() => oauth.authServer.close());
    addresses.authUrl = config.authUrl ?? `http://${hostInUrl(config.host)}:${port}`;
  }
  const port = await listen(api, config.host, config.port, "PARBOOK_PORT");
  closing.unshift(() => api.close());
  addresses.baseUrl = config.baseUrl ?? `http://${hostInUrl(config.host)}:${port}`;
  open();
  // Whoever waits for an order to be filled is answered first, or closing would wait for them.
  closing.unshift(() => parts.exchange.stop());
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
    exchange: createExchange({ ...core, engines }),
  };
}

async function buildApi(config: Config, core: Core, domain: Domain, oauth: Oauth, addresses: Addresses): Promise<Api> {
  const api = await createApi({
    baseUrl: () => addresses.baseUrl,
    authUrl: () => addresses.authUrl,
    log: core.log,
    verify: (token) => oauth.verify(token),
    full: () => core.lane.full,
  });
  healthRoutes(api, {
    database: async () => (await core.database.rows("select 1")).length === 1,
    migrations: async () => (await pendingMigrations(core.database)).length === 0,
  });
  if (config.roles.has("api")) addResources(api, config, core, domain);
  return api;
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
  marketDataRoutes(api, exchange);
}

function logEngine(log: Logger, event: EngineEvent): void {
  const { kind, market } = event;
  if ("error" in event) log.warn({ kind, market, error: event.error }, "an engine has stumbled");
  else log.debug(event, `the engine of ${market}: ${kind.replaceAll("_", " ")}`);
}

/** The operator's file; in sandbox mode without one, the demo's. */
async function bootstrapFrom(config: Config, { ids }: Core): Promise<BootstrapFile | undefined> {
  if (config.bootstrap !== undefined) return readBootstrapFile(config.bootstrap);
  if (config.mode === "production") return refuseDemo(config.dataDir);
  await mkdir(config.dataDir, { recursive: true });
  return readBootstrapFile(await ensureDemoFile(config.dataDir, ids));
}

/** The demo's customers have clients whose secrets were printed, and money that nobody has paid in. */
async function refuseDemo(dataDir: string): Promise<undefined> {
  const path = demoFile(dataDir);
  const found = await access(path).then(
    () => true,
    () => false,
  );
  if (found) throw new StartRefusal(`${path} is a sandbox's demo: production starts on a data directory of its own`);
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

const hostInUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host);

export const readyFile = (dataDir: string): string => join(dataDir, "ready.json");

/** Writes `ready.json`, whole or not at all, for whoever waits for the service. */
async function announce(dataDir: string, { baseUrl, authUrl }: Addresses): Promise<{ withdraw: () => Promise<void> }> {
  await mkdir(dataDir, { recursive: true });
  const path = readyFile(dataDir);
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify({ base_url: baseUrl, auth_url: authUrl, pid: process.pid })}\n`);
  await chmod(draft, 0o644);
  await rename(draft, path);
  return { withdraw: () => rm(path, { force: true }) };
}
