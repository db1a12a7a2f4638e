/** Starts the server's process and waits until it answers. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Client, type ClientConfig } from "pg";
import { must } from "../../std/assert.ts";
import type { Binaries } from "./binaries.ts";
import { readTail, sizeOf, writingTo } from "./log-file.ts";
import { endServer } from "./processes.ts";
import { ENVIRONMENT, nameFromInside, type ServerUser } from "./program.ts";
import { EmbeddedError } from "./refusal.ts";
import { watcherEnd, withWatcher } from "./watcher.ts";

/** It only names the socket: nothing listens on the network. */
export const PORT = 5432;
export const SOCKET_NAME = `.s.PGSQL.${PORT}`;

/** What is committed is on disk when it is answered; the rest suits a service that shares its machine. */
const DEFAULTS: Readonly<Record<string, string>> = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  wal_level: "replica",
  // The binaries are built without lz4, and pglz costs more than it saves where pages are written whole.
  wal_compression: "off",
  max_wal_size: "2GB",
  checkpoint_timeout: "15min",
  shared_buffers: "256MB",
  max_connections: "100",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  // A batch is a statement of thousands of lines, and a failing row is somebody's balance: neither is for a log.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
};

/** What the rest of the launcher rests on, and what no setting may change. */
const FIXED: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_directories: ".",
  unix_socket_permissions: "0700",
  port: String(PORT),
  // After a crash of one of its processes the server ends, and is started by us as after any other end. One that starts
  // over by itself was seen to wait for ever: its recovery had failed on a full disk within milliseconds, unnoticed.
  restart_after_crash: "off",
  logging_collector: "off",
  log_destination: "stderr",
};

const POLL_MS = 25;
const ANSWER_LIMIT_MS = 60_000;
/** A server that says that it is starting is replaying its log after a crash. Ending it would only begin that again. */
const RECOVERY_LIMIT_MS = 15 * 60_000;
const CANNOT_CONNECT_NOW = "57P03";

export interface Launch {
  readonly binaries: Binaries;
  readonly cluster: string;
  readonly user: ServerUser;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  /** How to connect as the superuser. */
  readonly connection: ClientConfig;
  readonly recoveryLimitMs?: number;
}

export interface RunningServer {
  readonly child: ChildProcess;
  readonly pid: number;
  /** As the server says it, e.g. 18.4. */
  readonly version: string;
  /** Resolves behind the end of the server, when its watcher is gone too. */
  readonly watcherEnded: Promise<void>;
}

/** Starts a server and waits until it answers. When it does not, it is ended, and the refusal quotes its log. */
export async function launchServer(launch: Launch): Promise<RunningServer> {
  const logStart = await sizeOf(launch.logFile);
  const child = spawnServer(launch);
  const watcherEnded = watcherEnd(child);
  try {
    await once(child, "spawn");
    const version = await waitForAnswer(child, launch, logStart);
    return { child, pid: must(child.pid, "a process that was spawned has an id"), version, watcherEnded };
  } catch (error) {
    await endServer(launch.cluster);
    throw error;
  }
}

/**
 * The server's lock file names a process that is gone; but its number may by now be another's, and then the server would
 * refuse to start. So the process that becomes the server first puts its own number there. The rest of the file stays: by
 * it the server finds out whether anything of its predecessor is still attached to the shared memory. A file without a
 * number, as a crash leaves it, is removed. This is done in the cluster as the server's user, since as root a link that
 * another process of this user has put there would lead us to any file.
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
 * In a session of its own: Ctrl-C in our terminal reaches us alone, and we end the server when we have finished. When we
 * cannot, because we were killed, its watcher does.
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

/** The version that the server gives once it takes connections. */
async function waitForAnswer(child: ChildProcess, launch: Launch, logStart: number): Promise<string> {
  const start = performance.now();
  let limitMs = ANSWER_LIMIT_MS;
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
      throw new EmbeddedError(`PostgreSQL did not answer within ${limitMs / 1_000} s (${answer.message}): ${tail}`);
    }
    await pause(POLL_MS);
  }
}

type Answer = { readonly version: string } | { readonly code: string | undefined; readonly message: string };

async function askVersion(connection: ClientConfig): Promise<Answer> {
  const client = new Client({ ...connection, connectionTimeoutMillis: 5_000 });
  // What breaks while we ask is also the answer to what we ask; without a listener it would end the process.
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
