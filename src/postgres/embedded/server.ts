/** Starts the server process and waits until it accepts connections. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Client, type ClientConfig } from "pg";
import { must } from "../../std/assert.ts";
import type { Binaries } from "./binaries.ts";
import { EmbeddedError } from "./embedded-error.ts";
import { readTail, sizeOf, writingTo } from "./log-file.ts";
import { stopServer } from "./processes.ts";
import { ENVIRONMENT, nameFromInside, type ServerUser } from "./program.ts";
import { watcherEnd, withWatcher } from "./watcher.ts";

/** Part of the socket name only: nothing listens on the network. */
export const PORT = 5432;
export const SOCKET_NAME = `.s.PGSQL.${PORT}`;

/** Full durability, and memory sizes for a shared machine. */
const DEFAULTS: Readonly<Record<string, string>> = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  wal_level: "replica",
  // The binaries lack lz4, and pglz costs more than it saves.
  wal_compression: "off",
  max_wal_size: "2GB",
  checkpoint_timeout: "15min",
  shared_buffers: "256MB",
  max_connections: "100",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  // Statements can be huge, and failing rows contain balances: neither belongs in the log.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
};

/** Settings that cannot be overridden. */
const FIXED: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_directories: ".",
  unix_socket_permissions: "0700",
  port: String(PORT),
  // After a backend crash the server exits and we restart it. A server that restarted itself was seen to hang for ever
  // after its recovery failed on a full disk.
  restart_after_crash: "off",
  logging_collector: "off",
  log_destination: "stderr",
};

const POLL_MS = 25;
const START_TIMEOUT_MS = 60_000;
/** A server that reports "starting up" is in crash recovery. Stopping it would only restart the recovery. */
const RECOVERY_LIMIT_MS = 15 * 60_000;
const CANNOT_CONNECT_NOW = "57P03";

export interface Launch {
  readonly binaries: Binaries;
  readonly cluster: string;
  readonly user: ServerUser;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly connection: ClientConfig;
  readonly recoveryLimitMs?: number;
}

export interface RunningServer {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Such as 18.4. */
  readonly version: string;
  /** Resolves when both the server and its watcher have exited. */
  readonly watcherEnded: Promise<void>;
}

/** Starts a server and waits until it is ready. @throws EmbeddedError quoting its log; the server is stopped. */
export async function launchServer(launch: Launch): Promise<RunningServer> {
  const logStart = await sizeOf(launch.logFile);
  const child = spawnServer(launch);
  const watcherEnded = watcherEnd(child);
  try {
    await once(child, "spawn");
    const version = await waitUntilReady(child, launch, logStart);
    return { child, pid: must(child.pid, "a process that was spawned has an id"), version, watcherEnded };
  } catch (error) {
    await stopServer(launch.cluster);
    throw error;
  }
}

/**
 * A stale postmaster.pid may name a process id that is in use again, and then the server would not start. So the process
 * that becomes the server first writes its own id there. The rest of the file stays: the server uses it to check for
 * processes still attached to the shared memory. A file without an id, as a crash leaves it, is removed. All this runs as
 * the server's user, because root could be misled by a planted link.
 */
const WITH_OWN_LOCKS = `rm -f ${SOCKET_NAME}.lock postmaster.pid.new
pid=
[ -f postmaster.pid ] && [ ! -L postmaster.pid ] && read -r pid <postmaster.pid
case $pid in
'' | *[!0-9]*) rm -f postmaster.pid ;;
*)
  umask 077
  { echo $$ && tail -n +2 postmaster.pid; } >postmaster.pid.new && mv -f postmaster.pid.new postmaster.pid
  ;;
esac
exec "$@"
`;

/**
 * Detached into its own session, so that Ctrl-C in the terminal does not reach the server before this process has finished.
 */
function spawnServer({ binaries, cluster, user, logFile, settings }: Launch): ChildProcess {
  const all = { ...DEFAULTS, ...settings, ...FIXED };
  const parameters = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const watched = withWatcher(binaries.postgres, ["-D", nameFromInside(cluster, user), ...parameters]);
  const child = writingTo(logFile, (log) =>
    spawn("/bin/sh", ["-c", WITH_OWN_LOCKS, "parbook-locks", "/bin/sh", ...watched], {
      cwd: cluster,
      env: ENVIRONMENT,
      detached: true,
      stdio: ["ignore", log, log, "pipe"],
      ...user,
    }),
  );
  child.unref();
  return child;
}

/** @returns The server version. @throws EmbeddedError after a timeout or an exit. */
async function waitUntilReady(child: ChildProcess, launch: Launch, logStart: number): Promise<string> {
  const start = performance.now();
  let limitMs = START_TIMEOUT_MS;
  for (;;) {
    const answer = await askVersion(launch.connection);
    if ("version" in answer) return answer.version;
    if (child.exitCode !== null || child.signalCode !== null) {
      const how = child.exitCode === null ? `ended by ${child.signalCode}` : `exit code ${child.exitCode}`;
      throw new EmbeddedError(`PostgreSQL did not start (${how}): ${await readTail(launch.logFile, logStart)}`);
    }
    if (answer.code === CANNOT_CONNECT_NOW) limitMs = launch.recoveryLimitMs ?? RECOVERY_LIMIT_MS;
    if (performance.now() - start > limitMs) {
      const tail = await readTail(launch.logFile, logStart);
      throw new EmbeddedError(`PostgreSQL was not ready within ${limitMs / 1_000} s (${answer.message}): ${tail}`);
    }
    await pause(POLL_MS);
  }
}

type VersionResponse = { readonly version: string } | { readonly code: string | undefined; readonly message: string };

async function askVersion(connection: ClientConfig): Promise<VersionResponse> {
  const client = new Client({ ...connection, connectionTimeoutMillis: 5_000 });
  // Without a listener, an error would end the process. The query reports it anyway.
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>("show server_version");
    return { version: must(rows[0], "show gives one row").server_version };
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    return { code, message };
  } finally {
    await client.end();
  }
}
