/**
 * Short names for directories with sockets: a Unix socket address holds about 100 bytes, and data directory paths can be
 * longer.
 */
import { closeSync, openSync } from "node:fs";
import { EmbeddedError } from "./embedded-error.ts";

export interface ShortPath {
  readonly path: string;
  close(): void;
}

/** sun_path has 104 bytes on macOS and 108 on Linux, including the terminating zero. */
const ADDRESS_LIMIT = 103;
/** The longest socket name below the directory. */
const LONGEST_NAME = "/postgres/.s.PGSQL.5432".length;

/**
 * The directory itself if short enough; otherwise, on Linux, /proc/<pid>/fd/<n>. Unlike a link in a temporary directory, it
 * cannot be cleaned away and leaves nothing behind. Valid for all processes of this user while this process lives.
 *
 * @throws EmbeddedError
 */
export function shortPath(directory: string): ShortPath {
  if (Buffer.byteLength(directory) + LONGEST_NAME <= ADDRESS_LIMIT) return { path: directory, close: () => {} };
  if (process.platform !== "linux") {
    throw new EmbeddedError(
      `the path of the data directory ${directory} is too long for sockets: set PARBOOK_DATA_DIR to a path of at most ${ADDRESS_LIMIT - LONGEST_NAME} bytes`,
    );
  }
  const descriptor = openSync(directory, "r");
  return { path: `/proc/${process.pid}/fd/${descriptor}`, close: () => closeSync(descriptor) };
}
