/**
 * What every program of ours needs, whether it serves or runs one command: the database, migrated, and the ledger's
 * lane with the domain on top. Built by hand, in order, and closed in the reverse one.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "pino";
import { type Catalogue, fillCatalogue, loadCatalogue } from "../catalogue/catalogue.ts";
import type { Config } from "../config/config.ts";
import { Clients } from "../customers/clients/clients.ts";
import { type Customers, createCustomers } from "../customers/customers.ts";
import { createProfiles, type Profiles } from "../customers/profiles/profiles.ts";
import { Lane } from "../ledger/lane/lane.ts";
import { isContention, readDatabaseTime } from "../ledger/lane/lane-connection.ts";
import type { LaneEvent, LaneOptions } from "../ledger/lane/lane-options.ts";
import { LedgerClock } from "../ledger/ledger-clock.ts";
import { Database, serverError } from "../postgres/database.ts";
import { findExcessPrivileges, findMissingPrivileges, findWeakSettings } from "../postgres/durability.ts";
import { releaseLeasesOf } from "../postgres/leases.ts";
import { migrate, pendingMigrations, SchemaError } from "../postgres/migrations.ts";
import { systemClock } from "../std/clock.ts";
import { IdSource } from "../std/id.ts";
import { type Provided, provideDatabase } from "./provide-database.ts";

/** One or more lines for the operator: why nothing was started. */
export class StartupError extends Error {
  override readonly name = "StartRefusal";
  readonly lines: readonly string[];

