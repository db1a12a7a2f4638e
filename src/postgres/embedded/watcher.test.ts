/** However the service exits, its server shuts down cleanly. Here the service is a process that only starts a server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  compileService,
  type EmbeddedService,
  sessionOf,
  startEmbeddedService,
} from "../../../test/support/postgres/embedded-service.ts";
import { until } from "../../../test/support/until.ts";
import { DirectoryHeld } from "./directory-lock.ts";
import { startEmbedded } from "./embedded.ts";
import { listServerProcesses, stopServer } from "./processes.ts";
import { withWatcher } from "./watcher.ts";

const THROW_AWAY = { fsync: "off", shared_buffers: "8MB" };
/** What is promised. */
const END_LIMIT_S = 5;

const place = mkdtempSync(join(tmpdir(), "parbook-watcher-"));
const directory = join(place, "data");
const cluster = join(directory, "postgres");
let program: string;
beforeAll(() => {
  program = compileService(place);
});
afterAll(async () => {
  await stopServer(cluster);
  rmSync(place, { recursive: true, force: true });
});

async function startService(): Promise<EmbeddedService & { readonly watcher: number }> {
  const service = await startEmbeddedService(program, directory);
  onTestFinished(async () => {
    service.child.kill("SIGKILL");
    await stopServer(cluster);
  });
  const watcher = await watcherOf(service.postmaster);
  // It keeps no directory in use.
  if (process.platform === "linux") expect(readlinkSync(`/proc/${watcher}/cwd`)).toBe("/");
  expect((await listServerProcesses(cluster)).length).toBeGreaterThan(1);
  return { ...service, watcher };
}

/** The one process in the server's session beside it. A process that the server has just forked is there too, for a moment. */
async function watcherOf(server: number): Promise<number> {
  let others: number[] = [];
  await until("in the server's session is one other process", () => {
    others = sessionOf(server).filter((pid) => pid !== server);
    return others.length === 1;
  });
  return others[0] as number;
}

async function expectEndInOrder({ postmaster }: EmbeddedService): Promise<void> {
  const hasEnded = async () => sessionOf(postmaster).length === 0 && (await listServerProcesses(cluster)).length === 0;
  await until("the server and its watcher have ended", hasEnded, END_LIMIT_S);
  expect(lastLine()).toContain("database system is shut down");
}

function lastLine(): string {
  return readFileSync(`${cluster}.log`, "utf8").trimEnd().split("\n").at(-1) ?? "";
}

test.each<NodeJS.Signals>(["SIGKILL", "SIGTERM", "SIGHUP", "SIGABRT"])(
  "when the service dies by %s its server ends in order by itself",
  async (signal) => {
    const service = await startService();
    service.child.kill(signal);
    // It comes when nobody holds the other end of the service's pipes any more.
    await once(service.child, "close");
    await expectEndInOrder(service);
  },
);

test("a signal to the whole unit followed by SIGKILL still stops the server cleanly", async () => {
  const service = await startService();
  for (const pid of [service.watcher, service.postmaster]) process.kill(pid, "SIGTERM");
  // The server now waits for its clients, of whom the service is one.
  await until("the server has taken it", () => lastLine().includes("received smart shutdown request"));
  expect(sessionOf(service.postmaster)).toContain(service.watcher);
  service.child.kill("SIGKILL");
  await expectEndInOrder(service);
});

test("a stopped server leaves no watcher", async () => {
  const server = await startEmbedded({ directory, settings: THROW_AWAY, log: () => undefined });
  const { pid } = server;
  await watcherOf(pid);
  await server.stop();
  expect(sessionOf(pid)).toEqual([]);
});

test("a restarted server has a new watcher, and the old one has ended", async () => {
  const server = await startEmbedded({ directory, settings: THROW_AWAY, log: () => undefined });
  onTestFinished(() => server.stop());
  const former = server.pid;
  process.kill(former, "SIGKILL");
  await until("the server was started again", () => server.pid !== former && sessionOf(server.pid).length === 2, 20);
  await until("the watcher of the former one is gone", () => sessionOf(former).length === 0);
});

test("a server whose watcher was also killed is stopped by the next start", async () => {
  const { child, postmaster, watcher } = await startService();
  process.kill(watcher, "SIGKILL");
  await until("the watcher is gone", () => !sessionOf(postmaster).includes(watcher));
  // The server takes no notice of it.
  const rejected = await startEmbedded({ directory, settings: THROW_AWAY, log: () => undefined }).catch(
    (error: unknown) => error,
  );
  expect(rejected).toEqual(new DirectoryHeld(directory, { heldBy: `${child.pid}`, purpose: "service" }));
  child.kill("SIGKILL");
  await once(child, "close");
  expect(sessionOf(postmaster)).toEqual([postmaster]);

  const log: string[] = [];
  const successor = await startEmbedded({ directory, settings: THROW_AWAY, log: (line) => log.push(line) });
  onTestFinished(() => successor.stop());
  expect(log[0]).toBe("stopped a PostgreSQL left running by an earlier service");
  expect(sessionOf(postmaster)).toEqual([]);
  const client = new Client(successor.connection("postgres", "postgres"));
  await client.connect();
  expect((await client.query("select distinct one from kept")).rows).toEqual([{ one: 1 }]);
  await client.end();
});

test("a late watcher leaves the next service's server alone", async () => {
  const { child, postmaster, watcher } = await startService();
  process.kill(watcher, "SIGSTOP");
  child.kill("SIGKILL");
  await once(child, "close");
  const log: string[] = [];
  const successor = await startEmbedded({ directory, settings: THROW_AWAY, log: (line) => log.push(line) });
  onTestFinished(() => successor.stop());
  process.kill(watcher, "SIGCONT");
  await until("the watcher has ended", () => sessionOf(postmaster).length === 0);
  await watcherOf(successor.pid);
  expect(log.filter((line) => line.includes("exited unexpectedly"))).toEqual([]);
});

test("a server that ignores signals gets SIGINT, then SIGQUIT, then SIGKILL", async () => {
  const hurried = join(place, "hurried");
  mkdirSync(hurried);
  // The watcher waits by calling sleep. This one returns at once.
  writeFileSync(join(hurried, "sleep"), "#!/bin/sh\n", { mode: 0o755 });
  const traps = ["INT", "QUIT"].map((name) => `trap 'echo ${name}' ${name}`).join("; ");
  const stubborn = `${traps}; echo runs; while :; do /bin/sleep 0.001; done`;
  const server = spawn("/bin/sh", withWatcher("/bin/sh", ["-c", stubborn]), {
    env: { PATH: `${hurried}:/usr/bin:/bin` },
    stdio: ["ignore", "pipe", "inherit", "pipe"],
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  let said = "";
  server.stdout?.on("data", (chunk) => {
    said += chunk;
  });
  await until("it runs", () => said === "runs\n");
  // As when the service has ended.
  server.stdio[3]?.destroy();
  expect([...(await once(server, "close")), said]).toEqual([null, "SIGKILL", "runs\nINT\nQUIT\n"]);
});
