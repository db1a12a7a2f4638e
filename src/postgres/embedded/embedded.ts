/**
 * The embedded PostgreSQL: a real server, from the binaries that npm brings, for whoever has no database at hand.
 *
 *     <data>/postgres/           the cluster; its socket lies in it
 *     <data>/postgres.new-*      one that is being made; nothing yet
 *     <data>/postgres.log, .1    what the server says
 *     <data>/holder.<n>          who uses the directory, see `data-lock.ts`
 *     <data>/restoring-*         a backup that is being restored; nothing yet
 *
 * From start to stop: take the lock (a second service is refused here), end what a killed service left running, make
 * the cluster if there is none, start the server, wait until it answers. On stop: end the server, give the lock back.
 *
 * The server is detached. When we are killed, its watcher ends it in order (see `watcher.ts`). Should the watcher be gone
 * too, the next start does that, rather than adopt it: so no transaction of the dead service is still running when the new
 * one reads, and the settings and the version are those of the new one.
 *
 * As root the server runs as the owner of the cluster, or as `nobody` in a new one, because PostgreSQL refuses root.
 * The data stays where the operator wanted it, also below a directory that only root can enter (see `nameFromInside`).
 *
 * There is no password. The only door is a socket in the cluster's directory, which is closed to all but the server's
 * user and root: and these can read the data without asking the server.
 */
import { resolve } from "node:path";
import type { ClientConfig } from "pg";
import { pause } from "../../std/pause.ts";
import { findPackage, prepareBinaries } from "./binaries.ts";
import {
  checkVersion,
  chooseServerUser,
  clusterPath,
  hasCluster,
  makeCluster,
  makeDataDirectory,
  removeDrafts,
  SUPERUSER,
} from "./cluster.ts";
import { knock } from "./data-lock.ts";
import { type Hold, takeHold } from "./hold.ts";
import { keepBounded, readTail, shorten } from "./log-file.ts";
import { endServer } from "./processes.ts";
import { EmbeddedError } from "./refusal.ts";
import { launchServer, PORT, type RunningServer, SOCKET_NAME } from "./server.ts";
import { shortPath } from "./short-path.ts";
import { archiving, prepareArchive } from "./wal-archive.ts";

export interface EmbeddedServer {
  /** As the server says it, e.g. 18.4. */
  readonly version: string;
  /** Of the postmaster, which may be another one after the server had ended unasked. */
  readonly pid: number;
  /** How to connect. Valid in every process of this user, for as long as this process lives. */
  connection(database: string, user: string): ClientConfig;
  /** Ends the server in order, within 30 s, and gives the data directory free. May be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Where the database lives, e.g. ./data. Made when it is missing. */
  readonly directory: string;
  /** Takes lines for the operator. What the server itself says is in `<directory>/postgres.log`. */
  readonly log: (line: string) => void;
  /** Settings of PostgreSQL that differ from ours. With fsync off the data is a throw-away. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Where the log of all changes is kept, segment by segment, besides the cluster. */
  readonly walArchive?: string | undefined;
  /** How long the server may replay its log before it serves; 15 minutes unless given. */
  readonly recoveryLimitMs?: number;
}

/** Whether a cluster was made in this directory. */
export function isEmbedded(directory: string): Promise<boolean> {
  return hasCluster(resolve(directory));
}

/** Starts the server, or throws `EmbeddedRefusal` with one line that says what is wrong and what to do. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const npmPackage = findPackage();
  const directory = resolve(options.directory);
  await makeDataDirectory(directory);
  const hold = await takeHold(directory);
  try {
    return await startHeld({ ...options, directory }, npmPackage, hold);
  } catch (error) {
    hold.release();
    throw error;
  }
}

/**
 * The way to a server that another process runs on this directory; undefined when none answers. For the operator's
 * commands, which work beside the service. `close` when it is not needed any more.
 */
export async function reachEmbedded(
  directory: string,
): Promise<(Pick<EmbeddedServer, "connection"> & { close(): void }) | undefined> {
  if (!(await hasCluster(resolve(directory)))) return undefined;
  const short = shortPath(resolve(directory));
  if ((await knock(`${clusterPath(short.path)}/${SOCKET_NAME}`)) === undefined) {
    short.close();
    return undefined;
  }
  return { connection: connector(short.path), close: () => short.close() };
}

async function startHeld(options: EmbeddedOptions, npmPackage: string, hold: Hold): Promise<EmbeddedServer> {
  const { directory, log, walArchive, recoveryLimitMs } = options;
  const cluster = clusterPath(directory);
  const logFile = `${cluster}.log`;
  const exists = await hasCluster(directory);
  const user = await chooseServerUser(directory, exists);
  const binaries = await prepareBinaries(npmPackage, user);
  if (walArchive !== undefined) await prepareArchive(walArchive, user);
  const settings = { ...(walArchive === undefined ? {} : archiving(walArchive)), ...options.settings };
  await removeDrafts(directory);
  if (exists) {
    await checkVersion(directory, binaries);
    await endPredecessor(cluster, clusterPath(hold.short), log);
  } else {
    log(`making a new PostgreSQL ${binaries.major} database in ${cluster}`);
    await makeCluster(directory, binaries, user, { durable: settings.fsync !== "off" });
  }
  await shorten(logFile);
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
  return serve(options, await launch(), launch, connection, hold);
}

/** The server of a service that was killed. Money must not move behind the back of the one that starts now. */
async function endPredecessor(cluster: string, shortCluster: string, log: (line: string) => void): Promise<void> {
  if ((await endServer(cluster)) > 0) log("ended the PostgreSQL that an earlier service had left running");
  if ((await knock(`${shortCluster}/${SOCKET_NAME}`)) === undefined) return;
  throw new EmbeddedError(
    `a PostgreSQL that cannot be seen from here, perhaps in another container, is running in ${cluster}: stop it first`,
  );
}

const LONGEST_PAUSE_MS = 5_000;

type Connector = EmbeddedServer["connection"];

function connector(short: string): Connector {
  const host = clusterPath(short);
  return (database, user) => ({ host, port: PORT, database, user });
}

/**
 * Watches over the server until it is asked to stop. When it ends unasked, whatever it has left is ended as well and it
 * is started again, with growing pauses while that fails: meanwhile the service answers that its database is away.
 */
function serve(
  { directory, log }: EmbeddedOptions,
  first: RunningServer,
  launch: () => Promise<RunningServer>,
  connection: Connector,
  hold: Hold,
): EmbeddedServer {
  const cluster = clusterPath(directory);
  const logFile = `${cluster}.log`;
  const endBounding = keepBounded(logFile);
  let running = first;
  let stopping = false;
  let reviving: Promise<void> = Promise.resolve();

  const revive = async (): Promise<void> => {
    const tail = await readTail(logFile, 0).catch(() => "nothing that can be read");
    log(`PostgreSQL has ended unasked and is started again; its log ends with: ${tail}`);
    for (let pauseMs = 100; !stopping; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        await endServer(cluster);
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
    await endServer(cluster);
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
