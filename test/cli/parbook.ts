/** Real processes of the command line, with nothing in their environment but what a test gives them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stopServer } from "../../src/postgres/embedded/processes.ts";
import { pause } from "../../src/std/pause.ts";
import { until } from "../support/until.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/parbook.mjs", import.meta.url));
/** A machine that others keep busy has been seen to take half a minute. */
const START_LIMIT_MS = 150_000;

export type Settings = Readonly<Record<string, string>>;

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Ready {
  readonly base_url: string;
  readonly auth_url: string;
  readonly pid: number;
}

export interface ServiceProcess {
  readonly ready: Ready;
  /** From the start of the process to `ready.json`. */
  readonly startMs: number;
  /** What it has said on standard output so far. */
  output(): string;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Ended>;
}

/** Runs a command to its end. */
export function parbook(settings: Settings, ...args: string[]): Promise<Ended> {
  return collect(launch(settings, args)).ended;
}

/** Begins a command that goes on until it is ended. */
export function launchParbook(settings: Settings, ...args: string[]) {
  const child = launch(settings, args);
  return { child, ...collect(child) };
}

/** Runs a command whose standard output nobody reads. */
export function parbookUnread(settings: Settings, ...args: string[]): Promise<Ended> {
  const child = launch(settings, args);
  child.stdout?.destroy();
  return collect(child).ended;
}

/** Runs a command whose standard output goes into a file. */
export async function parbookInto(path: string, settings: Settings, ...args: string[]): Promise<Ended> {
  const file = await open(path, "w");
  try {
    return await collect(launch(settings, args, file.fd)).ended;
  } finally {
    await file.close();
  }
}

/** The one document that a command has answered with. */
export async function answerOf(settings: Settings, ...args: string[]): Promise<unknown> {
  const { exitCode, stdout, stderr } = await parbook(settings, ...args, "--json");
  if (exitCode !== 0) throw new Error(`parbook ${args.join(" ")} ended with ${exitCode}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Starts the service and waits until it says in `ready.json` that it serves. */
export async function startService(
  settings: Settings & { readonly PARBOOK_DATA_DIR: string },
): Promise<ServiceProcess> {
  const started = performance.now();
  const child = launch({ PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0", ...settings }, ["start"]);
  const { said, ended } = collect(child);
  const ready = await untilReady(settings.PARBOOK_DATA_DIR, child, said);
  const startMs = performance.now() - started;
  // It says so in the file before it prints what to try.
  await until("the service has said where it serves", () =>
    /\n# Its executions, and the order\n.*\n.*\n|^base_url.*\nauth_url.*\n|"msg":"serving"/m.test(said.stdout),
  );
  return {
    ready,
    startMs,
    output: () => said.stdout,
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

/** Starts the service, and kills it so much later, wherever it has come to by then. */
export async function startInVain(settings: Settings, afterMs: number): Promise<void> {
  const child = launch(settings, ["start"]);
  const { ended } = collect(child);
  await pause(afterMs);
  child.kill("SIGKILL");
  await ended;
}

async function untilReady(dataDir: string, child: ChildProcess, said: Said): Promise<Ready> {
  const end = performance.now() + START_LIMIT_MS;
  while (performance.now() < end && child.exitCode === null) {
    const ready = await readReady(dataDir);
    // What another process has left there is not what is waited for.
    if (ready?.pid === child.pid) return ready as Ready;
    await pause(10);
  }
  child.kill("SIGKILL");
  throw new Error(`the service does not serve: ${said.stdout}${said.stderr}`);
}

export function readReady(dataDir: string): Promise<Ready | undefined> {
  return readFile(join(dataDir, "ready.json"), "utf8").then(
    (text) => JSON.parse(text) as Ready,
    () => undefined,
  );
}

function launch(settings: Settings, args: readonly string[], output: "pipe" | number = "pipe"): ChildProcess {
  const { PATH = "", HOME = "" } = process.env;
  return spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH, HOME, ...settings },
    stdio: ["ignore", output, "pipe"],
  });
}

interface Said {
  stdout: string;
  stderr: string;
}

function collect(child: ChildProcess): { said: Said; ended: Promise<Ended> } {
  const said: Said = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    said.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said.stderr += text;
  });
  const ended = once(child, "close").then(([exitCode]) => ({ exitCode: exitCode as number | null, ...said }));
  return { said, ended };
}

/** A data directory of a test's own. Its service may have been killed, and then its database is still ending. */
export async function dataDirectory(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "parbook-cli-"));
  return {
    path,
    remove: async () => {
      await stopServer(join(path, "postgres"));
      await rm(path, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
