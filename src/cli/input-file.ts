/** Files that an operator names on the command line. */
import { createReadStream } from "node:fs";
import { withPath } from "../std/file-error.ts";
import { CommandRejected } from "./command.ts";

/** Many times what a key, a secret, a checkpoint or the access to a receiver takes. */
const SHORT_BYTES = 1_048_576;

/**
 * Also reads a pipe, as of `--secret-file <(...)`, and stops behind the bound: a device may have no end.
 *
 * @throws CommandRejected if there is more than `mostBytes`
 */
export async function readInputFile(path: string, mostBytes = SHORT_BYTES): Promise<Buffer> {
  // `end` is the last byte that is read: one more than there may be.
  const stream = createReadStream(path, { end: mostBytes });
  const bytes = Buffer.concat(await withPath(path, () => stream.toArray()));
  if (bytes.length > mostBytes) throw new CommandRejected(`${path} is longer than ${mostBytes} bytes`);
  return bytes;
}
