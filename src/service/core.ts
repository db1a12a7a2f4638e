/**
 * What the service and every command need: the migrated database, and on it the ledger's lane and the domain. Parts are
 * closed in reverse order of opening.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "pino";
import { type Catalogue, loadCatalogue } from "../catalogue/catalogue.ts";
import { createdLines, type Filled, fillCatalogue, rejectOwnCatalogue } from "../catalogue/fill-catalogue.ts";
import { Clients } from "../customers/clients/clients.ts";
import { type Customers, createCustomers } from "../customers/customers.ts";
import { createProfiles, type Profiles } from "../customers/profiles/profiles.ts";
import { Webhooks } from "../customers/webhooks/webhooks.ts";
import { EVENT_TYPES } from "../events/event-types.ts";
import { RecentBatches } from "../events/publishing/recent-batches.ts";
import { RecentTransfers } from "../events/recent-transfers.ts";
import { DatabaseComparedClock } from "../ledger/compared-clock.ts";
import { Lane } from "../ledger/writer/lane.ts";
import { readDatabaseTime } from "../ledger/writer/lane-connection.ts";
import type { LaneEvent, LaneOptions } from "../ledger/writer/lane-options.ts";
import { Database, type Queryable, serverError } from "../postgres/database.ts";
import { findMissingPrivileges } from "../postgres/durability.ts";
import { releaseLeasesOf } from "../postgres/leases.ts";
import { lastMigration, type MigrateOptions, migrate, pendingMigrations, SchemaError } from "../postgres/migrations.ts";
import { systemClock } from "../std/clock.ts";
import { IdSource } from "../std/id.ts";
import { WakeSignal } from "../std/wake-signal.ts";
import { judgeUrl } from "../web/outgoing-requests/outgoing-policy.ts";
import { rejectOtherMode } from "./bootstrap/reject-sandbox-data.ts";
import { readCatalogue } from "./catalogue-file.ts";
import type { Config } from "./config/config.ts";
import {
  EXAMINATIONS_OF_LEDGER,
  EXAMINATIONS_OF_SERVER,
  examine,
  REQUIRED_EXAMINATIONS,
} from "./doctor/examine-database.ts";
import { accept, lineOf } from "./doctor/finding.ts";
import { logFindings } from "./doctor/log-findings.ts";
import { readServerSettings } from "./doctor/server-settings.ts";
import { createLaneLog } from "./lane-log.ts";
import { type ProvidedDatabase, provideDatabase, rejectEmpty } from "./provide-database.ts";
import { StartupError } from "./startup-error.ts";

export interface Foundation {
  readonly database: Database;
  readonly catalogue: Catalogue;
  /** The source of every stored time. */
  readonly clock: DatabaseComparedClock;
  readonly ids: IdSource;
  readonly webhooks: Webhooks;
  readonly log: Logger;
  /** Unique name of this process among those that share the database. */
  readonly holder: string;
  /**
   * For an exit after a bug: closes all database connections synchronously, then releases all leases on a new one.
   */
  abandon(): Promise<void>;
  close(): Promise<void>;
}

export interface Core extends Foundation {
  readonly lane: Lane;
  /** Notified of every durable batch of this process's lane. */
  readonly committed: WakeSignal;
  readonly recentBatches: RecentBatches;
  readonly recentTransfers: RecentTransfers;
  readonly customers: Customers;
  readonly clients: Clients;
  readonly profiles: Profiles;
}

/**
 * Connects to the database, migrates it if this process connects as its owner, and checks that it is safe to use. Only a
 * service fills the catalogue: what a command would add without PARBOOK_CATALOGUE would be there for good.
 *
 * @throws StartupError | SchemaError | NoDatabase when it is not.
 */
