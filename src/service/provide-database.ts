/**
 * Where the database comes from: the operator's own, or the embedded one, which is started here, or
 * reached when the service is running it already.
 */
import type { ClientConfig } from "pg";
import type { Config } from "../config/config.ts";
import { Database } from "../postgres/database.ts";
import { SUPERUSER } from "../postgres/embedded/cluster.ts";
import { type EmbeddedServer, isEmbedded, reachEmbedded, startEmbedded } from "../postgres/embedded/embedded.ts";

export interface Provided {
  /** How the service connects, with the role that adds to the books and cannot change them. */
  readonly service: ClientConfig;
  /** How the owner of the tables connects; undefined when migrations are not ours to apply. */
  readonly owner: ClientConfig | undefined;
  /** Whose it is: a pooler may stand before the operator's own. */
  readonly kind: "embedded" | "external";
  /** Who may do everything, with an embedded server. */
  readonly superuser: ClientConfig | undefined;
  /** Nobody else can be using the database, so leases that were left behind are free. */
  readonly exclusive: boolean;
  close(): Promise<void>;
}

const DATABASE = "parbook";
const SERVICE_ROLE = "parbook";

/** A command in the wrong place must not make a database of its own, and find it in perfect order. */
export class NoDatabase extends Error {
  override readonly name = "NoDatabase";

  constructor(directory: string) {
    super(
      `there is no database in ${directory}: start the service there first, or set PARBOOK_DATA_DIR to where it is`,
    );
  }
}

/** `serve` takes the embedded server for itself; `command` works beside a service that has it. */
export async function provideDatabase(
  config: Config,
  purpose: "serve" | "command",
  log: (line: string) => void,
): Promise<Provided> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl, config);
  const running = purpose === "command" ? await reachEmbedded(config.dataDir) : undefined;
  if (running !== undefined) {
    // Whoever started it has migrated it.
    return {
      ...connections(running),
      kind: "embedded",
      owner: undefined,
      exclusive: false,
      close: async () => running.close(),
    };
  }
  if (purpose === "command" && !(await isEmbedded(config.dataDir))) throw new NoDatabase(config.dataDir);
  const server = await startEmbedded({ directory: config.dataDir, log, walArchive: config.walArchive });
  try {
    await makeDatabase(server);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { ...connections(server), kind: "embedded", exclusive: true, close: () => server.stop() };
}

type Connected = Pick<EmbeddedServer, "connection">;

function connections({ connection }: Connected): Pick<Provided, "service" | "owner" | "superuser"> {
  const superuser = connection(DATABASE, SUPERUSER);
  return { service: connection(DATABASE, SERVICE_ROLE), owner: superuser, superuser };
}

/** The database and the service's role in the embedded server, made when they are not there yet. */
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
 * Somebody's own PostgreSQL. A sandbox without a second address for the owner takes the service's role for the owner as
 * well: it is warned of that, and production refuses it.
 */
function external(url: string, { mode, migrateUrl }: Config): Provided {
  const owner = migrateUrl ?? (mode === "sandbox" ? url : undefined);
  return {
    service: connectionOf(url),
    owner: owner === undefined ? undefined : connectionOf(owner),
    kind: "external",
    superuser: undefined,
    exclusive: false,
    close: async () => undefined,
  };
}

function connectionOf(url: string): ClientConfig & { readonly user: string } {
  const { username } = new URL(url);
  return { connectionString: url, user: decodeURIComponent(username) };
}
