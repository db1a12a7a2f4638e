/** How the last `parbook verify` ended, in a file of the data directory: for the service, whose metrics tell it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Instant } from "../std/clock.ts";
import { writeWhole } from "../std/write-whole.ts";

export interface LastVerify {
  readonly finishedAt: Instant;
  readonly sound: boolean;
}

const fileIn = (dataDir: string): string => join(dataDir, "last-verify.json");

/**
 * Where there is no such directory, or no room or right to write, nothing is noted: what was found is answered in any
 * case. Of a note that grows old there is an alert.
 */
export async function noteVerify(dataDir: string, last: LastVerify): Promise<void> {
  const note = { finished_at: last.finishedAt, sound: last.sound };
  await writeWhole(fileIn(dataDir), `${JSON.stringify(note)}\n`).catch(() => undefined);
}

/** Undefined: it was never run, or not with this data directory. */
export async function readLastVerify(dataDir: string): Promise<LastVerify | undefined> {
  try {
    const { finished_at, sound } = JSON.parse(await readFile(fileIn(dataDir), "utf8"));
    return typeof finished_at === "number" ? { finishedAt: finished_at as Instant, sound: sound === true } : undefined;
  } catch {
    return undefined;
  }
}