export async function openFoundation(config: Config, purpose: "serve" | "command", log: Logger): Promise<Foundation> {
  const provided = await provideDatabase(config, purpose, (line) => log.info(line));
  const closing: (() => Promise<void> | void)[] = [() => provided.close()];
  try {
    await migrateOwn(provided, config, purpose, log);
    const database = new Database({
      connection: provided.service,
      maxConnections: 20,
      // A command that needs one says so itself.
      onIdleError: (error) => purpose === "serve" && log.warn({ error }, "idle database connection lost"),
    });
    closing.unshift(() => database.close());
    if (provided.kind === "external") await database.checkSessionsAreNotShared();
    await check(database, config, purpose, log);
    const clock = new DatabaseComparedClock(systemClock, { toleranceMs: config.clockToleranceMs });
    await clock.measure(() => readDatabaseTime(database));
    const catalogue = await loadCatalogue(database);
    closing.unshift(() => catalogue.close());
    const holder = provided.exclusive ? "embedded" : `${hostname()}/${process.pid}/${randomBytes(6).toString("hex")}`;
    const ids = new IdSource(clock);
    return {
      database,
      catalogue,
      clock,
      ids,
      webhooks: createWebhooks({ database, clock, ids }, config),
      log,
      holder,
      abandon: () => {
        database.cutOff();
        return releaseLeases(provided, holder);
      },
      close: () => closeAll(closing),
    };
  } catch (error) {
    await closeAll(closing);
    throw error;
  }
}

function createWebhooks(parts: Pick<Foundation, "database" | "clock" | "ids">, config: Config): Webhooks {
  return new Webhooks({
    ...parts,
    encryptionKeys: config.signingKeys.encryptionKeys,
    rules: {
      judgeUrl: (url) => judgeUrl(url, config.webhookPolicy),
      eventTypes: EVENT_TYPES,
    },
  });
}

/** Additional listeners for metrics and traces. */
export interface LaneObserver extends Pick<LaneOptions, "onCommitted" | "onExecute"> {
  readonly onEvent?: ((event: LaneEvent) => void) | undefined;
}

/** Opens the foundation and starts the lane. */
export async function openCore(
  config: Config,
  purpose: "serve" | "command",
  log: Logger,
  watching: LaneObserver = {},
): Promise<Core> {
  const foundation = await openFoundation(config, purpose, log);
  const { database, clock, ids, holder } = foundation;
  const { onCommitted, onExecute, onEvent } = watching;
  const committed = new WakeSignal();
  const recentBatches = new RecentBatches();
  const recentTransfers = new RecentTransfers();
  const logLane = createLaneLog(log);
  const lane = new Lane({
    database,
    clock,
    holder,
    bounds: { cachedBytes: config.cacheBytes },
    onCommitted: (batch) => {
      recentBatches.add(batch);
      recentTransfers.add(batch.content);
      committed.notify();
      onCommitted?.(batch);
    },
    onExecute,
    log: (event) => {
      logLane(event);
      onEvent?.(event);
    },
  });
  try {
    await lane.start();
  } catch (error) {
    await foundation.close();
    throw error;
  }
  return {
    ...foundation,
    lane,
    committed,
    recentBatches,
    recentTransfers,
    customers: createCustomers({ database, lane, ids, clock }),
    clients: new Clients({
      database,
      clock,
      ids,
      onUnrecordedUse: (clientId, error) =>
        log.warn({ client_id: clientId, error }, "last use of a client secret was not recorded"),
    }),
    profiles: createProfiles({ database, lane, ids, clock }),
    close: async () => {
      await lane.stop();
      await foundation.close();
    },
  };
}

/** Closes sequentially, continuing after failures. @throws AggregateError of all failures. */
async function closeAll(closing: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closing) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, "some parts failed to close");
}

async function releaseLeases({ service: connection }: ProvidedDatabase, holder: string): Promise<void> {
  const database = new Database({ connection, maxConnections: 1, onIdleError: () => undefined });
  try {
    await releaseLeasesOf(database, holder);
  } finally {
    await database.close();
  }
}

