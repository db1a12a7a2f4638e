/**
 * What the server says goes to a file: it may outlive us, and would hang or die with a pipe that nobody reads.
 * The file is bounded by us, while we live; afterwards nobody asks the server anything that it could complain about.
 */
import { closeSync, constants, createWriteStream, openSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { naming } from "../../std/file-error.ts";
import { lastLines } from "./program.ts";
import { EmbeddedError } from "./refusal.ts";

const SIZE_LIMIT = 16 * 1024 * 1024;
const CHECK_EVERY_MS = 60_000;
const { O_WRONLY, O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
const TAIL_BYTES = 8_192;

/** Calls back with a descriptor that the server may write to; it is appended to, so that emptying it is safe. */
export function writingTo<Result>(path: string, use: (descriptor: number) => Result): Result {
  const descriptor = openLog(path);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Not through a link: as root we could be led to a file that the server's user must not write. */
function openLog(path: string): number {
  try {
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ELOOP") throw error;
    throw new EmbeddedError(`the log ${path} is a symbolic link: remove it`);
  }
}

/** Moves what is too much to `<path>.1`, now and again. Returns what ends it. */
export function keepBounded(path: string, sizeLimit = SIZE_LIMIT, everyMs = CHECK_EVERY_MS): () => void {
  const timer = setInterval(() => {
    // A log that cannot be shortened is no reason to stop serving; the next round tries again.
    shorten(path, sizeLimit).catch(() => {});
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

export async function shorten(path: string, sizeLimit = SIZE_LIMIT): Promise<void> {
  if ((await sizeOf(path)) <= sizeLimit) return;
  const log = await open(path, O_RDWR | O_NOFOLLOW);
  try {
    // A new file, not what a link of this name leads to.
    await rm(`${path}.1`, { force: true });
    await naming(`${path}.1`, () =>
      pipeline(
        log.createReadStream({ autoClose: false }),
        createWriteStream(`${path}.1`, { flags: "wx", mode: 0o600 }),
      ),
    );
    await log.truncate();
  } finally {
    await log.close();
  }
}

export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}

/** The last lines that were written after `from`, in one. */
export async function readTail(path: string, from: number): Promise<string> {
  const start = Math.max(from, (await sizeOf(path)) - TAIL_BYTES);
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, start);
    return lastLines(buffer.toString("utf8", 0, bytesRead), 4);
  } finally {
    await handle.close();
  }
}
