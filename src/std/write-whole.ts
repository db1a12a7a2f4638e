import { open, rename, rm } from "node:fs/promises";
import { naming } from "./file-error.ts";

/**
 * Writes a file whole or not at all: who reads it, after a power cut too, finds what was there before or all of `text`.
 * `mode` holds whatever the umask is; a file that is to be read by its owner alone never was readable by others.
 */
export function writeWhole(path: string, text: string, mode?: number): Promise<void> {
  return naming(path, () => write(path, text, mode));
}

async function write(path: string, text: string, mode: number | undefined): Promise<void> {
  const draft = `${path}.${process.pid}`;
  try {
    await rm(draft, { force: true });
    // A new file: a link of this name would lead to another one.
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
