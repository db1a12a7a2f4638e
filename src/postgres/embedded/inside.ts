/**
 * Reads files of the cluster. As root we may read everything, and the cluster belongs to a user whose other processes can
 * put anything there at any moment: a link to a file of root's, a pipe that nobody writes to. So no link is followed,
 * neither at the end of the path nor on the way, nothing waits for a pipe, and the kind and the owner are those of the
 * file that is open. As root we write nothing in the cluster: the server's user does that itself.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedError } from "./refusal.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
const FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const DIRECTORY = FILE | O_DIRECTORY;
const OTHERS_READ = 0o004;

/** Opens the file that `path` names below `root`; undefined when it is not there, or not any more. */
export async function openIn(root: string, path: string): Promise<FileHandle | undefined> {
  const name = join(root, path);
  const top = await open(root, O_RDONLY | O_DIRECTORY);
  let file: FileHandle | undefined;
  try {
    const { uid } = await top.stat();
    file = await descend(top, root, path.split("/"), FILE);
    await refuseForeign(file, name, uid);
    return file;
  } catch (error) {
    await file?.close();
    return absentOr(error, name);
  } finally {
    await top.close();
  }
}

/** The whole content; undefined when the file is not there. */
export async function readIn(root: string, path: string, limit: number): Promise<Buffer | undefined> {
  const file = await openIn(root, path);
  if (file === undefined) return undefined;
  try {
    const buffer = Buffer.alloc(limit + 1);
    let length = 0;
    for (let more = 1; more > 0 && length <= limit; length += more) {
      more = (await file.read(buffer, length, buffer.length - length, length)).bytesRead;
    }
    if (length > limit) throw new EmbeddedError(`${join(root, path)} is longer than ${limit} bytes`);
    return buffer.subarray(0, length);
  } finally {
    await file.close();
  }
}

/** Calls back with a name of the directory that `path` names below `root`: it is this directory until that has ended. */
export async function withDirectoryIn<Result>(
  root: string,
  path: string,
  use: (name: string) => Promise<Result>,
): Promise<Result> {
  const top = await open(root, O_RDONLY | O_DIRECTORY);
  try {
    if (path === "") return await use(nameOf(top, root));
    const directory = await descend(top, root, path.split("/"), DIRECTORY).catch((error) =>
      refuseLink(error, join(root, path)),
    );
    return await use(nameOf(directory, join(root, path))).finally(() => directory.close());
  } finally {
    await top.close();
  }
}

/** Step by step, each from the directory that is open: what a path leads to could change while it is followed. */
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

/** The way through an open directory (`openat`). The other systems that we run on lack it: there the path has to do. */
function nameOf(directory: FileHandle, path: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${directory.fd}` : path;
}

/** A hard link is no link to follow: it shows in the owner. The server's user could read these two kinds of files itself. */
async function refuseForeign(file: FileHandle, name: string, owner: number): Promise<void> {
  const found = await file.stat();
  if (!found.isFile()) throw new EmbeddedError(`${name} is no file: remove it`);
  const mayRead = found.uid === owner || (found.mode & OTHERS_READ) !== 0;
  if (mayRead || process.getuid?.() !== 0) return;
  throw new EmbeddedError(`${name} does not belong to user ${owner}, as whom PostgreSQL runs: chown it`);
}

function absentOr(error: unknown, name: string): undefined {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
  return refuseLink(error, name);
}

function refuseLink(error: unknown, name: string): never {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ELOOP" && code !== "ENOTDIR") throw error;
  throw new EmbeddedError(`${name} is a symbolic link, or lies behind one: move it back`);
}
