/**
 * However the service ends, it ends whole: no process of its own and none of PostgreSQL is left, and PostgreSQL has ended
 * in order. The service runs as people run it: under npm, in a pipe, in a terminal, in a unit. The tests share one data
 * directory, because making a database takes longer than all else here.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { listServerProcesses, readPostmasterPid, stopServer } from "../../src/postgres/embedded/processes.ts";
import { must } from "../../src/std/assert.ts";
import { answerOf, dataDirectory, parbook, readReady } from "../cli/parbook.ts";
import { freePort } from "../support/free-port.ts";
import { scrape } from "../support/http/metrics.ts";
import { sessionOf } from "../support/postgres/embedded-service.ts";
import { until } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TERMINAL = fileURLToPath(new URL("terminal.py", import.meta.url));
const NPM_START = ["npm", "start"];
const PARBOOK = [process.execPath, "bin/parbook.mjs"];
const CTRL_C = "\x03";
/** What is promised for PostgreSQL, behind the end of the service. */
const END_LIMIT_S = 5;
/** A start, or a stop in order, on a machine that is busy. */
const BUSY_S = 60;

let data: Awaited<ReturnType<typeof dataDirectory>>;
let cluster: string;
let settings: Readonly<Record<string, string>>;
beforeAll(async () => {
  data = await dataDirectory();
  cluster = join(data.path, "postgres");
  settings = { PARBOOK_DATA_DIR: data.path, PARBOOK_LOG_LEVEL: "info", PARBOOK_SANDBOX_MAKER: "off" };
});
afterAll(() => data.remove());

interface Running {
  /** What was started; it leads a session of its own, as what a terminal or a unit starts does. */
  readonly child: ChildProcess;
  /** Its exit code, once it and everybody who held its output have ended. */
  readonly ended: Promise<number | null>;
  readonly session: number;
  readonly service: number;
  readonly postmaster: number;
  readonly said: () => string;
}

/** Runs a command that starts the service, and waits until it serves. */
async function start(command: readonly string[], more: Record<string, string> = {}): Promise<Running> {
  const { child, said, ended } = launch(command, more);
  await until("the service serves", async () => (await readReady(data.path)) !== undefined, BUSY_S);
  const service = must(await readReady(data.path), "it serves").pid;
  const postmaster = must(readPostmasterPid(cluster), "it has a database");
  // The first line of a terminal names the leader of the session in it.
  const session = command.includes(TERMINAL) ? Number.parseInt(said(), 10) : must(child.pid, "it was spawned");
  expect(sessionOf(session)).toContain(service);
  expect(sessionOf(postmaster)).toHaveLength(2);
  return { child, ended, session, service, postmaster, said };
}

function launch(command: readonly string[], more: Record<string, string>) {
  const [program = "", ...args] = command;
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { PATH, HOME, PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0", ...settings, ...more },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
  }
  onTestFinished(async () => {
    for (const pid of sessionOf(child.pid ?? 0)) process.kill(pid, "SIGKILL");
    await stopServer(cluster);
    await rm(join(data.path, "ready.json"), { force: true });
  });
  return { child, said: () => text, ended: once(child, "close").then(([code]) => code as number | null) };
}

const inTerminal = (command: readonly string[]): string[] => ["python3", TERMINAL, ...command];

/** Nobody is left, and the next start has nothing to recover. */
async function expectWholeEnd({ session, postmaster }: Running, limitS = END_LIMIT_S): Promise<void> {
  const left = async (): Promise<number[]> => [
    ...sessionOf(session),
    ...sessionOf(postmaster),
    ...(await listServerProcesses(cluster)),
  ];
  await until("nobody is left", async () => (await left()).length === 0, limitS);
  const log = await readFile(`${cluster}.log`, "utf8");
  expect(log.trimEnd().split("\n").at(-1)).toContain("database system is shut down");
}

const isReady = (): boolean => existsSync(join(data.path, "ready.json"));

test("a closed log reader does not stop the service, which counts lost lines; SIGTERM to the process group stops it in order", async () => {
  const port = await freePort();
  const file = join(data.path, "exit-code");
  // The shell has the signal too; it only has to live to tell how npm ended.
  const pipeline = ["sh", "-c", `{ trap : TERM; npm start; echo $? >${file}; } | head -n 3`];
  const running = await start(pipeline, { PARBOOK_METRICS_PORT: String(port) });
  const dropped = async () =>
    (await scrape(`http://127.0.0.1:${port}/metrics`)).value("parbook_log_lines_dropped_total") ?? 0;
  await until("lines are dropped", async () => (await dropped()) > 0, BUSY_S);
  process.kill(-running.session, "SIGTERM");
  await running.ended;
  await until("npm has ended", () => existsSync(file), BUSY_S);
  expect(await readFile(file, "utf8")).toBe("0\n");
  expect(isReady()).toBe(false);
  await expectWholeEnd(running);
});

test("unused signals are logged and open no debugger; a closed terminal stops the service in order", async () => {
  const running = await start(inTerminal([...PARBOOK, "start"]));
  for (const signal of ["SIGPIPE", "SIGUSR1", "SIGUSR2"] as const) process.kill(running.service, signal);
  await until("both are logged", () => running.said().match(/SIGUSR[12] is ignored/g)?.length === 2);
  expect(running.said()).not.toContain("Debugger");
  running.child.stdin?.end();
  // As of a process that SIGHUP has ended.
  expect(await running.ended).toBe(129);
  expect(isReady()).toBe(false);
  await expectWholeEnd(running);
});

