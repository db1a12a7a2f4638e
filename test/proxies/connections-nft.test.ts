/** The packet filter beside the proxies: what one address can send to them. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { testNetwork } from "../support/network.ts";
import { required } from "../support/required.ts";

const RULES = fileURLToPath(new URL("../../ops/proxies/connections.nft", import.meta.url));
/** Prints how many bytes it has received, ten times a second. */
const SERVER = `let received = 0;
  require("node:net").createServer((socket) => socket.on("data", ({ length }) => void (received += length)))
    .listen(443, () => setInterval(() => console.log(received), 100));`;
const BURST = 4 * 1024 * 1024;
const PER_SECOND = 512 * 1024;

test("an address sends 512 KiB a second to the proxies' ports, after 4 MiB at once", async (context) => {
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
  const socket = connect(443, network.theirs).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
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
