import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import { expect, onTestFinished, test, vi } from "vitest";
import { certificate, listening, OK, outgoing, useReceivers } from "../../../test/support/http/outgoing.ts";
import { until } from "../../../test/support/until.ts";
import { TlsShares } from "./tls-shares.ts";

useReceivers();

/** Shares whose clock goes on while work is done, and by `pass`. `begun` has what was begun, and after how many tenths of a second. */
function start() {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let now = 0;
  let stoodStillMs = 0;
  const begun: string[] = [];
  const work = (name: string, ms: number) => () => {
    begun.push(`${name} at ${Math.round(now / 100)}`);
    now += ms;
  };
  const standStill = (ms: number) => () => {
    now += ms;
    stoodStillMs += ms;
  };
  const pass = (ms: number): void => {
    for (const end = now + ms; now < end; now += 10) vi.advanceTimersByTime(10);
  };
  const shares = new TlsShares(
    () => now,
    () => now - stoodStillMs,
  );
  return { shares, begun, work, standStill, pass };
}

test("who has taken more than its share waits until it is within it, in order, and nobody else does", () => {
  const { shares, begun, work, pass } = start();
  for (let made = 1; made <= 43; made += 1) shares.run("ann", work(`ann ${made}`, 10));
  shares.run("bob", work("bob 1", 1));
  // 200 ms at once, then a fifth of the time: what began within it is done.
  expect(begun.length).toBe(26);
  expect(begun.at(-1)).toBe("bob 1 at 3");
  pass(5_000);
  expect(begun.slice(26).map((text) => text.split(" ")[1])).toEqual(
    Array.from({ length: 18 }, (_, i) => String(26 + i)),
  );
  expect(begun.at(-1)).toBe("ann 43 at 11");
});

test("a piece that takes ten times as long as usual counts a hundred times, because nobody else's is read meanwhile", () => {
  const { shares, begun, work, pass } = start();
  for (const name of ["one", "two", "three"]) shares.run("ann", work(name, 100));
  pass(20_000);
  // Each counts as a second, which is a fifth of five; one of these is given in advance.
  expect(begun).toEqual(["one at 0", "two at 41", "three at 91"]);
});

test("time in which the machine was paused counts against nobody", () => {
  const { shares, begun, work, standStill } = start();
  for (let i = 0; i < 15; i += 1) shares.run("ann", standStill(400));
  shares.run("ann", work("one", 10));
  expect(begun).toEqual(["one at 60"]);
});

test("a piece counts by the processor time that it used, and not by how long it waited", () => {
  const shares = new TlsShares();
  const begun: string[] = [];
  shares.run("waits", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150));
  shares.run("works", () => {
    // In microseconds.
    const { user, system } = process.cpuUsage();
    for (let used = process.cpuUsage(); used.user + used.system < user + system + 150_000; used = process.cpuUsage());
  });
  for (const payer of ["waits", "works"]) shares.run(payer, () => begun.push(payer));
  expect(begun).toEqual(["waits"]);
});

/** The payer of each piece that was read, in order. Each is read a little later. */
function delayPieces(): string[] {
  const payers: string[] = [];
  const run = vi.spyOn(TlsShares.prototype, "run").mockImplementation((payer, work) => {
    payers.push(payer);
    setTimeout(work, 5);
  });
  onTestFinished(() => run.mockRestore());
  return payers;
}

test("each piece of an answer is read in its turn too: a receiver may ask for new keys again and again", async () => {
  const payers = delayPieces();
  let before = 0;
  const answer = async (response: ServerResponse): Promise<void> => {
    before = payers.length;
    for (let piece = 1; piece <= 5; piece += 1) {
      response.write("x".repeat(20_000));
      // Or is not read any more: who asked has seen enough of it, and the test has ended.
      await until("it has been read", () => payers.length >= before + piece || response.destroyed);
    }
    response.end();
  };
  const port = await listening(createServer(certificate, (_request, response) => void answer(response)));
  const outcome = await outgoing().post(`https://receiver.example:${port}/`, { payer: "acme" });
  expect(outcome).toMatchObject({ kind: "answered", status: 200 });
  expect(new Set(payers.slice(before))).toEqual(new Set(["acme"]));
});

test("each piece of a handshake is read in the turn of who pays, else of the host", async () => {
  const payers = delayPieces();
  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    const options = { ...certificate, maxVersion };
    const port = await listening(createServer(options, (_request, response) => void response.end("ok")));
    const url = `https://receiver.example:${port}/`;
    expect(await outgoing().post(url, { payer: "acme" })).toEqual(OK);
    expect(new Set(payers)).toEqual(new Set(["acme"]));
    payers.length = 0;
    expect(await outgoing().post(url)).toEqual(OK);
    expect(new Set(payers)).toEqual(new Set(["receiver.example"]));
    payers.length = 0;
  }
});
