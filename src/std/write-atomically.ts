import { lstat, open, realpath, rename, rm, stat } from "node:fs/promises";
import { UnfitFile, withPath } from "./file-error.ts";

/**
 * Writes a file atomically: readers, also after a power failure, find the old content or all of `text`. A link stays, and the
 * file that it leads to is written.
 * @param mode independent of the umask, and in effect from the creation of the file
 * @throws UnfitFile
 */
export async function writeAtomically(path: string, text: string, mode?: number): Promise<void> {
  const file = await replaceableFile(path);
  return withPath(file, () => write(file, text, mode));
}

/**
 * The file that takes the place of what is at this path: behind a link, if it is one.
 * @throws UnfitFile if a directory, a device or a pipe is there, which a file would replace; or another user's link: anyone who can
 * write to the folder could use one to choose which file is overwritten
 */
export async function replaceableFile(path: string): Promise<string> {
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (there === undefined) return path;
  const isLink = there.isSymbolicLink();
  if (isLink && ![0, process.geteuid?.()].includes(there.uid)) throw new UnfitFile(path, "it is another user's link");
  const file = isLink ? await realpath(path) : path;
  if (!(await stat(file)).isFile()) throw new UnfitFile(path, "it is not a regular file");
  return file;
}

async function write(path: string, text: string, mode: number | undefined): Promise<void> {
  const draft = `${path}.${process.pid}`;
  try {
    await rm(draft, { force: true });
    // "wx", so that a link of this name is not followed.
    const file = await open(draft, "wx", mode);
    try {
      if (mode !== undefined) await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}
