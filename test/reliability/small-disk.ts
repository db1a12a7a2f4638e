/**
 * A disk that can be filled up without harm to anybody: a file system in memory, mounted where only the processes see
 * it that are led there. It is held by a process that ends when we do, and takes the file system with it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  /** The way in, for every process of this user. */
  readonly path: string;
  /** Until not one byte more fits on it. */
  fill(): void;
  makeRoom(): void;
  close(): Promise<void>;
}

/** Undefined where the system does not let us mount one. */
export async function smallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  const mountPoint = await mkdtemp(join(tmpdir(), "parbook-small-disk-"));
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const mount = `mount -t tmpfs -o size=${megabytes}m,mode=700 parbook "$0" && echo mounted && exec cat`;
  const keeper = spawn("unshare", ["--mount", ...asRoot, "sh", "-c", mount, mountPoint], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(keeper, "close").catch(() => undefined);
  const isMounted = await Promise.race([once(keeper.stdout, "data").then(() => true), ended.then(() => false)]);
  const close = async (): Promise<void> => {
    keeper.stdin.end();
    await ended;
    await rm(mountPoint, { recursive: true, force: true });
  };
  if (!isMounted) {
    await close();
    return undefined;
  }
  const path = `/proc/${keeper.pid}/root${mountPoint}`;
  const ballast = join(path, "ballast");
  return { path, fill: () => fill(ballast), makeRoom: () => rmSync(ballast, { force: true }), close };
}

export function fill(path: string): void {
  const file = openSync(path, "a");
  try {
    for (let bytes = 1024 * 1024; bytes >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        bytes = Math.floor(bytes / 16);
      }
    }
  } finally {
    closeSync(file);
  }
}
