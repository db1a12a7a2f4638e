/** Keeps the connections that are allowed below the files that this process may have open: each connection is one. */
import { readFile } from "node:fs/promises";

/** The database's connections, the log, certificates, metrics, and what is opened for a moment. */
const OTHER_FILES = 200;

/** How many connections each of the servers may have, so that all of them leave `OTHER_FILES` open files. */
export function connectionsWithin(openFiles: number, servers: number, wanted: number): number {
  return Math.max(1, Math.min(wanted, Math.floor((openFiles - OTHER_FILES) / servers)));
}

/** How many files must be allowed for that many connections of each server. */
export function filesFor(servers: number, connections: number): number {
  return servers * connections + OTHER_FILES;
}

/** The soft limit of this process, RLIMIT_NOFILE; Infinity where the system has none or does not say. */
export async function openFilesLimit(path = "/proc/self/limits"): Promise<number> {
  const limits = await readFile(path, "utf8").catch(() => "");
  return Number(/^Max open files +([0-9]+) /m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
}
