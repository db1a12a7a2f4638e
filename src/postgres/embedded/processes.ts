/**
 * Finds and ends the processes of PostgreSQL that work in a data directory. A process id in a file proves nothing:
 * after a restart of the machine or the container it may belong to anybody. So a process counts only when the system
 * says that it is a PostgreSQL of this very directory.
 */
import { execFile } from "node:child_process";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { EmbeddedError } from "./refusal.ts";

/** How the postmaster is asked, and how long each way is given. Only the first spares the next start a recovery. */
const ORDERLY = [
  { signal: "SIGINT", limitMs: 20_000 },
  { signal: "SIGQUIT", limitMs: 5_000 },
] as const;
const KILL_LIMIT_MS = 5_000;
const POLL_MS = 10;

/**
 * Ends every PostgreSQL of this directory, the orderly way first: clients are cut off, what is committed is written,
 * and the next start need not recover. Returns the number of processes that were found.
 */
export async function endServer(cluster: string): Promise<number> {
  const found = await listResidents(cluster);
  for (const { signal, limitMs } of ORDERLY) {
    const residents = await listResidents(cluster);
    const postmaster = residents.find((pid) => pid === readPostmasterPid(cluster));
    if (postmaster === undefined) break;
    sendSignal(postmaster, signal);
    await waitUntilGone(cluster, residents, limitMs);
  }
  // Orphans of a postmaster that was killed can finish nothing, and keep the next server from starting.
  const left = await listResidents(cluster);
  for (const pid of left) sendSignal(pid, "SIGKILL");
  await waitUntilGone(cluster, left, KILL_LIMIT_MS);
  const [survivor] = await listResidents(cluster);
  if (survivor === undefined) return found.length;
  throw new EmbeddedError(`a PostgreSQL in ${cluster} does not end, not even killed: look at process ${survivor}`);
}

/** Whether the process is a PostgreSQL whose data is in this directory. */
async function isResident(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== "linux") return isResidentByCommand(pid, cluster);
  try {
    const [there, here] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(cluster)]);
    if (there.dev !== here.dev || there.ino !== here.ino) return false;
    return (await readFile(`/proc/${pid}/comm`, "utf8")) === "postgres\n";
  } catch {
    // Gone meanwhile, or a stranger's whose directory is none of our business.
    return false;
  }
}

/** Without /proc the command line has to tell: a postmaster of ours names its directory there. */
async function isResidentByCommand(pid: number, cluster: string): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
    return stdout.includes("postgres") && stdout.includes(`-D ${cluster} `);
  } catch {
    return false;
  }
}

/** Every PostgreSQL of this directory: the postmaster, its workers, and orphans of one that was killed. */
export async function listResidents(cluster: string): Promise<number[]> {
  const candidates = process.platform === "linux" ? await listProcesses() : [readPostmasterPid(cluster) ?? 0];
  const are = await Promise.all(candidates.map((pid) => pid > 0 && isResident(pid, cluster)));
  return candidates.filter((_, index) => are[index]);
}

async function listProcesses(): Promise<number[]> {
  return (await readdir("/proc")).filter((name) => /^[0-9]+$/.test(name)).map(Number);
}

/** Links are not followed and pipes not waited for: other processes of the server's user can put them there. */
const UNTRUSTED = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const PID_LINE_BYTES = 32;

/** The process that the server's own lock file names, whether or not it lives. */
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
    // A link (ELOOP) or a socket (ENXIO) is no lock file, and the server would not take it for one either.
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
    const stay = await Promise.all(left.map((pid) => isResident(pid, cluster)));
    left = left.filter((_, index) => stay[index]);
  }
}
