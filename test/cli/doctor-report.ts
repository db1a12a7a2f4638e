/** A directory and an environment in which the doctor finds little, as a service in production would have them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";
import { systemClock } from "../../src/std/clock.ts";
import { readLastVerify, recordVerify, type VerifiedDatabase } from "../../src/verify/last-verify.ts";
import { run } from "./in-process.ts";

/** Of the machine that the tests run on, and of the server that all tests share. */
const OF_THE_PLACE = ["node-old", "postgres-old", "disk", "checksums", "open-files", "wal-level", "one-node"];

const KEY = Buffer.alloc(32).toString("base64");

/** Before each test of a file; removed after it. @returns where its data directory is */
export function productionOfEachTest(): { readonly directory: string } {
  const place = { directory: "" };
  beforeEach(async () => {
    place.directory = await mkdtemp(join(tmpdir(), "parbook-doctor-"));
    const settings = {
      PARBOOK_MODE: "production",
      PARBOOK_DATA_DIR: place.directory,
      PARBOOK_WITHOUT_TLS: "http",
      PARBOOK_METRICS_PORT: "0",
      PARBOOK_TRUSTED_PROXIES: "10.0.0.7",
      PARBOOK_KEY_ENCRYPTION_KEY: KEY,
      PARBOOK_LOG_LEVEL: "fatal",
    };
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    await rm(place.directory, { recursive: true, force: true });
  });
  return place;
}

interface Found {
  readonly name: string;
  readonly what: string;
  readonly severity: string;
  readonly accepted: boolean;
}

/** What a verify with the present settings leaves its result for. */
export function verified(): VerifiedDatabase {
  const { PARBOOK_DATA_DIR: dataDir = "", PARBOOK_DATABASE_URL: databaseUrl } = process.env;
  return { dataDir, databaseUrl };
}

/** What the doctor says, and how it exits. Where verify did not run before, it has just found the ledger sound. */
export async function examine(
  hidden = OF_THE_PLACE,
): Promise<{ readonly said: string[]; readonly exitCode: number; readonly sound: string[] }> {
  const now = systemClock.now();
  if ((await readLastVerify(verified())) === undefined)
    await recordVerify(verified(), { finishedAt: now, sound: true, checkpointAt: now });
  const { exitCode, stdout } = await run(["doctor", "--json"]);
  const { findings, sound } = JSON.parse(stdout) as { findings: Found[]; sound: string[] };
  const said = findings
    .filter(({ name }) => !hidden.includes(name))
    .map(({ name, what, severity, accepted }) => `${accepted ? "accepted" : severity} ${name}: ${what}`);
  return { said, exitCode, sound };
}
