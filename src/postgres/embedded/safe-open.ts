/**
 * Reads files of the cluster safely as root. The cluster's user can plant anything there at any time, such as links to
 * root's files or pipes. So no link is followed in any path component, opening never blocks, and type and owner are checked
 * on the open file. Root never writes in the cluster: the server's user does.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedError } from "./embedded-error.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
const FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const DIRECTORY = FILE | O_DIRECTORY;
const OTHERS_READ = 0o004;

/**
 * @param cluster Its owner is the user that PostgreSQL runs as.
 * @param path Relative to it.
 * @returns Undefined if there is no such file.
 * @throws EmbeddedError
 */
export async function openIn(cluster: string, path: string): Promise<FileHandle | undefined> {
  const name = join(cluster, path);
  const top = await open(cluster, O_RDONLY | O_DIRECTORY);
  let file: FileHandle | undefined;
  try {
    const { uid } = await top.stat();
    file = await descend(top, cluster, path.split("/"), FILE);
    await rejectForeign(file, name, uid);
    return file;
  } catch (error) {
    await file?.close();
    return absentOr(error, name);
  } finally {
    await top.close();
  }
}

/** @param limit Maximum size in bytes. @returns The content; undefined if there is no such file. */
export async function readIn(cluster: string, path: string, limit: number): Promise<Buffer | undefined> {
  return readWhole(await openIn(cluster, path), join(cluster, path), limit);
}

/**
 * Opens a file of a directory that may belong to anybody, such as an archive or a backup, and may be a link to one of root's:
 * nothing of it may be shown to the server's user. @returns Undefined if there is no such file.
 */
export async function openAnybodys(path: string): Promise<FileHandle | undefined> {
  const file = await open(path, FILE).catch((error) => absentOr(error, path));
  if (file === undefined || (await file.stat()).isFile()) return file;
  await file.close();
  throw noFile(path);
}

/** The same as `readIn`, of such a directory. */
export async function readAnybodys(path: string, limit: number): Promise<Buffer | undefined> {
  return readWhole(await openAnybodys(path), path, limit);
}

async function readWhole(file: FileHandle | undefined, path: string, limit: number): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  try {
    const buffer = Buffer.alloc(limit + 1);
    let length = 0;
    for (let more = 1; more > 0 && length <= limit; length += more) {
      more = (await file.read(buffer, length, buffer.length - length, length)).bytesRead;
    }
    if (length > limit) throw new EmbeddedError(`${path} is longer than ${limit} bytes`);
    return buffer.subarray(0, length);
  } finally {
    await file.close();
  }
}

/** Calls `use` with a path that stays bound to this directory, even if it is renamed or replaced during the call. */
export async function withDirectoryIn<Result>(
  root: string,
  path: string,
  use: (name: string) => Promise<Result>,
): Promise<Result> {
  const top = await open(root, O_RDONLY | O_DIRECTORY);
  try {
    if (path === "") return await use(nameOf(top, root));
    const directory = await descend(top, root, path.split("/"), DIRECTORY).catch((error) =>
      rejectLink(error, join(root, path)),
    );
    return await use(nameOf(directory, join(root, path))).finally(() => directory.close());
  } finally {
    await top.close();
  }
}

/** Opens one component at a time, each relative to an open directory, so that no component can be swapped. */
async function descend(
  top: FileHandle,
  root: string,
  [name = "", ...rest]: readonly string[],
  flags: number,
): Promise<FileHandle> {
  const at = join(nameOf(top, root), name);
  if (rest.length === 0) return open(at, flags);
  const below = await open(at, DIRECTORY);
  try {
    return await descend(below, join(root, name), rest, flags);
  } finally {
    await below.close();
  }
}

/** Emulates `openat`. Only Linux has it; elsewhere the path is used. */
function nameOf(directory: FileHandle, path: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${directory.fd}` : path;
}

/** Hard links are detected by their owner. Files that the server's user can read itself are allowed. */
async function rejectForeign(file: FileHandle, name: string, owner: number): Promise<void> {
  const found = await file.stat();
  if (!found.isFile()) throw noFile(name);
  const mayRead = found.uid === owner || (found.mode & OTHERS_READ) !== 0;
  if (mayRead || process.getuid?.() !== 0) return;
  throw new EmbeddedError(`${name} does not belong to user ${owner}, which PostgreSQL runs as: chown it`);
}

const noFile = (path: string): EmbeddedError => new EmbeddedError(`${path} is not a file: remove it`);

function absentOr(error: unknown, name: string): undefined {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
  return rejectLink(error, name);
}

function rejectLink(error: unknown, name: string): never {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ELOOP" && code !== "ENOTDIR") throw error;
  throw new EmbeddedError(`${name} is, or is reached through, a symbolic link: move it back`);
}