async function migrateOwn(
  { owner, service }: ProvidedDatabase,
  config: Config,
  purpose: "serve" | "command",
  log: Logger,
): Promise<void> {
  if (owner === undefined) return;
  const database = new Database({ connection: owner, maxConnections: 1, onIdleError: () => undefined });
  try {
    await rejectEmpty(database, config);
    // A sandbox may use the service's role as the owner, which may own nothing.
    const isTakenForOwner = owner.user === service.user;
    if (isTakenForOwner && purpose === "command" && (await pendingMigrations(database)).length === 0) return;
    await migrateAs(database, service.user ?? "", log, { config, fills: purpose === "serve" }).catch(
      (error: unknown) => {
        // The check that follows reports what is missing.
        if (!isTakenForOwner || serverError(error)?.code !== INSUFFICIENT_PRIVILEGE) throw error;
      },
    );
  } finally {
    await database.close();
  }
}

export interface Migrating {
  readonly config: Pick<Config, "mode" | "catalogue" | "coin">;
  /** Whether to create what is new in the catalogue. */
  readonly fills: boolean;
  readonly onApply?: MigrateOptions["onApply"];
}

export interface Migrated extends Pick<Filled, "assets" | "markets"> {
  /** The names of the applied migrations. */
  readonly applied: readonly string[];
}

/** As the tables' owner. */
export async function migrateAs(
  owner: Database,
  serviceRole: string,
  log: Logger,
  { config, fills, onApply }: Migrating,
): Promise<Migrated> {
  const file = fills ? await readCatalogue(config) : undefined;
  await owner.checkSessionsAreNotShared();
  // Before anything is written. The first throws if the schema is not ours.
  await pendingMigrations(owner);
  if ((await lastMigration(owner)) !== undefined) await rejectForgotten(owner, config, fills);
  const applied = await migrate(owner, serviceRole, { onApply });
  for (const name of applied) log.info(`applied migration ${name}`);
  if (file === undefined) return { applied, assets: [], markets: [] };
  const { differing, ...created } = await fillCatalogue(owner, file, config.catalogue !== undefined);
  for (const line of createdLines(created)) log.info(line);
  for (const line of differing) log.warn(line);
  return { applied, ...created };
}

/** What a database was first used with, it keeps to. @throws StartupError | CatalogueError when the setting was forgotten */
async function rejectForgotten(
  database: Queryable,
  { mode, catalogue }: Migrating["config"],
  fills: boolean,
): Promise<void> {
  await rejectOtherMode(database, mode);
  if (fills && catalogue === undefined) await rejectOwnCatalogue(database);
}

async function check(database: Database, config: Config, purpose: "serve" | "command", log: Logger): Promise<void> {
  await rejectEmpty(database, config);
  const pending = await pendingMigrations(database);
  if (pending.length > 0) {
    throw new SchemaError(
      `the database lacks ${pending.join(", ")}: run parbook migrate with PARBOOK_MIGRATE_URL first`,
    );
  }
  const missing = await findMissingPrivileges(database);
  if (missing.length > 0) throw new StartupError(...missing);
  await rejectForgotten(database, config, purpose === "serve");
  const about = { database, config, settings: await readServerSettings(database), now: systemClock.now() };
  const isProduction = config.mode === "production";
  const required = await examine(REQUIRED_EXAMINATIONS, about);
  const fatal = accept(required.findings, config.accepted).filter(({ severity }) => severity === "fatal");
  if (isProduction && fatal.length > 0) throw new StartupError(...fatal.map(lineOf));
  logFindings(required.findings, config, log);
  if (!isProduction || purpose === "command") return;
  const { findings } = await examine([...EXAMINATIONS_OF_SERVER, ...EXAMINATIONS_OF_LEDGER], about);
  // The only one that runs is another: this one is the second.
  logFindings(
    findings.filter(({ name }) => name !== "one-node"),
    config,
    log,
  );
}

const INSUFFICIENT_PRIVILEGE = "42501";
