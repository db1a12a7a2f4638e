/**
 * Provides the database: the external one, or the embedded one, which is started here unless a running service already
 * has.
 */
import type { ClientConfig } from "pg";
import { Database, type Queryable } from "../postgres/database.ts";
import { SUPERUSER } from "../postgres/embedded/cluster.ts";
import { DirectoryHeld, lockDirectory } from "../postgres/embedded/directory-lock.ts";
import { type EmbeddedServer, isEmbedded, reachEmbedded, startEmbedded } from "../postgres/embedded/embedded.ts";
import { lastMigration } from "../postgres/migrations.ts";
import { pause } from "../std/pause.ts";
import type { Config } from "./config/config.ts";

export interface ProvidedDatabase {
  /** Connection of the service's role, which can append to the ledger but not change it. */
  readonly service: ClientConfig;
  /** Connection of the owner of the tables; undefined if this process must not migrate. */
  readonly owner: ClientConfig | undefined;
  /** An external one may be behind a pooler. */
  readonly kind: "embedded" | "external";
  /** Embedded only. */
  readonly superuser: ClientConfig | undefined;
  /** No other process can use the database, so leases left behind are free. */
  readonly exclusive: boolean;
  close(): Promise<void>;
}

const DATABASE = "parbook";
const SERVICE_ROLE = "parbook";

/**
 * `serve` needs the data directory exclusively; the others can share the server of a running service. `migrate` may create
 * the database in production, where no start does.
 */
export type Purpose = "serve" | "command" | "migrate";

/**
 * A directory without its disk, or a wrong path, must not become a new, empty ledger: opening balances would be credited
 * again, and each `ref_id` be free. A command would report that all is well.
 */
export class NoDatabase extends Error {
  override readonly name = "NoDatabase";
}

/** In production, before anything is migrated. @throws NoDatabase */
export async function rejectEmpty(database: Queryable, { mode, databaseUrl, dataDir }: Config): Promise<void> {
  if (mode === "sandbox" || (await lastMigration(database)) !== undefined) return;
  const place = databaseUrl === undefined ? `in ${dataDir}` : "of PARBOOK_DATABASE_URL";
  throw new NoDatabase(`the database ${place} has no ledger: is it the right one? ${NEW_LEDGER}`);
}

const NEW_LEDGER = "Only parbook migrate makes a new, empty ledger in production";

/** How long the embedded server is waited for that another process has: a command ends, and a service starts. */
const WAIT_MS = 30_000;
const ASK_AGAIN_MS = 100;

/** @throws NoDatabase | EmbeddedError | DirectoryHeld */
export async function provideDatabase(
  config: Config,
  purpose: Purpose,
  log: (line: string) => void,
): Promise<ProvidedDatabase> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl, config, purpose);
  await rejectMissing(config, purpose);
  const end = performance.now() + WAIT_MS;
  let hasSaidSo = false;
  for (;;) {
    const running = purpose === "serve" ? undefined : await reachEmbedded(config.dataDir);
    if (running !== undefined) {
      // The running service has migrated it.
      return {
        ...connections(running),
        kind: "embedded",
        owner: undefined,
        exclusive: false,
        close: async () => running.close(),
      };
    }
    try {
      return await startOwn(config, purpose, log);
    } catch (error) {
      const mayEnd = error instanceof DirectoryHeld && (purpose !== "serve" || error.by === "command");
      if (!mayEnd || performance.now() >= end) throw error;
      if (!hasSaidSo) log(`waiting: ${error.message}`);
      hasSaidSo = true;
      await pause(ASK_AGAIN_MS);
    }
  }
}

async function rejectMissing({ mode, dataDir }: Config, purpose: Purpose): Promise<void> {
  if (purpose === (mode === "production" ? "migrate" : "serve") || (await isEmbedded(dataDir))) return;
  throw new NoDatabase(
    mode === "production"
      ? `there is no database in ${dataDir}: is its disk mounted, and PARBOOK_DATA_DIR (or PARBOOK_DATABASE_URL) that of the service? ${NEW_LEDGER}`
      : `there is no database in ${dataDir}: give this command the settings of the service (PARBOOK_DATABASE_URL, or PARBOOK_DATA_DIR), or start it there first`,
  );
}

async function startOwn(
  { dataDir: directory, walArchive }: Config,
  purpose: Purpose,
  log: (line: string) => void,
): Promise<ProvidedDatabase> {
  const held = purpose === "serve" ? "service" : "command";
  const server = await startEmbedded({ directory, purpose: held, log, walArchive });
  try {
    await makeDatabase(server);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { ...connections(server), kind: "embedded", exclusive: true, close: () => server.stop() };
}

type Connected = Pick<EmbeddedServer, "connection">;

function connections({ connection }: Connected): Pick<ProvidedDatabase, "service" | "owner" | "superuser"> {
  const superuser = connection(DATABASE, SUPERUSER);
  return { service: connection(DATABASE, SERVICE_ROLE), owner: superuser, superuser };
}

async function makeDatabase({ connection }: Connected): Promise<void> {
  const admin = new Database({
    connection: connection("postgres", SUPERUSER),
    maxConnections: 1,
    onIdleError: () => undefined,
  });
  try {
    const [found] = await admin.rows<{ role: boolean; database: boolean }>(
      `select exists (select from pg_roles where rolname = $1) as role,
              exists (select from pg_database where datname = $2) as database`,
      [SERVICE_ROLE, DATABASE],
    );
    if (found?.role !== true) await admin.rows(`create role ${SERVICE_ROLE} login`);
    if (found?.database !== true) await admin.rows(`create database ${DATABASE}`);
  } finally {
    await admin.close();
  }
}

/**
 * A sandbox without PARBOOK_MIGRATE_URL migrates as the service's role, and logs a warning. Production requires separate
 * roles.
 */
async function external(
  url: string,
  { mode, migrateUrl, dataDir }: Config,
  purpose: Purpose,
): Promise<ProvidedDatabase> {
  // Two nodes on one data directory would overwrite each other's ready.json.
  const lock = purpose === "serve" ? await lockDirectory(dataDir, "service") : undefined;
  const owner = migrateUrl ?? (mode === "sandbox" ? url : undefined);
  return {
    service: connectionOf(url),
    owner: owner === undefined ? undefined : connectionOf(owner),
    kind: "external",
    superuser: undefined,
    exclusive: false,
    close: async () => lock?.release(),
  };
}

function connectionOf(url: string): ClientConfig & { readonly user: string } {
  const { username } = new URL(url);
  return { connectionString: url, user: decodeURIComponent(username) };
}
