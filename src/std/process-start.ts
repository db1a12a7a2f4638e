import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * When a process began, in the system's own terms; undefined: no such process runs here. With its id this names one
 * process for good, because ids are given again. On Linux it is the boot and the clock ticks since then, which setting the
 * time of day does not move; elsewhere the time of day that `ps` shows.
 */
export async function processStart(pid: number): Promise<string | undefined> {
  try {
    return process.platform === "linux" ? await readFromProc(pid) : await askPs(pid);
  } catch {
    return undefined;
  }
}

/** The fields of `stat` behind the name, which may contain anything, begin with the third (proc(5)). */
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
