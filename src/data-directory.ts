/** The directory in which the service keeps what it needs, with `ready.json` in it while it serves. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeWhole } from "./std/write-whole.ts";

/** The data directory when it is ours to make: what is in it is secrets, or leads to money. */
const OWNER_ALONE = 0o700;

export async function makeDataDirectory(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: OWNER_ALONE });
}

export const readyFile = (dataDir: string): string => join(dataDir, "ready.json");

/** Writes `ready.json`, whole or not at all, for whoever waits for the service. */
export async function announce(
  dataDir: string,
  { baseUrl, authUrl }: { readonly baseUrl: string; readonly authUrl: string },
): Promise<{ withdraw: () => Promise<void> }> {
  await makeDataDirectory(dataDir);
  const path = readyFile(dataDir);
  await writeWhole(path, `${JSON.stringify({ base_url: baseUrl, auth_url: authUrl, pid: process.pid })}\n`, 0o644);
  return { withdraw: () => rm(path, { force: true }) };
}
