/** The result of the last `parbook verify`, in a file of the data directory, for the service's metrics. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Instant } from "../std/clock.ts";
import { writeAtomically } from "../std/write-atomically.ts";

export interface LastVerify {
  readonly finishedAt: Instant;
  readonly sound: boolean;
  /** When the checkpoint was made that it was compared with; undefined if it was compared with none. */
  readonly checkpointAt?: Instant | undefined;
}

const fileIn = (dataDir: string): string => join(dataDir, "last-verify.json");

/**
 * Ignores a missing or unwritable directory: a failed write must not hide the result. An alert watches the file's age.
 */
export async function recordVerify(dataDir: string, last: LastVerify): Promise<void> {
  const note = { finished_at: last.finishedAt, sound: last.sound, checkpoint_at: last.checkpointAt };
  await writeAtomically(fileIn(dataDir), `${JSON.stringify(note)}\n`).catch(() => undefined);
}

/** @returns undefined if it never ran with this data directory */
export async function readLastVerify(dataDir: string): Promise<LastVerify | undefined> {
  try {
    const { finished_at, sound, checkpoint_at } = JSON.parse(await readFile(fileIn(dataDir), "utf8"));
    if (typeof finished_at !== "number") return undefined;
    const checkpointAt = typeof checkpoint_at === "number" ? (checkpoint_at as Instant) : undefined;
    return { finishedAt: finished_at as Instant, sound: sound === true, checkpointAt };
  } catch {
    return undefined;
  }
}
