/**
 * The embedded PostgreSQL: a real server, run from the binaries of an npm package.
 *
 *     <data>/postgres/           the cluster, with the server's socket
 *     <data>/postgres.new-*      a cluster being created
 *     <data>/postgres.log, .1    the server's log
 *     <data>/holder.<n>          the lock, see `socket-lock.ts`
 *     <data>/wal-archive         that there is an archive, see `archive-presence.ts`
 *     <data>/restoring-*         a backup being restored
 *
 * Start: take the lock, stop a server left by a killed service, create the cluster if needed, start the server, wait until
 * it is ready. Stop: stop the server, release the lock.
 *
 * The server is detached. If this process is killed, the watcher stops the server (see `watcher.ts`); if the watcher is
 * gone too, the next start does. It never adopts a running server: the dead service's transactions must be over, and
 * settings and version must be the new ones.
 *
 * If we are root, the server runs as the owner of the cluster, or as `nobody` in a new one, even below a root-only
 * directory (see `nameFromInside`).
 *
 * There is no password: the only access is a socket in the cluster's directory, which is open only to the server's user and
 * root, who can read the data files anyway.
 */
import { resolve } from "node:path";
import type { ClientConfig } from "pg";
import { pause } from "../../std/pause.ts";
import { checkOwner } from "./backup/archive-owner.ts";
import { archiveAgain, checkPresence, findUnarchived, markArchive } from "./backup/archive-presence.ts";
import { archiving, prepareArchive } from "./backup/wal-archive.ts";
import { findPackage, prepareBinaries } from "./binaries.ts";
import {
  checkVersion,
  chooseServerUser,
  clusterPath,
  hasCluster,
  makeCluster,
  removeDrafts,
  SUPERUSER,
} from "./cluster.ts";
import { type DirectoryLock, lockDirectory } from "./directory-lock.ts";
import { EmbeddedError } from "./embedded-error.ts";
import { readTail, rotate, startRotation } from "./log-file.ts";
import { stopServer } from "./processes.ts";
import { launchServer, PORT, type RunningServer, SOCKET_NAME } from "./server.ts";
import { shortPath } from "./short-path.ts";
import { findHolder, type Purpose, probe } from "./socket-lock.ts";

export interface EmbeddedServer {
  /** Such as 18.4. */
  readonly version: string;
  /** Of the postmaster. Changes when the server is restarted after a crash. */
  readonly pid: number;
  /** Connection parameters, valid for every process of this user while this process lives. */
  connection(database: string, user: string): ClientConfig;
  /** Stops the server within 30 s and releases the data directory. Idempotent. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** The data directory. Created if missing. */
  readonly directory: string;
  /** `service` by default. */
  readonly purpose?: Purpose;
  /** Lines for the operator. The server's own log is `<directory>/postgres.log`. */
  readonly log: (line: string) => void;
  /** PostgreSQL settings that override the defaults. With fsync off the data is throw-away. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The directory of the WAL archive. */
  readonly walArchive?: string | undefined;
  /** How long crash recovery may take; 15 minutes by default. */
  readonly recoveryLimitMs?: number;
}

export function isEmbedded(directory: string): Promise<boolean> {
  return hasCluster(resolve(directory));
}

/** Starts the server. @throws EmbeddedError @throws DirectoryHeld */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const npmPackage = findPackage();
  const directory = resolve(options.directory);
  const hold = await lockDirectory(directory, options.purpose ?? "service");
  try {
    return await startLocked({ ...options, directory }, npmPackage, hold);
  } catch (error) {
    hold.release();
    throw error;
  }
}

/**
 * Connects to the server that a running service has on this directory, for the operator's commands. Call `close` afterwards.
 *
 * @returns Undefined if no server is running, or only for a command, with which it ends.
 */
export async function reachEmbedded(
  directory: string,
): Promise<(Pick<EmbeddedServer, "connection"> & { close(): void }) | undefined> {
  if (!(await hasCluster(resolve(directory)))) return undefined;
  const short = shortPath(resolve(directory));
  const holder = await findHolder(short.path);
  const isRunning = (await probe(`${clusterPath(short.path)}/${SOCKET_NAME}`)) !== undefined;
  if (holder?.purpose !== "service" || !isRunning) {
    short.close();
    return undefined;
  }
  return { connection: connector(short.path), close: () => short.close() };
}

