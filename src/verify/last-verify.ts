/** The result of the last `parbook verify`, in a file of the data directory, for the service's metrics. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Instant } from "../std/clock.ts";
import { writeAtomically } from "../std/write-atomically.ts";

export interface LastVerify {
  readonly finishedAt: Instant;
  readonly sound: boolean;
}

const fileIn = (dataDir: string): string => join(dataDir, "last-verify.json");

/**
 * Ignores a missing or unwritable directory: a failed write must not hide the result. An alert watches the file's age.
 */
export async function recordVerify(dataDir: string, last: LastVerify): Promise<void> {
  const note = { finished_at: last.finishedAt, sound: last.sound };
  await writeAtomically(fileIn(dataDir), `${JSON.stringify(note)}\n`).catch(() => undefined);
}

/** @returns undefined if it never ran with this data directory */
export async function readLastVerify(dataDir: string): Promise<LastVerify | undefined> {
  try {
    const { finished_at, sound } = JSON.parse(await readFile(fileIn(dataDir), "utf8"));
    return typeof finished_at === "number" ? { finishedAt: finished_at as Instant, sound: sound === true } : undefined;
  } catch {
    return undefined;
  }
}
