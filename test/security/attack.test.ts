/** The short form of `bench/attacks/attack.mjs`: hostile connections from an address of their own, which is not loopback. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_RATES } from "../../src/web/limits/rates.ts";
import { testNetwork } from "../support/network.ts";
import { startTestService } from "../support/service.ts";

const ATTACKERS = fileURLToPath(new URL("../../bench/attacks/attackers.mjs", import.meta.url));
const KINDS = ["pong-flood", "pipelining", "tiny-pipelining"];
const [CONNECTIONS, SECONDS] = [200, 2];
/** The goal of the long form is 250 ms; here clients, service and other tests share the machine. */
const LONGEST_MS = 2_500;
const MOST_BYTES = 300e6;

test("hundreds of hostile connections of one address do not block other callers", async (context) => {
  const network = testNetwork(context);
  const service = await startTestService({ host: "0.0.0.0", rateLimits: DEFAULT_RATES });
  onTestFinished(() => service.close());
  const { port } = new URL(service.baseUrl);
  const idle = process.memoryUsage().rss;
  for (const kind of KINDS) {
    const options = { kind, host: network.ours, port: Number(port), connections: CONNECTIONS, seconds: SECONDS };
    const [command = "", ...words] = network.command(process.execPath, ATTACKERS, JSON.stringify(options));
    const attackers = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void attackers.kill());
    let isOver = false;
    const received = text(attackers.stdout).finally(() => {
      isOver = true;
    });
    let longest = 0;
    while (!isOver) {
      const began = performance.now();
      const { status } = await fetch(`http://127.0.0.1:${port}/healthz`);
      expect(status).toBe(200);
      longest = Math.max(longest, performance.now() - began);
      await pause(20);
    }
    const { closed } = JSON.parse(await received);
    expect([kind, closed > 0, longest < LONGEST_MS, process.memoryUsage().rss - idle < MOST_BYTES]).toEqual([
      kind,
      true,
      true,
      true,
    ]);
  }
});
