/**
 * The server's log. A file, because the server may outlive this process and would hang or die on an unread pipe. This process
 * rotates it.
 */
import { closeSync, constants, createWriteStream, openSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { withPath } from "../../std/file-error.ts";
import { EmbeddedError } from "./embedded-error.ts";
import { lastLines } from "./program.ts";

const SIZE_LIMIT = 16 * 1024 * 1024;
const CHECK_EVERY_MS = 60_000;
const { O_WRONLY, O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
const TAIL_BYTES = 8_192;

/** Calls `use` with a descriptor in append mode, so that truncating the file is safe. */
export function writingTo<Result>(path: string, use: (descriptor: number) => Result): Result {
  const descriptor = openLog(path);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Follows no link: the server's user could otherwise point root to any file. */
function openLog(path: string): number {
  try {
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ELOOP") throw error;
    throw new EmbeddedError(`the log ${path} is a symbolic link: remove it`);
  }
}

/** Rotates the log periodically. @returns A function that stops it. */
export function startRotation(path: string, sizeLimit = SIZE_LIMIT, everyMs = CHECK_EVERY_MS): () => void {
  const timer = setInterval(() => {
    // A failed rotation must not stop the service; the next round retries.
    rotate(path, sizeLimit).catch(() => {});
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

export async function rotate(path: string, sizeLimit = SIZE_LIMIT): Promise<void> {
  if ((await sizeOf(path)) <= sizeLimit) return;
  const log = await open(path, O_RDWR | O_NOFOLLOW);
  try {
    // Never write through a planted link.
    await rm(`${path}.1`, { force: true });
    await withPath(`${path}.1`, () =>
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

/** @param from Offset in bytes. @returns The last lines after `from`, as one line. */
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
