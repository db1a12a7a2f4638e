/** Files that a setting names. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { readJson } from "../api/requests/body-reader.ts";
import { StartupError } from "./startup-error.ts";

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

/**
 * What a setting's file has. No member may be there twice: only one of them would count.
 *
 * @param what for the operator, such as `the dialect /etc/parbook/dialect.json`
 * @throws SettingFileError when it is not JSON
 */
export function jsonOf(what: string, bytes: Buffer, maxValues?: number): unknown {
  try {
    return readJson(bytes, maxValues);
  } catch (error) {
    throw new SettingFileError(`${what} cannot be read: ${(error as Error).message.replace("the body", "it")}`);
  }
}
