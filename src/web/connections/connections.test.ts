import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer, type ServerOptions } from "node:https";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import { boundConnections, type Dropped } from "./connections.ts";
import { TrackedResponse } from "./last-response.ts";

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

function bounded(most: number, isProxy = (_address: string) => false): { server: Server; dropped: Dropped[] } {
  const dropped: Dropped[] = [];
  const server = createServer();
  boundConnections(server, { most, isProxy, onDropped: (some) => dropped.push(some) });
  servers.push(server);
  return { server, dropped };
}

/** A connection as a server sees it that comes from elsewhere than this machine. */
function arrive(server: Server, remoteAddress: string): Duplex {
  const socket = Object.assign(new Duplex({ read: () => {}, write: () => {} }), { remoteAddress });
  server.emit("connection", socket);
  return socket;
}

test("past the bound connections are dropped, those that are there go on, and the log is told once", async () => {
  const { server, dropped } = bounded(5);
  server.on("connection", (socket) => void socket.pipe(socket).on("error", () => {}));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  };
  const first = await open();
  for (let i = 0; i < 4; i += 1) await open();
  await until("five are served", () => sockets.every((socket) => !socket.destroyed));
  const late = await Promise.all([open(), open(), open()]);
  await until("the late ones are dropped", () => {
    for (const socket of late) socket.resume();
    return late.every((socket) => socket.destroyed || socket.readableEnded);
  });
  first.write("still here");
  const [answer] = (await once(first, "data")) as [Buffer];
  expect(answer.toString()).toBe("still here");
  expect(dropped).toEqual([{ count: 1, address: "127.0.0.1", reason: "too many connections" }]);
});

test("dropped connections are reported once in ten seconds, with their number since the last report", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { server, dropped } = bounded(4);
  const arriveTimes = (count: number): void => {
    for (let i = 0; i < count; i += 1) arrive(server, "203.0.113.9");
  };
  // The first connection is within the share of its address.
  arriveTimes(1 + 3);
  vi.advanceTimersByTime(9_999);
  arriveTimes(4);
  vi.advanceTimersByTime(1);
  arriveTimes(2);
  vi.advanceTimersByTime(10_000);
  arriveTimes(1);
  expect(dropped.map(({ count }) => count)).toEqual([1, 7, 2]);
});

test("one address has a quarter of all, so that there is room for others; who leaves makes room again", async () => {
  const { server, dropped } = bounded(8);
  const [first, second, third] = ["203.0.113.9", "::ffff:203.0.113.9", "203.0.113.9"].map((from) =>
    arrive(server, from),
  );
  expect([first?.destroyed, second?.destroyed, third?.destroyed]).toEqual([false, false, true]);
  expect(dropped).toEqual([{ count: 1, address: "203.0.113.9", reason: "too many connections from one address" }]);
  expect(arrive(server, "203.0.113.10").destroyed).toBe(false);
  const left = once(first as Duplex, "close");
  first?.destroy();
  await left;
  expect(arrive(server, "203.0.113.9").destroyed).toBe(false);
  expect(arrive(server, "203.0.113.9").destroyed).toBe(true);
});

test("proxies and the machine itself stand for many, and have no share of their own", () => {
  const { server } = bounded(8, (address) => address === "10.0.0.7");
  const all = [...new Array<string>(8).fill("10.0.0.7"), ...new Array<string>(8).fill("127.0.0.1")];
  expect(all.map((from) => arrive(server, from)).filter((socket) => socket.destroyed)).toEqual([]);
});

/** An HTTP server that never answers, with its bounds. */
function silentServer(tls?: ServerOptions): { server: Server; dropped: Dropped[]; asked: () => number } {
  const dropped: Dropped[] = [];
  let asked = 0;
  const keepSilent: RequestListener = () => {
    asked += 1;
  };
  const tracking = { ServerResponse: TrackedResponse };
  const server =
    tls === undefined ? createHttpServer(tracking, keepSilent) : createHttpsServer({ ...tracking, ...tls }, keepSilent);
  boundConnections(server, { most: 40, isProxy: () => false, onDropped: (some) => dropped.push(some) });
  servers.push(server);
  return { server, dropped, asked: () => asked };
}

const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const FLOODED = "too many requests at once on a connection";

test("a connection that is flooded with requests is closed after a few, and others go on", async () => {
  const { server, dropped, asked } = silentServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [patient, flooding] = [1, 2].map(() => connect(port, "127.0.0.1").on("error", () => {}));
  sockets.push(patient as Socket, flooding as Socket);
  patient?.write(REQUEST.repeat(16));
  await until("the few have come", () => asked() === 16);
  flooding?.write(REQUEST.repeat(2_000));
  await until("the flood has ended", () => flooding?.destroyed === true);
  expect([asked(), patient?.destroyed]).toEqual([32, false]);
  expect(dropped).toEqual([{ count: 1, address: "127.0.0.1", reason: FLOODED }]);
});

test("an address that floods one connection loses all of them, and gets new ones after a while", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { server, dropped, asked } = silentServer();
  const [quiet, flooding] = [1, 2].map(() => arrive(server, "203.0.113.9"));
  const other = arrive(server, "203.0.113.10");
  flooding?.push(REQUEST.repeat(17));
  await vi.waitUntil(() => flooding?.destroyed);
  const late = arrive(server, "203.0.113.9");
  expect([quiet, flooding, late, other].map((socket) => socket?.destroyed)).toEqual([true, true, true, false]);
  expect([asked(), dropped]).toEqual([16, [{ count: 1, address: "203.0.113.9", reason: FLOODED }]]);
  vi.advanceTimersByTime(10_000);
  expect(arrive(server, "203.0.113.9").destroyed).toBe(false);
});

test("with TLS too a flooded connection is closed after as many requests, while Node is still reading it", async () => {
  const [cert, key] = ["first.crt", "first.key"].map((name) =>
    readFileSync(new URL(`../../../test/service/certificates/${name}`, import.meta.url)),
  );
  const { server, dropped, asked } = silentServer({ cert, key });
  const from = (socket: Socket): unknown => Object.defineProperty(socket, "remoteAddress", { value: "203.0.113.9" });
  server.prependListener("connection", from).prependListener("secureConnection", from);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<Socket> => {
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }).on("error", () => {});
    sockets.push(socket);
    await once(socket, "secureConnect");
    return socket.resume();
  };
  const [quiet, flooding] = [await open(), await open()];
  quiet.write(REQUEST.repeat(16));
  await until("the few have come", () => asked() === 16);
  flooding.write(REQUEST.repeat(400));
  await until("the address has lost its connections", () => quiet.destroyed && flooding.destroyed);
  expect([asked(), dropped]).toEqual([32, [{ count: 1, address: "203.0.113.9", reason: FLOODED }]]);
});