async function startLocked(options: EmbeddedOptions, npmPackage: string, hold: DirectoryLock): Promise<EmbeddedServer> {
  const { directory, log, walArchive, recoveryLimitMs } = options;
  const cluster = clusterPath(directory);
  const logFile = `${cluster}.log`;
  const exists = await hasCluster(directory);
  const user = await chooseServerUser(directory, exists);
  const binaries = await prepareBinaries(npmPackage, user);
  if (walArchive !== undefined) {
    if (exists) await checkPresence(walArchive, directory);
    await prepareArchive(walArchive, user);
    await checkOwner(walArchive, exists ? cluster : undefined);
  }
  const settings = { ...(walArchive === undefined ? {} : archiving(walArchive)), ...options.settings };
  await removeDrafts(directory);
  if (exists) {
    await checkVersion(directory, binaries);
    await stopLeftoverServer(cluster, clusterPath(hold.short), log);
    if (walArchive !== undefined) await archiveAgain((await findUnarchived(walArchive, cluster)).kept, cluster, user);
  } else {
    log(`creating a new PostgreSQL ${binaries.major} database in ${cluster}`);
    await makeCluster(directory, binaries, user, { durable: settings.fsync !== "off" });
  }
  if (walArchive !== undefined) await markArchive(walArchive, directory, user);
  await rotate(logFile);
  const connection = connector(hold.short);
  const superuser = connection("postgres", SUPERUSER);
  const launch = async (): Promise<RunningServer> => {
    const running = await launchServer({
      ...{ binaries, cluster, user, logFile, settings, connection: superuser },
      ...(recoveryLimitMs === undefined ? {} : { recoveryLimitMs }),
    });
    log(`PostgreSQL ${running.version} is running as process ${running.pid}; its log is ${logFile}`);
    return running;
  };
  return superviseServer(options, await launch(), launch, connection, hold);
}

/** Stops the server of a killed service, whose transactions must not commit any more. */
async function stopLeftoverServer(cluster: string, shortCluster: string, log: (line: string) => void): Promise<void> {
  if ((await stopServer(cluster)) > 0) log("stopped a PostgreSQL left running by an earlier service");
  if ((await probe(`${shortCluster}/${SOCKET_NAME}`)) === undefined) return;
  throw new EmbeddedError(`another PostgreSQL, perhaps in another container, is running in ${cluster}: stop it first`);
}

const MAX_RESTART_DELAY_MS = 5_000;

type Connector = EmbeddedServer["connection"];

function connector(short: string): Connector {
  const host = clusterPath(short);
  // The environment may say PGSSLMODE, for other servers.
  return (database, user) => ({ host, port: PORT, database, user, ssl: false });
}

/**
 * Supervises the server until stopped. After an unexpected exit, it kills leftover processes and restarts the server, with
 * growing delays.
 */
function superviseServer(
  { directory, log }: EmbeddedOptions,
  first: RunningServer,
  launch: () => Promise<RunningServer>,
  connection: Connector,
  hold: DirectoryLock,
): EmbeddedServer {
  const cluster = clusterPath(directory);
  const logFile = `${cluster}.log`;
  const endBounding = startRotation(logFile);
  let running = first;
  let stopping = false;
  let reviving: Promise<void> = Promise.resolve();

  const revive = async (): Promise<void> => {
    const tail = await readTail(logFile, 0).catch(() => "(unreadable)");
    log(`PostgreSQL exited unexpectedly; restarting. Its log ends with: ${tail}`);
    for (let pauseMs = 100; !stopping; pauseMs = Math.min(pauseMs * 2, MAX_RESTART_DELAY_MS)) {
      try {
        await stopServer(cluster);
        watch(await launch());
        return;
      } catch (error) {
        log(`PostgreSQL does not start: ${(error as Error).message}`);
        await pause(pauseMs);
      }
    }
  };
  const onUnexpectedExit = (): void => {
    reviving = revive();
  };
  const watch = (server: RunningServer): void => {
    running = server;
    server.child.once("exit", onUnexpectedExit);
  };
  watch(first);

  const stop = async () => {
    stopping = true;
    running.child.off("exit", onUnexpectedExit);
    await reviving;
    running.child.off("exit", onUnexpectedExit);
    endBounding();
    await stopServer(cluster);
    await running.watcherEnded;
    hold.release();
  };
  let stopped: Promise<void> | undefined;
  return {
    version: first.version,
    get pid() {
      return running.pid;
    },
    connection,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}
