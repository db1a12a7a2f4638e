import { createServer } from "node:https";
import { expect, onTestFinished, test, vi } from "vitest";
import { certificate, listening, OK, outgoing, useReceivers } from "../../../test/support/http/outgoing.ts";
import { HandshakeShares } from "./handshake-shares.ts";

useReceivers();

test("who has taken more than its share waits until it is within it, in order, and nobody else does", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let now = 0;
  const shares = new HandshakeShares(() => now);
  const begun: string[] = [];
  const work = (name: string, ms: number) => () => {
    begun.push(`${name} at ${Math.round(now / 100)}`);
    now += ms;
  };
  const pass = (ms: number): void => {
    for (const end = now + ms; now < end; now += 10) vi.advanceTimersByTime(10);
  };
  for (const name of ["ann 1", "ann 2", "ann 3"]) shares.run("ann", work(name, 400));
  shares.run("bob", work("bob 1", 1));
  // 400 ms are those of two seconds, of which one is given in advance.
  expect(begun).toEqual(["ann 1 at 0", "bob 1 at 4"]);
  pass(20_000);
  expect(begun.slice(2)).toEqual(["ann 2 at 14", "ann 3 at 34"]);
  for (const name of ["ann 4", "ann 5"]) shares.run("ann", work(name, 100));
  expect(begun.slice(4)).toEqual(["ann 4 at 204", "ann 5 at 205"]);
});

test("each piece of a handshake is read in the turn of who pays, else of the host", async () => {
  const payers: string[] = [];
  const run = vi.spyOn(HandshakeShares.prototype, "run").mockImplementation((payer, work) => {
    payers.push(payer);
    setTimeout(work, 5);
  });
  onTestFinished(() => run.mockRestore());
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
