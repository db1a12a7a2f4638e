/** The service as it runs in earnest, on a database of the test's own, with everything that a test of the wire needs. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import { type Logger, pino } from "pino";
import type { Api } from "../../src/api/api.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { sealConfigurationWrites } from "../../src/ledger/configuration-writes.ts";
import { type Service, type StartOptions, startService } from "../../src/main.ts";
import { amountOf } from "../../src/money/amount.ts";
import type { Config } from "../../src/service/config/config.ts";
import { IdSource } from "../../src/std/id.ts";
import { type TestDatabase, testDatabase } from "./database.ts";
import { freePort } from "./free-port.ts";
import { TESTER } from "./movements.ts";
import { unwrap } from "./results.ts";

export interface TestCustomer {
  readonly id: CustomerId;
  readonly clientId: string;
  readonly secret: string;
  readonly defaultProfile: ProfileId;
  /** With all scopes. */
  readonly token: string;
}

export interface TestService {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly db: TestDatabase;
  readonly service: Service;
  /** A new customer with a client that holds all scopes. */
  customer(name?: string): Promise<TestCustomer>;
  /** A token of the customer with some scopes only, separated by blanks. */
  token(customer: Pick<TestCustomer, "clientId" | "secret">, scopes?: string): Promise<string>;
  /** A new profile, with money in it: { USD: "100" }. */
  profile(customer: Pick<TestCustomer, "id">, balances?: Readonly<Record<string, string>>): Promise<ProfileId>;
  /** A request with a body in JSON; `as` is a token. */
  call(
    method: string,
    path: string,
    options?: { as?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
  /** Stops the service and leaves its database, for another one to be started on. */
  stop(): Promise<void>;
  /** Another node on the same database, with the same public addresses, listening on ports of its own. */
  another(settings?: Partial<Config>, log?: Logger, stopping?: AbortSignal): Promise<Listening>;
  close(): Promise<void>;
}

/** Where a node listens, whatever its public addresses are. */
export interface Listening {
  readonly baseUrl: string;
  readonly authUrl: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what the service sent, not yet validated
  readonly body: any;
}

const ids = new IdSource();

/**
 * `through` puts something between the service and its database; `addRoutes` is given the API before it listens; `write` is
 * given what is logged.
 */
export async function startTestService(
  settings: Partial<Config> = {},
  through: (database: ClientConfig) => Promise<ClientConfig> = async (database) => database,
  addRoutes: (api: Api) => void = () => undefined,
  closeLimitsMs: StartOptions["closeLimitsMs"] = undefined,
  write?: (line: string) => void,
): Promise<TestService> {
  const db = await testDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "parbook-service-"));
  const bootstrap = join(dataDir, "empty.json");
  await writeFile(bootstrap, '{"customers":[]}');
  const config: Config = {
    mode: "sandbox",
    host: "127.0.0.1",
    port: 0,
    authPort: 0,
    baseUrl: undefined,
    authUrl: undefined,
    metricsHost: "127.0.0.1",
    metricsPort: undefined,
    dataDir,
    walArchive: undefined,
    databaseUrl: urlOf({ ...db, connection: await through(db.connection) }),
    migrateUrl: urlOf(db, "owner"),
    bootstrap,
    catalogue: undefined,
    coin: undefined,
    dialect: undefined,
    roles: new Set(["api", "auth", "engine", "worker"]),
    settlementDelayMs: 0,
    eventsKeptMs: 400 * 86_400_000,
    clockToleranceMs: 2_000,
    rateLimits: "off",
    trustedProxies: [],
    webhookPolicy: {
      allowLoopback: true,
      allowCleartext: true,
      allowedPorts: "any",
      allowedNetworks: [],
      refusedNetworks: [],
    },
    maxConnections: 10_000,
    cacheBytes: 64 * 2 ** 20,
    sandboxMaker: false,
    tlsCert: undefined,
    tlsKey: undefined,
    withoutTls: new Set(),
    accepted: new Set(),
    signingKeys: { encryptionKeys: [], replacedAfterMs: 90 * 86_400_000 },
    logLevel: "silent",
    ...settings,
  };
  const clean = async (): Promise<void> => {
    await db.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  const usual = pino({ level: process.env.TEST_LOG_LEVEL ?? "silent" });
  const log = write === undefined ? usual : pino({ level: "info" }, { write });
  const service = await startService({ config, log, addRoutes, closeLimitsMs }).catch(async (error: unknown) => {
    await clean();
    throw error;
  });
  const { baseUrl, authUrl, core } = service;
  // Or a batch of the worker's would come between what a test does, up to a second later.
  const seal = () => sealConfigurationWrites(core.database, core.lane).catch(() => undefined);
  await seal();
  const others: Service[] = [];
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= service.stop();
    return stopped;
  };