  constructor(...lines: readonly string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}

export interface Foundation {
  readonly database: Database;
  readonly catalogue: Catalogue;
  /** What all that is stored takes its time from. */
  readonly clock: LedgerClock;
  readonly ids: IdSource;
  readonly log: Logger;
  /** Names this process among those that share the database. */
  readonly holder: string;
  /**
   * For a process that has met a bug: breaks all connections to the database off before it returns, and then lets go of
   * all leases, on a connection that nobody else has.
   */
  abandon(): Promise<void>;
  close(): Promise<void>;
}

export interface Core extends Foundation {
  readonly lane: Lane;
  readonly customers: Customers;
  readonly clients: Clients;
  readonly profiles: Profiles;
}

/** The database, reached, migrated where that is ours to do, and found to be safe. */
export async function openFoundation(config: Config, purpose: "serve" | "command", log: Logger): Promise<Foundation> {
  const provided = await provideDatabase(config, purpose, (line) => log.info(line));
  const closing: (() => Promise<void> | void)[] = [() => provided.close()];
  try {
    await migrateOwn(provided, log);
    const database = new Database({
      connection: provided.service,
      maxConnections: 20,
      onIdleError: (error) => log.warn({ error }, "an idle connection to the database was lost"),
    });
    closing.unshift(() => database.close());
    if (provided.kind === "external") await database.refuseSharedSessions();
    await check(database, config, log);
    if (purpose === "serve") warnOfSecrets(config, log);
    const clock = new LedgerClock(systemClock, { toleranceMs: config.clockToleranceMs });
    await clock.measure(() => readDatabaseTime(database));
    const catalogue = await loadCatalogue(database);
    closing.unshift(() => catalogue.close());
    const holder = provided.exclusive ? "embedded" : `${hostname()}/${process.pid}/${randomBytes(6).toString("hex")}`;
    return {
      database,
      catalogue,
      clock,
      ids: new IdSource(clock),
      log,
      holder,
      abandon: () => {
        database.cutOff();
        return letGoOfLeases(provided, holder);
      },
      close: () => closeAll(closing),
    };
  } catch (error) {
    await closeAll(closing);
    throw error;
  }
}

/** Who else is told of what the lane does. */
export interface LaneWatching extends Pick<LaneOptions, "onCommitted" | "onExecute"> {
  readonly onEvent?: ((event: LaneEvent) => void) | undefined;
}

/** The foundation with its lane running. */
export async function openCore(
  config: Config,
  purpose: "serve" | "command",
  log: Logger,
  watching: LaneWatching = {},
): Promise<Core> {
  const foundation = await openFoundation(config, purpose, log);
  const { database, clock, ids, holder } = foundation;
  const { onCommitted, onExecute, onEvent } = watching;
  const lane = new Lane({
    database,
    clock,
    holder,
    onCommitted,
    onExecute,
    log: (event) => {
      logLane(log, event);
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
    customers: createCustomers({ database, lane, ids, clock }),
    clients: new Clients({
      database,
      clock,
      ids,
      onUnrecordedUse: (clientId, error) =>
        log.warn({ client_id: clientId, error }, "the use of a secret was not recorded"),
    }),
    profiles: createProfiles({ database, lane, ids, clock }),
    close: async () => {
      await lane.stop();
      await foundation.close();
    },
  };
}

/** Closes one after the other, each whatever became of the one before. */
export async function closeAll(closing: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closing) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, "not everything could be closed in order");
}

async function letGoOfLeases({ service: connection }: Provided, holder: string): Promise<void> {
  const database = new Database({ connection, maxConnections: 1, onIdleError: () => undefined });
  try {
    await releaseLeasesOf(database, holder);
  } finally {
    await database.close();
  }
}

async function migrateOwn({ owner, service }: Provided, log: Logger): Promise<void> {
  if (owner === undefined) return;
  const database = new Database({ connection: owner, maxConnections: 1, onIdleError: () => undefined });
  try {
    // The service's role, which a sandbox takes for the owner as well, may own nothing.
    const isTakenForOwner = owner.user === service.user;
    if (isTakenForOwner && (await pendingMigrations(database)).length === 0) return;
    await migrateAs(database, service.user ?? "", log).catch((error: unknown) => {
      // The check that follows says what is missing and how to get there.
      if (!isTakenForOwner || serverError(error)?.code !== INSUFFICIENT_PRIVILEGE) throw error;
    });
  } finally {
    await database.close();
  }
}

/** Brings the schema up to date and fills an empty catalogue, as the owner of the tables. */
export async function migrateAs(owner: Database, serviceRole: string, log: Logger): Promise<string[]> {
  await owner.refuseSharedSessions();
  const done = await migrate(owner, serviceRole);
  await fillCatalogue(owner);
  for (const name of done) log.info(`applied migration ${name}`);
  return done;
}

async function check(database: Database, { mode }: Config, log: Logger): Promise<void> {
  const pending = await pendingMigrations(database);
  if (pending.length > 0) {
    throw new SchemaError(
      `the database lacks ${pending.join(", ")}: run parbook migrate with PARBOOK_MIGRATE_URL first`,
    );
  }
  const missing = await findMissingPrivileges(database);
  if (missing.length > 0) throw new StartupError(...missing);
  const findings = [...(await findWeakSettings(database)), ...(await findExcessPrivileges(database))];
  if (mode === "production" && findings.length > 0) throw new StartupError(...findings);
  for (const finding of findings) log.warn(finding);
}

/** At the start of a service. To other commands than those on keys it would be one line more that nobody reads. */
function warnOfSecrets(config: Config, log: Logger): void {
  warnOfClearKeys(config, log);
  const { mode, databaseUrl } = config;
  if (mode === "production" && databaseUrl === undefined && process.getuid?.() === 0) log.warn(AS_ROOT);
}

export function warnOfClearKeys({ mode, signingKeys }: Config, log: Logger): void {
  if (mode === "production" && signingKeys.encryptionKeys.length === 0) log.warn(CLEAR_KEYS);
}

const CLEAR_KEYS =
  "PARBOOK_KEY_ENCRYPTION_KEY is not set: whoever reads the database or a backup of it can issue tokens for everybody";

const AS_ROOT =
  "Parbook runs as root, and its database therefore as another user: every process of that user can change the books. Start it as a user of its own";

function logLane(log: Logger, event: LaneEvent): void {
  const { kind } = event;
  if (kind === "recovered") log.info({ ...event }, "the lane has recovered");
  else if (kind === "warned")
    log.warn({ ...event }, "the database warned: what became of the last batches is looked up");
  else if (kind === "command_failed") log.error({ error: event.error }, "a command failed: this is a bug");
  else if (kind === "clock_wrong") log.error({ kind }, `${event.fault}: nothing is decided`);
  else if (kind === "clock_right") log.info({ kind }, "the clock is right again");
  else if (kind === "database_away") log.warn({ kind, error: event.error }, "the database is away");
  else logFailedBatch(log, event);
}

/** A batch that broke one of its own rules rested on what others have changed meanwhile: that is what they are for. */
function logFailedBatch(log: Logger, { kind, slot, n, error }: Extract<LaneEvent, { kind: "batch_failed" }>): void {
  const constraint = serverError(error)?.constraint;
  if (constraint !== undefined && isContention(error))
    log.info({ kind, slot, n, constraint }, "a batch was overtaken, and is decided again");
  else log.warn({ kind, slot, n, error }, "a batch failed");
}

const INSUFFICIENT_PRIVILEGE = "42501";
