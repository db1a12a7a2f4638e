/**
 * The result of the last `parbook verify` of a database, in a file of the data directory, for the service's metrics. Each database
 * has a file of its own: what verify says of a restored copy says nothing of the one that the service uses.
 */
import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { asError } from "../std/as-error.ts";
import type { Instant } from "../std/clock.ts";
import { writeAtomically } from "../std/write-atomically.ts";

export interface LastVerify {
  readonly finishedAt: Instant;
  readonly sound: boolean;
  /** When the checkpoint was made that it was compared with; undefined if it was compared with none. */
  readonly checkpointAt?: Instant | undefined;
}

export interface VerifiedDatabase {
  readonly dataDir: string;
  /** Undefined for the embedded one. */
  readonly databaseUrl: string | undefined;
}

const EMBEDDED = "embedded";

/** The same for each user and all options of a URL. */
function nameOf({ databaseUrl }: VerifiedDatabase): string {
  if (databaseUrl === undefined) return EMBEDDED;
  const { hostname, port, pathname } = new URL(databaseUrl);
  return `${hostname}:${port || "5432"}${pathname}`;
}

function fileOf(verified: VerifiedDatabase): string {
  const name = nameOf(verified);
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return join(verified.dataDir, name === EMBEDDED ? "last-verify.json" : `last-verify-${digest}.json`);
}

/**
 * A failed write must not hide the result, so it does not throw.
 * @returns why the result could not be stored: doctor and alerts then tell the one before
 */
export async function recordVerify(verified: VerifiedDatabase, last: LastVerify): Promise<Error | undefined> {
  const { finishedAt, sound, checkpointAt } = last;
  const note = { database: nameOf(verified), finished_at: finishedAt, sound, checkpoint_at: checkpointAt };
  const [file, text] = [fileOf(verified), `${JSON.stringify(note)}\n`];
  try {
    await writeAtomically(file, text).catch(() => writeOver(file, text));
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

/** On a full disk there is no room for a second file, but the first has some. One that is half written is no result. */
async function writeOver(file: string, text: string): Promise<void> {
  const former = await open(file, "r+");
  try {
    await former.writeFile(text);
    await former.truncate(Buffer.byteLength(text));
    await former.sync();
  } finally {
    await former.close();
  }
}

/** @returns undefined if it never ran with this data directory and database */
export async function readLastVerify(verified: VerifiedDatabase): Promise<LastVerify | undefined> {
  try {
    const { finished_at, sound, checkpoint_at } = JSON.parse(await readFile(fileOf(verified), "utf8"));
    if (typeof finished_at !== "number") return undefined;
    const checkpointAt = typeof checkpoint_at === "number" ? (checkpoint_at as Instant) : undefined;
    return { finishedAt: finished_at as Instant, sound: sound === true, checkpointAt };
  } catch {
    return undefined;
  }
}