  const token: TestService["token"] = async ({ clientId, secret }, scope) => {
    const form = new URLSearchParams({ grant_type: "client_credentials", client_id: clientId, client_secret: secret });
    if (scope !== undefined) form.set("scope", scope);
    const answer = await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: form });
    const body = (await answer.json()) as { access_token?: string };
    if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
    return body.access_token;
  };

  const profile: TestService["profile"] = async ({ id }, balances = {}) => {
    const made = await core.profiles.create({ customerId: id, nickname: ids.next(), description: undefined }, TESTER);
    if (made.kind !== "done") throw new Error(`no profile: ${JSON.stringify(made)}`);
    for (const [asset, amount] of Object.entries(balances)) {
      const outcome = await service.transfers.recordExternal(
        {
          customerId: id,
          profileId: made.value.id,
          asset,
          amount: amountOf(amount),
          direction: "CREDIT",
          type: "WIRE_DEPOSIT",
          details: {},
        },
        TESTER,
      );
      if (outcome.kind !== "done") throw new Error(`no deposit: ${JSON.stringify(outcome)}`);
    }
    return made.value.id;
  };

  return {
    baseUrl,
    authUrl,
    db,
    service,
    token,
    profile,
    customer: async (called = "Test") => {
      const id = ids.next() as CustomerId;
      // Names differ.
      const name = `${called} ${id}`;
      await core.customers.ensure(id, name, TESTER);
      const shown = unwrap(await core.clients.create({ customerId: id, scopes: ["*"] }, TESTER));
      const defaultProfile = (await core.profiles.getDefault(id)).id;
      await seal();
      return { id, ...shown, defaultProfile, token: await token(shown) };
    },
    call: async (method, path, { as, body, headers = {} } = {}) => {
      const answer = await fetch(`${baseUrl}${path}`, {
        method,
        headers: {
          ...(as === undefined ? {} : { authorization: `Bearer ${as}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, body: text === "" ? undefined : JSON.parse(text) };
    },
    another: async (differing = {}, log = pino({ level: "silent" }), stopping) => {
      const [port, authPort] = [await freePort(), await freePort()];
      const own = { port, authPort, baseUrl, authUrl, dataDir: await mkdtemp(join(dataDir, "node-")) };
      others.push(await startService({ config: { ...config, ...own, ...differing }, log, stopping }));
      return { baseUrl: `http://127.0.0.1:${port}`, authUrl: `http://127.0.0.1:${authPort}` };
    },
    stop,
    close: async () => {
      for (const other of others) await other.stop();
      await stop();
      await clean();
    },
  };
}

/** A connection as an address: the settings speak in those. */
export function urlOf(
  { connection, ownerConnection }: Pick<TestDatabase, "connection" | "ownerConnection">,
  as: "service" | "owner" = "service",
): string {
  const { host, port, user, password, database } = as === "service" ? connection : ownerConnection;
  const url = new URL("postgres://localhost");
  url.pathname = `/${database}`;
  url.username = encodeURIComponent(user ?? "");
  if (typeof password === "string") url.password = encodeURIComponent(password);
  if (host?.startsWith("/")) url.searchParams.set("host", host);
  else url.hostname = host ?? "localhost";
  if (port !== undefined) url.port = String(port);
  return url.href;
}
