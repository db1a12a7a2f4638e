/**
 * Names a directory so shortly that the sockets in it can be reached: the address of a unix socket holds about
 * a hundred bytes, and a data directory may lie deeper than that.
 */
import { closeSync, openSync } from "node:fs";
import { EmbeddedError } from "./refusal.ts";

export interface ShortPath {
  readonly path: string;
  close(): void;
}

/** sun_path has 104 bytes on macOS and 108 on Linux, with the zero at its end. */
const ADDRESS_LIMIT = 103;
/** The longest name below the directory: a server's socket with its process's lock beside it. */
const LONGEST_NAME = "/postgres/.s.PGSQL.5432".length;

/**
 * The directory itself when that is short enough. Otherwise, on Linux, the way through an open file of this process:
 * unlike a link in a temporary directory nothing can sweep it away, and nothing is left when the process dies.
 * It serves every process of the same user as long as we live.
 */
export function shortPath(directory: string): ShortPath {
  if (Buffer.byteLength(directory) + LONGEST_NAME <= ADDRESS_LIMIT) return { path: directory, close: () => {} };
  if (process.platform !== "linux") {
    throw new EmbeddedError(
      `the data directory ${directory} has too long a name for the sockets in it: set PARBOOK_DATA_DIR to a path of at most ${ADDRESS_LIMIT - LONGEST_NAME} bytes`,
    );
  }
  const descriptor = openSync(directory, "r");
  return { path: `/proc/${process.pid}/fd/${descriptor}`, close: () => closeSync(descriptor) };
}
