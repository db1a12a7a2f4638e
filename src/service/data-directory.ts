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

/** What `ready.json` holds. */
interface Ready {
  readonly base_url: string;
  readonly auth_url: string;
  readonly coin?: string;
  readonly pid: number;
  readonly started: string | undefined;
}

/** That of the running service; undefined if none runs, even if a stale file is left. */
async function readReady(dataDir: string): Promise<Ready | undefined> {
  const text = await readFile(readyFile(dataDir), "utf8").catch(() => "{}");
  const ready = JSON.parse(text) as Partial<Ready>;
  return ready.pid !== undefined && ready.started === (await processStart(ready.pid)) ? (ready as Ready) : undefined;
}

/** The process of the running service; undefined if none runs. */
export async function findServiceProcess(dataDir: string): Promise<number | undefined> {
  return (await readReady(dataDir))?.pid;
}

/** The addresses of the running service; undefined if none runs. */
export async function findService(dataDir: string): Promise<Addresses | undefined> {
  const ready = await readReady(dataDir);
  return ready && { baseUrl: ready.base_url, authUrl: ready.auth_url, coin: ready.coin };
}
