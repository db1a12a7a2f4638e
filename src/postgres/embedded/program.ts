/** Runs the programs of PostgreSQL, as a user that they accept. */
import { spawn } from "node:child_process";
import { resolve } from "node:path";

/** The user that a program is to run as; undefined stands for the user that we are. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

/**
 * PostgreSQL takes many settings from its environment (PGDATA, PGOPTIONS, LC_ALL, TZ ...). It is given this one
 * instead of ours, so that the same data directory makes the same server from every shell.
 */
export const ENVIRONMENT: NodeJS.ProcessEnv = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

const TIME_LIMIT_MS = 300_000;
const OUTPUT_LIMIT = 16_384;

export interface Outcome {
  readonly succeeded: boolean;
  /** The end of what the program printed, or why it could not be run. */
  readonly output: string;
}

/**
 * How a program that works in `directory` is to name this directory. As root we enter it before we become the
 * server's user. That user may be unable to walk there from the top (below /root, say), but the way through
 * /proc/self/cwd is always open. The other systems that we run on lack it: there the true path has to do.
 */
export function nameFromInside(directory: string, user: ServerUser): string {
  return user !== undefined && process.platform === "linux" ? "/proc/self/cwd" : resolve(directory);
}

/** Runs a program to its end, in bounded time. Never throws: what the system says is part of the outcome. */
export async function runProgram(
  program: string,
  parameters: readonly string[],
  place: { readonly directory: string; readonly user: ServerUser },
): Promise<Outcome> {
  try {
    return await collect(program, parameters, place);
  } catch (error) {
    return { succeeded: false, output: (error as Error).message };
  }
}

function collect(
  program: string,
  parameters: readonly string[],
  { directory, user }: { readonly directory: string; readonly user: ServerUser },
): Promise<Outcome> {
  return new Promise((resolveOutcome, reject) => {
    const child = spawn(program, parameters, {
      cwd: directory,
      env: ENVIRONMENT,
      stdio: ["ignore", "pipe", "pipe"],
      // Not spawn's own `timeout`: its timer goes on, and keeps the process alive, when the program cannot be started.
      signal: AbortSignal.timeout(TIME_LIMIT_MS),
      killSignal: "SIGKILL",
      ...user,
    });
    let output = "";
    const keep = (text: string) => {
      output = (output + text).slice(-OUTPUT_LIMIT);
    };
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    child.once("error", reject);
    child.once("close", (code) => resolveOutcome({ succeeded: code === 0, output }));
  });
}

/** The last lines of a program's output as part of one line. */
export function lastLines(output: string, count: number): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines.length === 0 ? "(nothing)" : lines.slice(-count).join(" / ");
}
