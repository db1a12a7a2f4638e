/**
 * Long commands in a terminal and in a pipe: what they show, and that Ctrl-C ends them in order, with the PostgreSQL that they
 * have started themselves.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { listServerProcesses } from "../../src/postgres/embedded/processes.ts";
import { until } from "../support/until.ts";
import { dataDirectory, launchParbook, parbook, startService } from "./parbook.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/parbook.mjs", import.meta.url));
const TERMINAL = fileURLToPath(new URL("../service/terminal.py", import.meta.url));
const CTRL_C = "\x03";
const BUSY_S = 60;

let data: Awaited<ReturnType<typeof dataDirectory>>;
let settings: { readonly PARBOOK_DATA_DIR: string };
const backup = (): string => `${data.path}-backup`;
const restored = (): string => `${data.path}-restored`;

beforeAll(async () => {
  data = await dataDirectory();
  settings = { PARBOOK_DATA_DIR: data.path };
  const service = await startService({ ...settings, PARBOOK_SANDBOX_MAKER: "off" });
  await service.end("SIGTERM");
});
afterAll(async () => {
  await data.remove();
  for (const path of [backup(), restored()]) await rm(path, { recursive: true, force: true });
});

function inTerminal(...args: string[]) {
  const { PATH = "", HOME = "" } = process.env;
  const child: ChildProcess = spawn("python3", [TERMINAL, process.execPath, PROGRAM, ...args], {
    env: { PATH, HOME, ...settings },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  return { said: () => stripVTControlCharacters(text), type: (keys: string) => child.stdin?.write(keys), ended };
}

/** Nobody is left, and the next start has nothing to recover. */
async function expectEndInOrder(): Promise<void> {
  const cluster = join(data.path, "postgres");
  expect(await listServerProcesses(cluster)).toEqual([]);
  expect((await readFile(`${cluster}.log`, "utf8")).trimEnd().split("\n").at(-1)).toContain("is shut down");
}

test("a terminal sees a bar and then the result; a pipe sees the result of a short run, and with --json nothing else", async () => {
  const shown = inTerminal("verify");
  expect(await shown.ended).toBe(0);
  expect(shown.said()).toMatch(/\[#+\] verifying: ([\d,]+) of \1 rows, [\d,]+ a second, 0 s left\r?\n/);
  expect(shown.said()).toContain("chain ");
  const piped = await parbook(settings, "verify");
  expect([piped.exitCode, piped.stderr]).toEqual([0, ""]);
  const json = await parbook(settings, "backup", backup(), "--json");
  expect([json.exitCode, json.stderr]).toEqual([0, ""]);
  const copied = inTerminal("restore", backup(), "--into", restored());
  expect(await copied.ended).toBe(0);
  expect(copied.said()).toMatch(/\[#+\] copying: (\d+) of \1 MB, [\d,]+ a second, 0 s left\r?\n/);
  expect(copied.said()).toMatch(/replaying the WAL: \d+ s\r?\n/);
  expect(copied.said()).toMatch(/\[#+\] verifying: /);
});

test("an interrupted restore leaves the directory empty, and an interrupted backup leaves nothing", async () => {
  const into = `${data.path}-never`;
  onTestFinished(() => rm(into, { recursive: true, force: true }));
  const restore = launchParbook(settings, "restore", backup(), "--into", into);
  await until("PostgreSQL replays", () => restore.said.stderr.includes("is replaying the WAL"), BUSY_S);
  restore.child.kill("SIGTERM");
  expect(await restore.ended).toMatchObject({
    exitCode: 143,
    stderr: expect.stringMatching(
      /interrupted: nothing was restored, and the directory is empty as before\. Run it again\n$/,
    ),
  });
  // But for its lock.
  expect(await readdir(into)).toEqual(["holder.1"]);

  const copy = launchParbook(settings, "backup", `${into}/backup`);
  await until("the backup has begun", () => copy.said.stderr.includes("backup started"), BUSY_S);
  copy.child.kill("SIGINT");
  expect((await copy.ended).exitCode).toBe(130);
  expect(copy.said.stderr).toMatch(/interrupted: no backup was written\. Run it again\n$/);
  expect(await readdir(into)).toEqual(["holder.1"]);
  await expectEndInOrder();
});

test("commands on a stopped service wait for one another, and the service for them", async () => {
  const commands = ["verify", "customer", "verify", "customer"].map((name) =>
    parbook(settings, ...(name === "customer" ? [name, "list"] : [name])),
  );
  const ended = await Promise.all(commands);
  expect(ended.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(ended.map(() => [0, ""]));
  const held = inTerminal("verify");
  await until("the bar is shown", () => held.said().includes("verifying"), BUSY_S);
  const service = await startService({ ...settings, PARBOOK_SANDBOX_MAKER: "off" });
  expect(await held.ended).toBe(0);
  await service.end("SIGTERM");
  await expectEndInOrder();
});

/** From now on, who reads transfers waits. */
async function makeEndless(): Promise<void> {
  const server = await startEmbedded({ directory: data.path, log: () => undefined });
  const client = new Client(server.connection("parbook", "postgres"));
  await client.connect();
  await client.query("alter table transfer rename to slow_transfer");
  await client.query("create view transfer as select t.* from slow_transfer t, pg_sleep(600)");
  await client.query("grant select on transfer to parbook");
  await client.end();
  await server.stop();
}

test("Ctrl-C in a long statement ends it at once, and the database in order", async () => {
  await makeEndless();
  const verify = inTerminal("verify");
  await until("the bar is shown", () => /verifying: [\d,]+ of [\d,]+ rows/.test(verify.said()), BUSY_S);
  verify.type(CTRL_C);
  expect(await verify.ended).toBe(130);
  expect(verify.said()).toMatch(
    /interrupted: nothing is known of the rest of the ledger\. Run it again: it begins anew\r?\n$/,
  );
  await expectEndInOrder();
});
