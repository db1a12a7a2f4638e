import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { connect, Socket } from "node:net";
import { fastify } from "fastify";
import { expect, onTestFinished, test, vi } from "vitest";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { startToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import type { Api } from "../../api/api.ts";
import { unavailable } from "../../api/problems/problems.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { paceRejections, RejectionPace } from "./rejection-pace.ts";

async function endedOn(socket: Socket): Promise<IncomingMessage> {
  const request = new IncomingMessage(socket);
  request.push(null);
  await once(request.resume(), "end");
  return request;
}

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

test("of one network 250 are, and what it waits for is not in the way of others", () => {
  let now = 0;
  const pace = new RejectionPace(() => now);
  expect([pace.next("a"), pace.next("a"), pace.next("a"), pace.next("b"), pace.next()]).toEqual([0, 4, 8, 3, 4]);
  for (let rejected = 0; rejected < 400; rejected += 1) pace.next("a");
  // By then all together have waited for 405.
  expect([pace.next("a"), pace.next("b")]).toEqual([1_000, 406]);
  now = 999;
  expect([pace.next("a"), pace.next("b")]).toEqual([1, 1]);
});

test("a large request counts as many rejections, however it is delayed", () => {
  let now = 0;
  const pace = new RejectionPace(() => now);
  expect([pace.next(undefined, 16), pace.next(), pace.next(undefined, 5_000), pace.next()]).toEqual([0, 16, 17, 1_000]);
  now = 1_000;
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const sent: number[] = [];
  for (const rejections of [100, 200, 1]) pace.send(() => sent.push(rejections), undefined, rejections);
  vi.advanceTimersByTime(150);
  expect(sent).toEqual([100, 200]);
  vi.advanceTimersByTime(200);
  expect(sent).toEqual([100, 200, 1]);
});

test("a rejected caller's connection is not read for a while, and then it is", async () => {
  const pace = new RejectionPace(() => 0);
  const sockets = Array.from({ length: 50 }, () => new Socket());
  for (const request of await Promise.all(sockets.map(endedOn))) pace.rejected(request);
  await new Promise(setImmediate);
  // The first one has nobody to wait for.
  expect(sockets.map((socket) => socket.isPaused())).toEqual([false, ...Array(49).fill(true)]);
  await until("all are read again", () => sockets.every((socket) => !socket.isPaused()));
});

test("a rejected request that has not come whole is read to its end first", async () => {
  const pace = new RejectionPace(() => 0);
  const socket = new Socket();
  const request = new IncomingMessage(socket);
  pace.next(undefined, 200);
  pace.rejected(request);
  request.resume();
  request.push("the rest");
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect(socket.isPaused()).toBe(false);
  request.push(null);
  await until("it is held back", () => socket.isPaused());
  await until("it is read again", () => !socket.isPaused());
});

test("a body counts when it has arrived, and not when it is announced", async () => {
  const server = fastify();
  onTestFinished(() => server.close());
  const next = vi.spyOn(RejectionPace.prototype, "next");
  onTestFinished(() => next.mockRestore());
  paceRejections(server, { isShared: () => false, isPaced: () => true });
  server.addHook("onRequest", async (_, reply) => reply.code(401).send("no"));
  server.post("/", () => "never");
  const url = new URL(await server.listen());
  const socket = connect(Number(url.port), url.hostname).resume();
  onTestFinished(() => void socket.destroy());
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40960\r\n\r\n${"x".repeat(4_096)}`);
  await once(socket, "data");
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect(next.mock.calls).toEqual([]);
  socket.write("x".repeat(40_960 - 4_096));
  await until("it has arrived", () => next.mock.calls.length > 0);
  expect(next.mock.calls).toEqual([[expect.stringMatching(/^127\.0\.0\.1$|::/), 1 + 1 / 4_096 + 10]]);
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
  const request = await endedOn(socket);
  // Answers of a batch are written in this phase of the loop, and a timer of the next turn comes before its own kind.
  await new Promise<void>((resolve) =>
    setImmediate(() => {
      for (let i = 0; i < 3; i += 1) pace.rejected(request);
      for (const busyUntil = performance.now() + 20; performance.now() < busyUntil; );
      resolve();
    }),
  );
  await until("it is read again", () => calls.includes("read again"));
  expect(calls).toEqual(["held back", "held back", "read again"]);
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
  // Those have left, and further ones wait again.
  pace.send(() => sent.push(6));
  expect(sent).toEqual([0, 4, 5, 1, 2, 3]);
  vi.runAllTimers();
  expect(sent).toEqual([0, 4, 5, 1, 2, 3, 6]);
});

/** A toy in whose time only a test moves on; `asked` counts the requests that have come. */
async function startPaced(add?: (api: Api) => void): Promise<{ url: string; asked: (count: number) => Promise<void> }> {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const toy = await startToyApi(add);
  onTestFinished(() => toy.close());
  let come = 0;
  toy.api.server.on("request", () => (come += 1));
  const asked = async (count: number): Promise<void> => {
    while (come < count) await new Promise(setImmediate);
  };
  return { url: toy.url, asked };
}

test("a connection from loopback, where a proxy may run, is still read after a rejection, which is delayed instead", async () => {
  let rejected = 0;
  const { url } = await startPaced((api) => {
    const open = { config: { scope: "public" as const }, schema: { hide: true } };
    api.get("/full", open, async () => {
      rejected += 1;
      throw unavailable("there is no room");
    });
    api.get("/free", open, async () => ({}));
  });
  const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const flood = sendRaw(url, get("/full").repeat(1_000) + get("/full", "Connection: close\r\n"));
  // They are taken in turns.
  const untilRejected = async (count: number): Promise<void> => {
    while (rejected < count) await new Promise(setImmediate);
  };
  await untilRejected(1_001);
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const answer = async (): Promise<number[]> => statusesIn(String((await once(socket, "data"))[0]));
  socket.write(get("/full"));
  await untilRejected(1_002);
  const rejection = answer();
  vi.advanceTimersByTime(1_000);
  expect(await rejection).toEqual([503]);
  // While no time passes, a connection that is held back is not read again.
  socket.write(get("/free"));
  expect(await answer()).toEqual([200]);
  socket.destroy();
  expect(statusesIn(await flood)).toHaveLength(1_001);
});

test.each([
  ["that the caller wants to be the last one", "Connection: close\r\n", {}],
  ["that we make the last one", "", { connection: "close" }],
])("so is, on any connection, a rejection %s: the caller would come again on another", async (_, asks, headers) => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const server = fastify();
  onTestFinished(() => server.close());
  paceRejections(server, { isShared: () => false, isPaced: (_request, status) => status === 429 });
  let rejected = 0;
  server.get("/", async (_request, reply) => {
    rejected += 1;
    return reply.code(429).headers(headers).send();
  });
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  let answered = 0;
  const answers = Array.from({ length: 10 }, async () => {
    const statuses = statusesIn(await sendRaw(url, `GET / HTTP/1.1\r\nHost: a\r\n${asks}\r\n`));
    answered += 1;
    return statuses;
  });
  while (rejected < 10 || answered < 1) await new Promise(setImmediate);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(answered).toBe(1);
  // All of one address.
  vi.advanceTimersByTime(40);
  expect(await Promise.all(answers)).toEqual(Array(10).fill([429]));
});

test("the rejection is delayed, too, on a connection of a trusted proxy, wherever that is", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const toy = await startToyApi(undefined, { trustedProxies: [parseNetwork("10.0.0.0/8") as Network] });
  onTestFinished(() => toy.close());
  const rejection = () => toy.api.inject({ url: "/v2/toys", headers: { host: "toy" }, remoteAddress: "10.0.0.7" });
  expect((await rejection()).statusCode).toBe(401);
  let isOver = false;
  const delayed = rejection().finally(() => (isOver = true));
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(isOver).toBe(false);
  vi.advanceTimersByTime(2);
  expect((await delayed).statusCode).toBe(401);
});

test.each([
  ["a long URL", `GET /v2/toys?${"a".repeat(40_960)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ["a large body", `POST /v2/toys/default HTTP/1.1\r\nHost: a\r\nContent-Length: 40960\r\n\r\n${"x".repeat(40_960)}`],
])("the rejection of %s counts as eleven", async (_, request) => {
  const { url, asked } = await startPaced();
  expect(statusesIn(await sendRaw(url, request.replace("Host: a\r\n", "Host: a\r\nConnection: close\r\n")))).toEqual([
    401,
  ]);
  let isOver = false;
  const next = sendRaw(url, "GET /v2/toys HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").finally(
    () => (isOver = true),
  );
  await asked(2);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  vi.advanceTimersByTime(10);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(isOver).toBe(false);
  vi.advanceTimersByTime(2);
  expect(statusesIn(await next)).toEqual([401]);
});

test("rejections of unauthenticated callers are paced, those of clients are not", async () => {
  const { url, asked } = await startPaced();
  const invalid = (more: string): string => `GET /v2/toys?limit=0 HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const flood = sendRaw(url, invalid("").repeat(1_000) + invalid("Connection: close\r\n"));
  await asked(1_001);
  let isOver = false;
  const stranger = sendRaw(url, invalid("Connection: close\r\n")).finally(() => (isOver = true));
  await asked(1_002);
  const client = () => sendRaw(url, invalid("Authorization: Bearer good\r\nConnection: close\r\n"));
  expect(statusesIn(await client())).toEqual([400]);
  vi.advanceTimersByTime(999);
  expect([statusesIn(await client()), isOver]).toEqual([[400], false]);
  vi.advanceTimersByTime(1);
  expect(statusesIn(await stranger)).toEqual([401]);
  expect(statusesIn(await flood)).toEqual(Array(1_001).fill(401));
});

test("what is sent to unauthenticated callers as they asked for it is not counted as a rejection", async () => {
  const { url, asked } = await startPaced((api) => {
    api.get("/public", { config: { scope: "public" }, schema: { hide: true } }, async () => "public");
  });
  const request = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const hundred = request("/public").repeat(99) + request("/public", "Connection: close\r\n");
  for (let sent = 100; sent <= 1_100; sent += 100) {
    expect(statusesIn(await sendRaw(url, hundred))).toEqual(Array(100).fill(200));
    await asked(sent);
  }
  expect(statusesIn(await sendRaw(url, request("/v2/toys", "Connection: close\r\n")))).toEqual([401]);
});
