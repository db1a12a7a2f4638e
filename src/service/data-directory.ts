/** The directory in which the service keeps what it needs, with `ready.json` in it while it serves. */
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { processStart } from "../std/process-start.ts";
import { writeWhole } from "../std/write-whole.ts";

/** The data directory when it is ours to make: what is in it is secrets, or leads to money. */
const OWNER_ALONE = 0o700;

export async function makeDataDirectory(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: OWNER_ALONE });
}

export const readyFile = (dataDir: string): string => join(dataDir, "ready.json");

export interface Addresses {
  readonly baseUrl: string;
  readonly authUrl: string;
}

/**
 * Writes `ready.json`, whole or not at all, for whoever waits for the service. A service that is killed leaves it behind:
 * `pid` and `started` together say of which process it is.
 */
export async function announce(
  dataDir: string,
  { baseUrl, authUrl }: Addresses,
): Promise<{ withdraw: () => Promise<void> }> {
  await makeDataDirectory(dataDir);
  const path = readyFile(dataDir);
  const { pid } = process;
  const ready = { base_url: baseUrl, auth_url: authUrl, pid, started: await processStart(pid) };
  await writeWhole(path, `${JSON.stringify(ready)}\n`, 0o644);
  return { withdraw: () => rm(path, { force: true }) };
}

/** Where the service that runs on this directory listens; undefined when none does, whatever a dead one has left. */
export async function findService(dataDir: string): Promise<Addresses | undefined> {
  const text = await readFile(readyFile(dataDir), "utf8").catch(() => "{}");
  const ready = JSON.parse(text) as { base_url: string; auth_url: string; pid?: number; started?: string };
  if (ready.pid === undefined || ready.started !== (await processStart(ready.pid))) return undefined;
  return { baseUrl: ready.base_url, authUrl: ready.auth_url };
}
