/**
 * The directory that holds the data: makes it, or looks at what is there before a server touches it. It gets its name
 * only when it is complete, so whatever bears the name is either a database or not ours, and then it is left alone.
 */
import { randomBytes } from "node:crypto";
import { chown, lstat, mkdir, readdir, rename, rm, rmdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { syncDirectory } from "./copy-file.ts";
import { readIn } from "./inside.ts";
import { lastLines, nameFromInside, runProgram, type ServerUser } from "./program.ts";
import { EmbeddedError, OWN_DATABASE } from "./refusal.ts";

/** The user of the database that may do everything. Who can reach the socket can be anybody, see `embedded.ts`. */
export const SUPERUSER = "postgres";

/** PostgreSQL refuses to run as root. This is `nobody` wherever it has a name, and needs none. */
const UNPRIVILEGED = { uid: 65534, gid: 65534 };

/** A fresh database takes 40 MB, its first WAL segments 16 MB each. */
const BYTES_FOR_A_START = 150_000_000;

export function clusterPath(directory: string): string {
  return join(directory, "postgres");
}

/** Makes the data directory, open to its owner alone, and proves that something can be written there. */
export async function makeDataDirectory(directory: string): Promise<void> {
  const probe = join(directory, `probe.${randomBytes(4).toString("hex")}`);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await mkdir(probe);
    await rm(probe, { recursive: true });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const advice = FULL.includes(code) ? "make room" : "give this user the right to";
    throw new EmbeddedError(
      `the data directory ${directory} cannot be written (${code}): ${advice}, or set PARBOOK_DATA_DIR to another one`,
    );
  }
}

/** The disk has no room, or this user none on it. */
const FULL = ["ENOSPC", "EDQUOT"];

/** Whether there is a cluster. What bears its name but is none is refused: it may be somebody's only copy. */
export async function hasCluster(directory: string): Promise<boolean> {
  const cluster = clusterPath(directory);
  let names: string[];
  try {
    names = await readdir(cluster);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return false;
    if (code === "EACCES")
      throw new EmbeddedError(`${cluster} belongs to another user: start as that user, or as root`);
    throw new EmbeddedError(`${cluster} is not a directory that can be read (${code}): move it away`);
  }
  if (names.length === 0) return false;
  if (names.includes("PG_VERSION") && names.includes("global")) return true;
  throw new EmbeddedError(
    `${cluster} is not empty and holds no PostgreSQL database: move it away, or set PARBOOK_DATA_DIR to another directory`,
  );
}

/** Who the server runs as: ourselves, unless we are root. What is there already stays its owner's. */
export async function chooseServerUser(directory: string, exists: boolean): Promise<ServerUser> {
  const self = process.getuid?.();
  if (!exists) return self === 0 ? UNPRIVILEGED : undefined;
  const cluster = clusterPath(directory);
  const { uid, gid } = await stat(cluster);
  if (uid === self && self !== 0) return undefined;
  if (self !== 0) throw new EmbeddedError(`${cluster} belongs to user ${uid}: start as that user, or as root`);
  if (uid !== 0) return { uid, gid };
  throw new EmbeddedError(
    `${cluster} belongs to root, as whom PostgreSQL refuses to run: chown -R ${UNPRIVILEGED.uid}:${UNPRIVILEGED.gid} ${cluster}`,
  );
}

const VERSION_BYTES = 100;

/** A server reads the data of its own major version only. */
export async function checkVersion(directory: string, binaries: Binaries): Promise<void> {
  const cluster = clusterPath(directory);
  const found = (await readIn(cluster, "PG_VERSION", VERSION_BYTES))?.toString("latin1").trim();
  if (found === String(binaries.major)) return;
  throw new EmbeddedError(
    `${cluster} was made by PostgreSQL ${found}, and this is PostgreSQL ${binaries.major}: dump it with a PostgreSQL ${found} and pg_dump, restore into a new data directory, or ${OWN_DATABASE}`,
  );
}

/** What attempts that were killed have left. Nobody else makes one: the caller holds the lock on the directory. */
export async function removeDrafts(directory: string): Promise<void> {
  const drafts = (await readdir(directory)).filter((name) => name.startsWith(DRAFT_PREFIX));
  for (const draft of drafts) await removeCluster(join(directory, draft));
}

/**
 * Removes a cluster, or what is there of one. One of another user is emptied by this user: as root we could be led out of
 * it by another process of his, which exchanges a directory for a link while it is walked through.
 */
export async function removeCluster(cluster: string): Promise<void> {
  const found = await lstat(cluster).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return;
  const { uid, gid } = found;
  if (uid === process.getuid?.() || !found.isDirectory()) {
    await rm(cluster, { recursive: true, force: true, maxRetries: 5 });
    return;
  }
  const empty = ["-c", "find . ! -name . -prune -exec rm -rf -- {} +"];
  const { succeeded, output } = await runProgram("/bin/sh", empty, { directory: cluster, user: { uid, gid } });
  if (!succeeded) throw new EmbeddedError(`${cluster} cannot be removed: ${lastLines(output, 2)}`);
  await rmdir(cluster);
}

const DRAFT_PREFIX = "postgres.new-";

/** `durable: false` skips the wait for the disk, which is for data that nobody will miss. */
export async function makeCluster(
  directory: string,
  binaries: Binaries,
  user: ServerUser,
  { durable }: { readonly durable: boolean },
): Promise<void> {
  await checkRoom(directory);
  const draft = join(directory, DRAFT_PREFIX + randomBytes(6).toString("hex"));
  await mkdir(draft, { mode: 0o700 });
  try {
    if (user !== undefined) await chown(draft, user.uid, user.gid);
    const { succeeded, output } = await runProgram(binaries.initdb, initdbParameters(draft, user, durable), {
      directory: draft,
      user,
    });
    if (!succeeded)
      throw new EmbeddedError(
        `no database can be made in ${directory} (${lastLines(output, 3)}): mend that, or ${OWN_DATABASE}`,
      );
    await giveName(draft, clusterPath(directory));
    if (durable) await syncDirectory(directory);
  } catch (error) {
    await removeCluster(draft);
    throw error;
  }
}

/** Full disks fail in many ways; this one says so. A disk that fills up meanwhile is told in initdb's words. */
async function checkRoom(directory: string): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const free = bavail * bsize;
  if (free >= BYTES_FOR_A_START) return;
  const [has, wants] = [free, BYTES_FOR_A_START].map((bytes) => `${Math.floor(bytes / 1_000_000)} MB`);
  throw new EmbeddedError(
    `the disk of ${directory} is full: ${has} are free, a new database needs ${wants}. Make room, or set PARBOOK_DATA_DIR to another disk`,
  );
}

/** One locale everywhere, PostgreSQL's own: an order of text that no system library can change under an index. */
function initdbParameters(draft: string, user: ServerUser, durable: boolean): string[] {
  return [
    ...["-D", nameFromInside(draft, user)],
    `--username=${SUPERUSER}`,
    ...["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
    ...["--auth-local=trust", "--auth-host=reject"],
    ...["--data-checksums", "--no-instructions"],
    ...(durable ? [] : ["--no-sync"]),
  ];
}

async function giveName(draft: string, cluster: string): Promise<void> {
  try {
    await rename(draft, cluster);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new EmbeddedError(
      `the new database cannot be moved to ${cluster} (${code}): if that is a mount, mount its parent and not the directory itself`,
    );
  }
}
