import { chmod, rename, rm, writeFile } from "node:fs/promises";

/**
 * Writes a file whole or not at all: who reads it, after a power cut too, finds what was there before or all of `text`.
 * `mode` holds whatever the umask is; a file that is to be read by its owner alone never was readable by others.
 */
export async function writeWhole(path: string, text: string, mode?: number): Promise<void> {
  const draft = `${path}.${process.pid}`;
  try {
    await writeFile(draft, text, { flush: true, ...(mode !== undefined && { mode }) });
    if (mode !== undefined) await chmod(draft, mode);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}
