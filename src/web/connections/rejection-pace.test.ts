import { once } from "node:events";
import { connect, Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { startToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import { unavailable } from "../../api/problems/problems.ts";
import { RejectionPace } from "./rejection-pace.ts";

test("a thousand rejections a second are sent at once, further ones wait, at most a second", () => {
  let now = 0;
  const pace = new RejectionPace(() => now);
  expect([pace.next(), pace.next(), pace.next()]).toEqual([0, 1, 2]);
  now = 2;
  expect(pace.next()).toBe(1);
  now = 10;
  expect(pace.next()).toBe(0);
  for (let rejected = 0; rejected < 5_000; rejected += 1) pace.next();
  expect(pace.next()).toBe(1_000);
  now = 1_010;
  expect(pace.next()).toBe(0);
});

test("a rejected caller's connection is not read for a while, and then it is", async () => {
  const pace = new RejectionPace(() => 0);
  const sockets = Array.from({ length: 50 }, () => new Socket());
  for (const socket of sockets) pace.rejected(socket);
  await new Promise(setImmediate);
  // The first one has nobody to wait for.
  expect(sockets.map((socket) => socket.isPaused())).toEqual([false, ...Array(49).fill(true)]);
  await until("all are read again", () => sockets.every((socket) => !socket.isPaused()));
});

test("a connection that is held back is read again, also when the loop is busy for longer than that", async () => {
  const pace = new RejectionPace(() => 0);
  const calls: string[] = [];
  const socket = new Socket();
  socket.pause = () => {
    calls.push("held back");
    return socket;
  };
  socket.resume = () => {
    calls.push("read again");
    return socket;
  };
  // Answers of a batch are written in this phase of the loop, and a timer of the next turn comes before its own kind.
  await new Promise<void>((resolve) =>
    setImmediate(() => {
      for (let i = 0; i < 3; i += 1) pace.rejected(socket);
      for (const busyUntil = performance.now() + 20; performance.now() < busyUntil; );
      resolve();
    }),
  );
  await until("all are read again", () => calls.length === 4);
  expect(calls).toEqual(["held back", "held back", "read again", "read again"]);
});

test("on a shared connection rejections wait until they are due, but only so many", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const pace = new RejectionPace(() => 0, 3);
  const sent: number[] = [];
  for (let at = 0; at < 6; at += 1) pace.send(() => sent.push(at));
  expect(sent).toEqual([0, 4, 5]);
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([0, 4, 5, 1]);
  vi.advanceTimersByTime(2);
  expect(sent).toEqual([0, 4, 5, 1, 2, 3]);
});

test("a connection from loopback, where a proxy may run, is still read after a rejection, which is delayed instead", async () => {
  const toy = await startToyApi((api) => {
    const open = { config: { scope: "public" as const }, schema: { hide: true } };
    api.get("/full", open, async () => {
      throw unavailable("there is no room");
    });
    api.get("/free", open, async () => ({}));
  });
  onTestFinished(() => toy.close());
  const asked = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const flood = sendRaw(toy.url, asked("/full").repeat(1_500) + asked("/full", "Connection: close\r\n"));
  const { hostname, port } = new URL(toy.url);
  const socket = connect(Number(port), hostname);
  const answerTo = async (path: string): Promise<{ statuses: number[]; ms: number }> => {
    const asking = performance.now();
    socket.write(asked(path));
    const [answer] = await once(socket, "data");
    return { statuses: statusesIn(String(answer)), ms: performance.now() - asking };
  };
  await once(toy.api.server, "request");
  expect((await answerTo("/full")).statuses).toEqual([503]);
  const { statuses, ms } = await answerTo("/free");
  expect(statuses).toEqual([200]);
  expect(ms).toBeLessThan(500);
  socket.destroy();
  expect(statusesIn(await flood)).toHaveLength(1_501);
});

test("rejections of unauthenticated callers are paced, those of clients are not", async () => {
  const toy = await startToyApi();
  onTestFinished(() => toy.close());
  const invalid = (more: string): string => `GET /v2/toys?limit=0 HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const flood = sendRaw(toy.url, invalid("").repeat(1_500) + invalid("Connection: close\r\n"));
  await once(toy.api.server, "request");
  const millisecondsOf = async (token: string): Promise<number> => {
    const asking = performance.now();
    const answer = await sendRaw(toy.url, invalid(`${token}Connection: close\r\n`));
    expect(statusesIn(answer)).toEqual([token === "" ? 401 : 400]);
    return performance.now() - asking;
  };
  const [ofStranger, ofClient] = await Promise.all([
    millisecondsOf(""),
    millisecondsOf("Authorization: Bearer good\r\n"),
  ]);
  expect(ofClient).toBeLessThan(500);
  expect(ofStranger).toBeGreaterThan(800);
  expect(statusesIn(await flood)).toEqual(Array(1_501).fill(401));
});
