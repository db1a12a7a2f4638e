/** Durable file copies: synced to disk and hashed. */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { withPath } from "../../std/file-error.ts";

export interface Copied {
  readonly size: number;
  readonly sha256: string;
}

/** Receives how far a copy of many files is. A listener that throws ends it. */
export interface CopyListener {
  /** About so many bytes will be copied. */
  begins(bytes: number): void;
  copied(bytes: number): void;
}

const PIECE = 1024 * 1024;

/**
 * Copies a file with mode 0600.
 *
 * @param from A path, or a function that opens the file safely.
 * @param onCopied Called with the size of each piece; may throw to end the copy.
 * @returns Undefined if there is no such file.
 */
export async function copyFileDurably(
  from: string | (() => Promise<FileHandle | undefined>),
  to: string,
  onCopied?: (bytes: number) => void,
): Promise<Copied | undefined> {
  const source = await (typeof from === "string" ? openIfThere(from) : from());
  if (source === undefined) return undefined;
  try {
    const copy = await open(to, "wx", 0o600);
    try {
      return await copyContent(source, copy, to, onCopied);
    } finally {
      await copy.close();
    }
  } finally {
    await source.close();
  }
}

export async function writeFileDurably(path: string, content: string | Buffer): Promise<Copied> {
  const file = await open(path, "wx", 0o600);
  try {
    await withPath(path, async () => {
      await file.writeFile(content);
      await file.sync();
    });
  } finally {
    await file.close();
  }
  return { size: Buffer.byteLength(content), sha256: createHash("sha256").update(content).digest("hex") };
}

/** Copying is mostly waiting for fsync. */
const CONCURRENCY = 8;

/** Runs `work` for every item, several at a time. After a failure nothing is started, and nothing still runs on return. */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (failed) return;
      await work(item).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: CONCURRENCY }, worker));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

/** Makes new names in a directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  await withPath(directory, () => handle.sync()).finally(() => handle.close());
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function copyContent(
  source: FileHandle,
  copy: FileHandle,
  to: string,
  onCopied: ((bytes: number) => void) | undefined,
): Promise<Copied> {
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(PIECE);
  let size = 0;
  for (;;) {
    const { bytesRead } = await source.read(piece, 0, PIECE, size);
    if (bytesRead === 0) break;
    const read = piece.subarray(0, bytesRead);
    hash.update(read);
    await withPath(to, () => copy.writeFile(read));
    size += bytesRead;
    onCopied?.(bytesRead);
  }
  await withPath(to, () => copy.sync());
  return { size, sha256: hash.digest("hex") };
}
