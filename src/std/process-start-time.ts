import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * When a process started, as an opaque text; undefined if it is not running. Process ids are reused; id and start together
 * are unique. On Linux: boot id and clock ticks since boot, which setting the time does not affect. Elsewhere: the start
 * time that `ps` shows.
 */
export async function processStart(pid: number): Promise<string | undefined> {
  try {
    return process.platform === "linux" ? await readFromProc(pid) : await askPs(pid);
  } catch {
    return undefined;
  }
}

/** The fields after the name, which may contain anything, start with the third (proc(5)). */
async function readFromProc(pid: number): Promise<string | undefined> {
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  const [state, startTime] = [fields[3 - 3], fields[22 - 3]];
  return state === "Z" ? undefined : `${boot.trim()}/${startTime}`;
}

async function askPs(pid: number): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)]);
  return stdout.trim() || undefined;
}
