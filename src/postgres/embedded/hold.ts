/** The hold on a data directory: nobody else uses it until it is released. */
import { naming } from "../../std/file-error.ts";
import { takeDataLock } from "./data-lock.ts";
import { EmbeddedError } from "./refusal.ts";
import { shortPath } from "./short-path.ts";

export interface Hold {
  /** The directory by a name that fits into a socket's address. */
  readonly short: string;
  release(): void;
}

export async function takeHold(directory: string): Promise<Hold> {
  const short = shortPath(directory);
  try {
    const lock = await naming(directory, () => takeDataLock(short.path));
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
