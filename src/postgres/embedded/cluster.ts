/**
 * The cluster directory. It gets its final name only when complete, so a directory of that name is either a database or not
 * ours, and in that case is left alone.
 */
import { randomBytes } from "node:crypto";
import { chown, lstat, mkdir, readdir, rename, rm, rmdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { syncDirectory } from "./copy-file.ts";
import { EmbeddedError, OWN_DATABASE } from "./embedded-error.ts";
import { lastLines, nameFromInside, runProgram, type ServerUser } from "./program.ts";
import { readIn } from "./safe-open.ts";

/** The superuser. Access is controlled by the permissions of the socket, see `embedded.ts`. */
export const SUPERUSER = "postgres";

/** PostgreSQL does not run as root. This is usually `nobody`. */
const UNPRIVILEGED = { uid: 65534, gid: 65534 };

/** A fresh database takes 40 MB, its first WAL segments 16 MB each. */
const BYTES_FOR_A_START = 150_000_000;

export function clusterPath(directory: string): string {
  return join(directory, "postgres");
}

/** Creates the data directory with mode 0700 and checks that it is writable. @throws EmbeddedError */
export async function makeDataDirectory(directory: string): Promise<void> {
  const probe = join(directory, `probe.${randomBytes(4).toString("hex")}`);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await mkdir(probe);
    await rm(probe, { recursive: true });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const advice = FULL.includes(code) ? "free some space" : "give this user write access";
    throw new EmbeddedError(
      `the data directory ${directory} cannot be written (${code}): ${advice}, or set PARBOOK_DATA_DIR to another one`,
    );
  }
}

/** Disk or quota full. */
const FULL = ["ENOSPC", "EDQUOT"];

/** Whether there is a cluster. @throws EmbeddedError when the directory holds something else, which may be valuable. */
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

/** The user that the server runs as: our own, unless we are root. An existing cluster keeps its owner. */
export async function chooseServerUser(directory: string, exists: boolean): Promise<ServerUser> {
  const self = process.getuid?.();
  if (!exists) return self === 0 ? UNPRIVILEGED : undefined;
  const cluster = clusterPath(directory);
  const { uid, gid } = await stat(cluster);
  if (uid === self && self !== 0) return undefined;
  if (self !== 0) throw new EmbeddedError(`${cluster} belongs to user ${uid}: start as that user, or as root`);
  if (uid !== 0) return { uid, gid };
  throw new EmbeddedError(
    `${cluster} belongs to root, and PostgreSQL does not run as root: chown -R ${UNPRIVILEGED.uid}:${UNPRIVILEGED.gid} ${cluster}`,
  );
}

const VERSION_BYTES = 100;

export async function checkVersion(directory: string, binaries: Binaries): Promise<void> {
  const cluster = clusterPath(directory);
  const found = (await readIn(cluster, "PG_VERSION", VERSION_BYTES))?.toString("latin1").trim();
  if (found === String(binaries.major)) return;
  throw new EmbeddedError(
    `${cluster} was created by PostgreSQL ${found}, but this is PostgreSQL ${binaries.major}: dump it with pg_dump of PostgreSQL ${found} and restore into a new data directory, or ${OWN_DATABASE}`,
  );
}

/** Removes what killed attempts left. The caller holds the lock on the directory. */
export async function removeDrafts(directory: string): Promise<void> {
  const drafts = (await readdir(directory)).filter((name) => name.startsWith(DRAFT_PREFIX));
  for (const draft of drafts) await removeCluster(join(directory, draft));
}

/**
 * Removes a cluster, complete or not. One of another user is emptied by a process of that user: if root walked through it,
 * that user could swap a directory for a link.
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

/** @param durable False skips fsync, for throw-away data. */
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
        `no database can be created in ${directory} (${lastLines(output, 3)}): fix that, or ${OWN_DATABASE}`,
      );
    await moveIntoPlace(draft, clusterPath(directory));
    if (durable) await syncDirectory(directory);
  } catch (error) {
    await removeCluster(draft);
    throw error;
  }
}

/** Gives a clear error for a full disk, which initdb would not. */
async function checkRoom(directory: string): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const free = bavail * bsize;
  if (free >= BYTES_FOR_A_START) return;
  const [has, wants] = [free, BYTES_FOR_A_START].map((bytes) => `${Math.floor(bytes / 1_000_000)} MB`);
  throw new EmbeddedError(
    `the disk of ${directory} is full: ${has} are free, a new database needs ${wants}. Free some space, or set PARBOOK_DATA_DIR to another disk`,
  );
}

/** The builtin locale: its sort order never changes with a system library, which would corrupt indexes. */
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

async function moveIntoPlace(draft: string, cluster: string): Promise<void> {
  try {
    await rename(draft, cluster);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new EmbeddedError(
      `the new database cannot be moved to ${cluster} (${code}): if that is a mount, mount its parent and not the directory itself`,
    );
  }
}
