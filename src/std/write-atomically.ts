import { open, rename, rm } from "node:fs/promises";
import { withPath } from "./file-error.ts";

/**
 * Writes a file atomically: readers, also after a power failure, find the old content or all of `text`.
 * @param mode independent of the umask, and in effect from the creation of the file
 */
export function writeAtomically(path: string, text: string, mode?: number): Promise<void> {
  return withPath(path, () => write(path, text, mode));
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