test("with --json the log is for standard error: where that is a file, a sandbox logs no requests, also from a terminal", async () => {
  const log = join(data.path, "log");
  const running = await start(inTerminal(["sh", "-c", `exec "$@" 2>${log}`, "sh", ...PARBOOK, "start", "--json"]));
  const { base_url: baseUrl } = must(await readReady(data.path), "it serves");
  expect((await fetch(`${baseUrl}/v2/markets`)).status).toBe(200);
  running.child.stdin?.write(CTRL_C);
  expect(await running.ended).toBe(0);
  const lines = (await readFile(log, "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).msg).at(-1)).toBe("stopped in order");
  expect(lines.filter((line) => line.includes("/v2/markets"))).toEqual([]);
  await expectWholeEnd(running);
});

test("Ctrl-C under npm stops in order, though the signal arrives twice; a later Ctrl-C forces the end, a SIGHUP does not", async () => {
  const running = await start(inTerminal(NPM_START));
  // PostgreSQL cannot end now, and so holds the stop up.
  process.kill(running.postmaster, "SIGSTOP");
  onTestFinished(() => {
    if (sessionOf(running.postmaster).length > 0) process.kill(running.postmaster, "SIGCONT");
  });
  running.child.stdin?.write(CTRL_C);
  await until("the service stops", () => !isReady() && running.said().includes(": stopping"), BUSY_S);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(sessionOf(running.session)).toContain(running.service);
  process.kill(running.service, "SIGHUP");
  running.child.stdin?.write(CTRL_C);
  await running.ended;
  expect(running.said()).toContain("second SIGINT: exiting immediately");
  expect(sessionOf(running.session)).toEqual([]);
  process.kill(running.postmaster, "SIGCONT");
  await expectWholeEnd(running);
});

test("Ctrl-C once, under npm, ends everything with exit code 0", async () => {
  const running = await start(inTerminal(NPM_START));
  running.child.stdin?.write(CTRL_C);
  expect(await running.ended).toBe(0);
  expect(running.said()).toContain("stopped in order");
  expect(isReady()).toBe(false);
  await expectWholeEnd(running);
});

test("SIGTERM to every process at once, as systemd sends it to a unit, stops in order, also when no one reads the output", async () => {
  const running = await start([...PARBOOK, "start", "--json"]);
  running.child.stdout?.destroy();
  running.child.stderr?.destroy();
  const { base_url: baseUrl } = must(await readReady(data.path), "it serves");
  const headers = { authorization: "Bearer nonsense" };
  expect((await fetch(`${baseUrl}/v2/profiles`, { headers })).status).toBe(401);
  const everybody = new Set([
    ...sessionOf(running.session),
    ...sessionOf(running.postmaster),
    ...(await listServerProcesses(cluster)),
  ]);
  execFileSync("kill", ["-TERM", ...[...everybody].map(String)]);
  expect(await running.ended).toBe(0);
  expect(isReady()).toBe(false);
  await expectWholeEnd(running);
  // What was noted and not yet written is not lost: PostgreSQL, which had the signal too, was started again for it.
  expect(await answerOf(settings, "audit", "denials")).toMatchObject({ items: [{ kind: "invalid_token", count: 1 }] });
});

test("SIGTERM to npx, which only ends its shell, stops the service in order", async () => {
  // As npx starts it: by a shell that stays, and is not replaced by the service.
  const shell = ["sh", "-c", '"$@"; exit', "sh"];
  const running = await start([...shell, ...PARBOOK, "start"], { npm_command: "exec" });
  expect(running.service).not.toBe(running.session);
  running.child.kill("SIGTERM");
  await running.ended;
  expect(running.said()).toContain("stopped in order");
  expect(isReady()).toBe(false);
  await expectWholeEnd(running);
});

test("after a kill under npm no process is left, and ready.json is recognised as stale", async () => {
  const running = await start(NPM_START);
  process.kill(running.service, "SIGKILL");
  expect(await running.ended).not.toBe(0);
  await expectWholeEnd(running);
  expect(isReady()).toBe(true);
  expect((await parbook(settings, "demo")).stderr).toBe(
    `no service is running on the data directory ${data.path}: start one first\n`,
  );
});

test("a second Ctrl-C ends a command that hangs, and the database that it has started ends in order too", async () => {
  const target = join(data.path, "..", "never");
  // A file without an end, so that the backup is still at it.
  const endless = join(data.path, "demo.json");
  await rm(endless);
  execFileSync("mkfifo", [endless]);
  const { child, said, ended } = launch(inTerminal([...PARBOOK, "backup", target]), {});
  await until("the backup has begun", () => said().includes("backup started"), BUSY_S);
  const running = { session: Number.parseInt(said(), 10), postmaster: must(readPostmasterPid(cluster), "it runs") };
  expect(sessionOf(running.postmaster)).toHaveLength(2);
  child.stdin?.write(CTRL_C);
  await new Promise((resolve) => setTimeout(resolve, 400));
  child.stdin?.write(CTRL_C);
  expect(await ended).toBe(130);
  await expectWholeEnd(running as Running);
});
