/** Runs PostgreSQL programs as an unprivileged user. */
import { spawn } from "node:child_process";
import { resolve } from "node:path";

/** The user to run a program as; undefined: the current user. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

/**
 * A fixed environment: PostgreSQL reads many settings from it (PGDATA, PGOPTIONS, LC_ALL, TZ ...), and must not depend on
 * the operator's shell.
 */
export const ENVIRONMENT: NodeJS.ProcessEnv = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

const TIME_LIMIT_MS = 300_000;
const OUTPUT_LIMIT = 16_384;

export interface Outcome {
  readonly succeeded: boolean;
  /** The end of the output, or why the program could not be run. */
  readonly output: string;
}

/**
 * The path by which a program with the working directory `directory` can open it. The server's user may be unable to
 * traverse the parents (below /root, say), but root has already changed into it, and /proc/self/cwd works. Linux only;
 * elsewhere the real path is used.
 */
export function nameFromInside(directory: string, user: ServerUser): string {
  return user !== undefined && process.platform === "linux" ? "/proc/self/cwd" : resolve(directory);
}

/** Runs a program with a time limit. Never throws: errors are part of the outcome. */
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
      // Not spawn's `timeout`, whose timer keeps the process alive if the program cannot be started.
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

/** The last lines of an output, joined for an error message. */
export function lastLines(output: string, count: number): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines.length === 0 ? "(nothing)" : lines.slice(-count).join(" / ");
}
