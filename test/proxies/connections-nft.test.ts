/** The packet filter beside the proxies: what one address can send to them. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, type TestContext, test } from "vitest";
import { testNetwork } from "../support/network.ts";
import { required } from "../support/required.ts";
import { until } from "../support/until.ts";
import { addWideNetwork } from "./wide-network.ts";

const RULES = fileURLToPath(new URL("../../ops/proxies/connections.nft", import.meta.url));
const FORGER = fileURLToPath(new URL("forged-packets.py", import.meta.url));
/** Prints how many bytes it has received, ten times a second. */
const SERVER = `let received = 0;
  require("node:net").createServer((socket) => socket.on("data", ({ length }) => void (received += length)).on("error", () => {}))
    .listen(443, () => setInterval(() => console.log(received), 100));`;
const BURST = 4 * 1024 * 1024;
const PER_SECOND = 512 * 1024;
/** An IPv6 network of 48 bits has as much as so many addresses. */
const ADDRESSES_OF_WIDE = 4;

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
  const opened = (socket: Socket): Socket => {
    socket.on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const open = (): Socket => opened(connect(443, network.theirs));
  const openFrom = (networks: number): ((from: number) => Socket) => {
    const optionsOf = addWideNetwork(network, networks);
    return (from) => opened(connect(optionsOf(from, 443)));
  };
  return { network, counts, open, openFrom };
}

/** Sends all that they take for three seconds. @returns how much has arrived, and after how many seconds */
async function flood(sockets: readonly Socket[], counts: Interface): Promise<[received: number, seconds: number]> {
  const bytes = Buffer.alloc(65_536);
  for (const socket of sockets) {
    const send = (): void => {
      while (socket.write(bytes));
    };
    socket.on("drain", send).once("connect", send);
  }
  const started = performance.now();
  let received = 0;
  counts.on("line", (line) => {
    received = Number(line);
  });
  while (performance.now() - started < 3_000) await once(counts, "line");
  return [received, (performance.now() - started) / 1_000];
}

/** Those that have been closed by now. */
function closedOf(sockets: readonly Socket[]): ReadonlySet<Socket> {
  const closed = new Set<Socket>();
  for (const socket of sockets) socket.once("close", () => closed.add(socket));
  return closed;
}

test("an address sends 512 KiB a second to the proxies' ports, after 4 MiB at once", async (context) => {
  const { counts, open } = await startFiltered(context);
  const [received, seconds] = await flood([open()], counts);
  expect(received).toBeGreaterThan(BURST / 2);
  // The rule lets the rate of a second through beside the burst.
  expect(received).toBeLessThan(BURST + (seconds + 1) * PER_SECOND);
});

test("all of an IPv6 network of 48 bits send as much as four addresses", async (context) => {
  const { counts, openFrom } = await startFiltered(context);
  const open = openFrom(12);
  const [received, seconds] = await flood(
    Array.from({ length: 12 }, (_, at) => open(at + 1)),
    counts,
  );
  expect(received).toBeGreaterThan((ADDRESSES_OF_WIDE * BURST) / 2);
  expect(received).toBeLessThan(ADDRESSES_OF_WIDE * (BURST + (seconds + 1) * PER_SECOND));
});

test("an address has 500 connections open; more are reset", async (context) => {
  const { open } = await startFiltered(context);
  const sockets = Array.from({ length: 520 }, open);
  const over = closedOf(sockets);
  await until("those beyond are reset", () => over.size === 20);
  const first = sockets.find((socket) => !over.has(socket));
  first?.destroy();
  await until("there is room for another", async () => {
    const next = open();
    return new Promise<boolean>(
      (resolve) => void next.once("close", () => resolve(false)).once("connect", () => resolve(true)),
    );
  });
});

test("all of an IPv6 network of 48 bits have 2,000 connections open; more are reset", async (context) => {
  const { openFrom } = await startFiltered(context);
  const open = openFrom(5);
  const over = closedOf(Array.from({ length: 2_250 }, (_, at) => open((at % 5) + 1)));
  await until("those beyond are reset", () => over.size === 250, 60);
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
