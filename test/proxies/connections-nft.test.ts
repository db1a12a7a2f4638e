/** The packet filter beside the proxies: what one address can send to them. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, type TestContext, test } from "vitest";
import { testNetwork } from "../support/network.ts";
import { required } from "../support/required.ts";
import { until } from "../support/until.ts";

const RULES = fileURLToPath(new URL("../../ops/proxies/connections.nft", import.meta.url));
const FORGER = fileURLToPath(new URL("forged-packets.py", import.meta.url));
/** Prints how many bytes it has received, ten times a second. */
const SERVER = `let received = 0;
  require("node:net").createServer((socket) => socket.on("data", ({ length }) => void (received += length)).on("error", () => {}))
    .listen(443, () => setInterval(() => console.log(received), 100));`;
const BURST = 4 * 1024 * 1024;
const PER_SECOND = 512 * 1024;

/** A server on port 443 of a network with these rules, and how many bytes it has received. */
async function startFiltered(context: TestContext) {
  required(context, existsSync("/usr/sbin/nft") ? undefined : "nft is not installed");
  const network = testNetwork(context);
  const inside = (...words: string[]): [string, string[]] => {
    const [command = "", ...more] = network.command(...words);
    return [command, more];
  };
  execFileSync(...inside("/usr/sbin/nft", "-f", RULES));
  const server = spawn(...inside(process.execPath, "-e", SERVER), { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void server.kill());
  const counts = createInterface(server.stdout);
  await once(counts, "line");
  const open = (): Socket => {
    const socket = connect(443, network.theirs).on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { network, counts, open };
}

test("an address sends 512 KiB a second to the proxies' ports, after 4 MiB at once", async (context) => {
  const { counts, open } = await startFiltered(context);
  const socket = open();
  const bytes = Buffer.alloc(65_536);
  const send = (): void => {
    while (socket.write(bytes));
  };
  socket.on("drain", send).once("connect", send);
  const started = performance.now();
  let received = 0;
  counts.on("line", (line) => {
    received = Number(line);
  });
  while (performance.now() - started < 3_000) await once(counts, "line");
  // The rule lets the rate of a second through beside the burst.
  const most = BURST + ((performance.now() - started) / 1_000 + 1) * PER_SECOND;
  expect(received).toBeGreaterThan(BURST / 2);
  expect(received).toBeLessThan(most);
});

test("an address has 500 connections open; more are reset", async (context) => {
  const { open } = await startFiltered(context);
  const sockets = Array.from({ length: 520 }, open);
  const all = sockets.map((socket) => {
    let isOver = false;
    socket.once("close", () => {
      isOver = true;
    });
    return () => isOver;
  });
  await until("those beyond are reset", () => all.filter((isOver) => isOver()).length === 20);
  const [first] = sockets.filter((_, at) => all[at]?.() === false);
  first?.destroy();
  await until("there is room for another", async () => {
    const next = open();
    return new Promise<boolean>(
      (resolve) => void next.once("close", () => resolve(false)).once("connect", () => resolve(true)),
    );
  });
});

test("packets that somebody sends in an address's name use up nothing of it", async (context) => {
  const { network, open } = await startFiltered(context);
  const forging = spawn("/usr/bin/python3", [FORGER, network.theirs, "443", network.ours, "1000", "8"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void forging.kill());
  const [sent] = await once(forging.stdout, "data");
  expect(Number(sent)).toBeGreaterThan(3_000);
  const took: number[] = [];
  while (forging.exitCode === null && took.length < 20) {
    const started = performance.now();
    const socket = open();
    await once(socket, "connect");
    socket.end("a byte is enough");
    await once(socket.resume(), "close");
    took.push(performance.now() - started);
  }
  // A packet that is dropped is sent again after a second.
  expect(Math.max(...took)).toBeLessThan(900);
});
