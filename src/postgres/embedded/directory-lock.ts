/** Exclusive use of a data directory. */
import { withPath } from "../../std/file-error.ts";
import { makeDataDirectory } from "./cluster.ts";
import { EmbeddedError } from "./embedded-error.ts";
import { shortPath } from "./short-path.ts";
import { takeSocketLock } from "./socket-lock.ts";

export interface DirectoryLock {
  /** The directory under a name short enough for socket addresses. */
  readonly short: string;
  release(): void;
}

/** Creates the directory if it is missing. @throws EmbeddedError when it cannot be written or another process has it. */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  await makeDataDirectory(directory);
  const short = shortPath(directory);
  try {
    const lock = await withPath(directory, () => takeSocketLock(short.path));
    if ("release" in lock) {
      const release = () => {
        lock.release();
        short.close();
      };
      return { short: short.path, release };
    }
    throw new EmbeddedError(
      `another service (process ${lock.heldBy}) is running on the data directory ${directory}: stop it, or set PARBOOK_DATA_DIR to another one`,
    );
  } catch (error) {
    short.close();
    throw error;
  }
}
