/** The packet filter for the service's own TLS: how many connections a second one address may open. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { testNetwork } from "../support/network.ts";
import { required } from "../support/required.ts";
import { until } from "../support/until.ts";

const RULES = fileURLToPath(new URL("../../ops/production/own-tls.nft", import.meta.url));
/** Prints how many connections it has accepted, and how many bytes it has received. */
const SERVER = `let [accepted, received] = [0, 0];
  require("node:net").createServer((socket) => { accepted += 1; socket.on("data", ({ length }) => void (received += length)).on("error", () => {}); })
    .listen({ port: 8080, backlog: 4096 }, () => setInterval(() => console.log(accepted, received), 100));`;
const [BURST, PER_SECOND] = [1_000, 100];

test("an address opens 100 connections a second, after 1,000 at once, and those that are open go on", async (context) => {
  required(context, existsSync("/usr/sbin/nft") ? undefined : "nft is not installed");
  const network = testNetwork(context);
  const inside = (...words: string[]): [string, string[]] => {
    const [command = "", ...more] = network.command(...words);
    return [command, more];
  };
  execFileSync(...inside("/usr/sbin/nft", "-f", RULES));
  const server = spawn(...inside(process.execPath, "-e", SERVER), { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void server.kill());
  let [accepted = 0, received = 0]: number[] = [];
  const lines = createInterface(server.stdout).on("line", (line) => {
    [accepted = 0, received = 0] = line.split(" ").map(Number);
  });
  await once(lines, "line");
  const open = () => {
    const socket = connect(8080, network.theirs).on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const first = open();
  await until("the first one is accepted", () => accepted === 1);
  const started = performance.now();
  for (let i = 0; i < 1_500; i += 1) open();
  await until("as many are accepted as at once", () => accepted >= BURST);
  first.write("x".repeat(500_000));
  await until("the first one goes on", () => received === 500_000);
  await once(lines, "line");
  // The rule lets the rate of a second through beside the burst.
  expect(accepted).toBeLessThan(BURST + ((performance.now() - started) / 1_000 + 1) * PER_SECOND);
});
