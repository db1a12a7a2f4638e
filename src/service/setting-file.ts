/** Files that a setting names. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { StartupError } from "./core.ts";

/** Many times what a chain of certificates takes. */
const MOST_BYTES = 1_048_576;

/** What a setting names cannot be used. Trying again changes nothing: it is a wrong setting, and ends as one. */
export class SettingFileError extends StartupError {}

/** @throws SettingFileError when it is no readable file of a bounded size */
export async function readSettingFile(name: string, path: string): Promise<Buffer> {
  try {
    // A pipe would otherwise be waited for.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw new SettingFileError(`${name} ${path} is not a regular file`);
      if (stat.size > MOST_BYTES) throw new SettingFileError(`${name} ${path} is longer than ${MOST_BYTES} bytes`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof SettingFileError) throw error;
    throw new SettingFileError(`${name} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
