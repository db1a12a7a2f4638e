/** Exclusive use of a data directory. */
import { withPath } from "../../std/file-error.ts";
import { makeDataDirectory } from "./cluster.ts";
import { EmbeddedError } from "./embedded-error.ts";
import { shortPath } from "./short-path.ts";
import { type Holder, type Purpose, takeSocketLock } from "./socket-lock.ts";

export interface DirectoryLock {
  /** The directory under a name short enough for socket addresses. */
  readonly short: string;
  release(): void;
}

/** Another process has the directory. */
export class DirectoryHeld extends EmbeddedError {
  override readonly name = "DirectoryHeld";
  readonly by: Purpose;

  constructor(directory: string, { heldBy, purpose }: Holder) {
    super(
      purpose === "command"
        ? `another command of Parbook (process ${heldBy}) is using the data directory ${directory}: wait until it has ended`
        : `another service (process ${heldBy}) is running on the data directory ${directory}: stop it, or set PARBOOK_DATA_DIR to another one`,
    );
    this.by = purpose;
  }
}

/** Creates the directory if it is missing. @throws EmbeddedError when it cannot be written. @throws DirectoryHeld */
export async function lockDirectory(directory: string, purpose: Purpose): Promise<DirectoryLock> {
  await makeDataDirectory(directory);
  const short = shortPath(directory);
  try {
    const lock = await withPath(directory, () => takeSocketLock(short.path, purpose));
    if (!("release" in lock)) throw new DirectoryHeld(directory, lock);
    const release = () => {
      lock.release();
      short.close();
    };
    return { short: short.path, release };
  } catch (error) {
    short.close();
    throw error;
  }
}
