/** The data directory. It contains `ready.json` while the service runs. */
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { processStart } from "../std/process-start-time.ts";
import { writeAtomically } from "../std/write-atomically.ts";

/** The directory holds secrets. */
const OWNER_ONLY = 0o700;

export async function makeDataDirectory(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: OWNER_ONLY });
}

export const readyFile = (dataDir: string): string => join(dataDir, "ready.json");

export interface Addresses {
  readonly baseUrl: string;
  readonly authUrl: string;
  /** The coin of the sandbox's own, if it has one. */
  readonly coin?: string | undefined;
}

/**
 * Writes `ready.json` atomically, as the signal that the service is ready. A killed service leaves the file behind;
 * `pid` and `started` together identify the process.
 * @returns Removes it.
 */
export async function writeReadyFile(
  dataDir: string,
  { baseUrl, authUrl, coin }: Addresses,
): Promise<() => Promise<void>> {
  await makeDataDirectory(dataDir);
  const path = readyFile(dataDir);
  const { pid } = process;
  const ready = { base_url: baseUrl, auth_url: authUrl, coin, pid, started: await processStart(pid) };
  await writeAtomically(path, `${JSON.stringify(ready)}\n`, 0o644);
  return () => rm(path, { force: true });
}

/** The process of the running service; undefined if none runs. */
export async function findServiceProcess(dataDir: string): Promise<number | undefined> {
  const text = await readFile(readyFile(dataDir), "utf8").catch(() => "{}");
  const { pid, started } = JSON.parse(text) as { pid?: number; started?: string };
  return pid !== undefined && started === (await processStart(pid)) ? pid : undefined;
}

/** The addresses of the running service; undefined if none runs, even if a stale file is left. */
export async function findService(dataDir: string): Promise<Addresses | undefined> {
  const text = await readFile(readyFile(dataDir), "utf8").catch(() => "{}");
  const ready = JSON.parse(text) as {
    base_url: string;
    auth_url: string;
    coin?: string;
    pid?: number;
    started?: string;
  };
  if (ready.pid === undefined || ready.started !== (await processStart(ready.pid))) return undefined;
  return { baseUrl: ready.base_url, authUrl: ready.auth_url, coin: ready.coin };
}
