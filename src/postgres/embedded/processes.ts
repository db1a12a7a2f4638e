/**
 * Finds and stops the PostgreSQL processes of a data directory. A process id from a file may have been reused, so a process
 * counts only if the system confirms that it is a PostgreSQL in this directory.
 */
import { execFile } from "node:child_process";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { EmbeddedError } from "./embedded-error.ts";

/** Fast, then immediate shutdown. Only the first avoids crash recovery at the next start. */
const SHUTDOWN_STEPS = [
  { signal: "SIGINT", limitMs: 20_000 },
  { signal: "SIGQUIT", limitMs: 5_000 },
] as const;
const KILL_LIMIT_MS = 5_000;
const POLL_MS = 10;

/**
 * Stops every PostgreSQL process of this directory, gracefully if possible.
 *
 * @returns The number of processes found.
 * @throws EmbeddedError if one survives SIGKILL.
 */
export async function stopServer(cluster: string): Promise<number> {
  const found = await listServerProcesses(cluster);
  for (const { signal, limitMs } of SHUTDOWN_STEPS) {
    const residents = await listServerProcesses(cluster);
    const postmaster = residents.find((pid) => pid === readPostmasterPid(cluster));
    if (postmaster === undefined) break;
    sendSignal(postmaster, signal);
    await waitUntilGone(cluster, residents, limitMs);
  }
  // Orphans of a killed postmaster prevent the next server from starting.
  const left = await listServerProcesses(cluster);
  for (const pid of left) sendSignal(pid, "SIGKILL");
  await waitUntilGone(cluster, left, KILL_LIMIT_MS);
  const [survivor] = await listServerProcesses(cluster);
  if (survivor === undefined) return found.length;
  throw new EmbeddedError(`a PostgreSQL in ${cluster} survives SIGKILL: check process ${survivor}`);
}

async function isServerProcess(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== "linux") return isServerProcessByCommand(pid, cluster);
  try {
    const [there, here] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(cluster)]);
    if (there.dev !== here.dev || there.ino !== here.ino) return false;
    return (await readFile(`/proc/${pid}/comm`, "utf8")) === "postgres\n";
  } catch {
    // The process has exited, or belongs to another user.
    return false;
  }
}

/** Without /proc: our postmaster has its directory on the command line. */
async function isServerProcessByCommand(pid: number, cluster: string): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
    return stdout.includes("postgres") && stdout.includes(`-D ${cluster} `);
  } catch {
    return false;
  }
}

/** The postmaster, its workers, and orphans of a killed one. */
export async function listServerProcesses(cluster: string): Promise<number[]> {
  const candidates = process.platform === "linux" ? await listProcesses() : [readPostmasterPid(cluster) ?? 0];
  const are = await Promise.all(candidates.map((pid) => pid > 0 && isServerProcess(pid, cluster)));
  return candidates.filter((_, index) => are[index]);
}

async function listProcesses(): Promise<number[]> {
  return (await readdir("/proc")).filter((name) => /^[0-9]+$/.test(name)).map(Number);
}

/** Follows no link and never blocks: the server's user can plant links and pipes. */
const UNTRUSTED = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const PID_LINE_BYTES = 32;

/** The process id in postmaster.pid, whether or not it is alive. */
export function readPostmasterPid(cluster: string): number | undefined {
  let file: number | undefined;
  try {
    file = openSync(join(cluster, "postmaster.pid"), UNTRUSTED);
    if (!fstatSync(file).isFile()) return undefined;
    const start = Buffer.alloc(PID_LINE_BYTES);
    const [line] = start.toString("latin1", 0, readSync(file, start)).split("\n");
    const pid = Number(line);
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch (error) {
    // A link (ELOOP) or a socket (ENXIO) is not a lock file, and the server does not accept it either.
    if (["ENOENT", "ELOOP", "ENXIO"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function waitUntilGone(cluster: string, pids: readonly number[], limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  let left = pids;
  while (left.length > 0 && performance.now() < deadline) {
    await pause(POLL_MS);
    const stay = await Promise.all(left.map((pid) => isServerProcess(pid, cluster)));
    left = left.filter((_, index) => stay[index]);
  }
}
