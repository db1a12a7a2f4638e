import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { arrive, bounded, FLOODED, REQUEST, silentServer } from "../../../test/support/http/bounded-server.ts";
import { readCertificate } from "../../../test/support/http/certificate.ts";
import { seeAddress } from "../../../test/support/http/from-elsewhere.ts";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { GRANT, startToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import { boundConnections, type Dropped } from "./connections.ts";
import { noteValidToken } from "./open-connections.ts";
import { sharedBy } from "./server-options.ts";
import { TrackedResponse } from "./tracked-response.ts";

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

test("past the bound connections are dropped, open ones continue, and it is logged once", async () => {
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
  const { server, dropped } = bounded(2);
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

const PER_ADDRESS = "too many connections from one address";

test("one address gets half of all connections; closed ones make room again", async () => {
  const { server, dropped } = bounded(8);
  const open = Array.from({ length: 5 }, (_, at) => arrive(server, `${at % 2 === 0 ? "" : "::ffff:"}203.0.113.9`));
  expect(open.map(({ destroyed }) => destroyed)).toEqual([false, false, false, false, true]);
  expect(dropped).toEqual([{ count: 1, address: "203.0.113.9", reason: PER_ADDRESS }]);
  expect(arrive(server, "203.0.113.10").destroyed).toBe(false);
  const left = once(open[0] as Duplex, "close");
  open[0]?.destroy();
  await left;
  expect(arrive(server, "203.0.113.9").destroyed).toBe(false);
  expect(arrive(server, "203.0.113.9").destroyed).toBe(true);
});

test("of an IPv6 network of 48 bits all addresses together have half", () => {
  const { server } = bounded(16);
  const dropped = Array.from({ length: 20 }, (_, at) => arrive(server, `2001:db8:0:${at}::1`).destroyed);
  expect(dropped.filter((each) => !each)).toHaveLength(8);
  expect(arrive(server, "2001:db8:1::1").destroyed).toBe(false);
});

test("without room a new connection replaces an idle one of an address that has more", () => {
  const { server } = bounded(40);
  const addresses = Array.from({ length: 10 }, (_, at) => `203.0.113.${at}`);
  const open = addresses.flatMap((address) =>
    Array.from({ length: 40 }, () => ({ address, socket: arrive(server, address) })),
  );
  const left = addresses.map((of) => open.filter(({ address, socket }) => address === of && !socket.destroyed).length);
  expect(left.reduce((sum, count) => sum + count)).toBe(38);
  expect(Math.min(...left)).toBeGreaterThanOrEqual(3);
  expect(Math.max(...left)).toBeLessThanOrEqual(5);
  expect(arrive(server, "203.0.113.99").destroyed).toBe(false);
});

test("a connection ends for no newcomer while a request on it is under way, or when a good token was shown on it", async () => {
  const { server, dropped } = silentServer();
  const first = Array.from({ length: 19 }, () => arrive(server, "203.0.113.1"));
  // Of these requests one has not come whole.
  for (const [at, socket] of first.slice(0, 10).entries()) socket.push(at === 0 ? REQUEST.slice(0, -2) : REQUEST);
  for (const socket of first.slice(10)) noteValidToken(socket as Socket, "acme");
  await new Promise(setImmediate);
  const others = Array.from({ length: 30 }, (_, at) => arrive(server, `203.0.113.${at + 2}`));
  expect(first.map(({ destroyed }) => destroyed)).toEqual([true, ...new Array<boolean>(18).fill(false)]);
  expect(others.filter(({ destroyed }) => destroyed)).toHaveLength(10);
  expect(dropped).toEqual([{ count: 1, address: "203.0.113.1", reason: "idle while others need connections" }]);
});

test("an address that has many connections keeps 64 on which a good token was shown, those with a request among them", async () => {
  const { server } = silentServer(undefined, 200);
  const first = Array.from({ length: 95 }, () => arrive(server, "203.0.113.1"));
  for (const socket of first) noteValidToken(socket as Socket, "acme");
  const busy = first.slice(0, 10);
  for (const socket of busy) socket.push(REQUEST);
  await new Promise(setImmediate);
  const others = Array.from({ length: 400 }, (_, at) => arrive(server, `198.51.100.${at % 200}`));
  expect(first.filter(({ destroyed }) => !destroyed)).toHaveLength(64);
  expect(busy.filter(({ destroyed }) => destroyed)).toEqual([]);
  expect(others.filter(({ destroyed }) => !destroyed)).toHaveLength(190 - 64);
});

test("proxies and the machine itself stand for many, and have no share of their own", () => {
  const { server } = bounded(8, (address) => address === "10.0.0.7");
  const all = [...new Array<string>(8).fill("10.0.0.7"), ...new Array<string>(8).fill("127.0.0.1")];
  expect(all.map((from) => arrive(server, from)).filter((socket) => socket.destroyed)).toEqual([]);
});

test("what was sent on a connection that was reset before it was accepted is not served", async () => {
  const { server, asked, dropped } = silentServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, "connection");
  const client = `require("net").connect(${port}, "127.0.0.1", function () {
    this.write(${JSON.stringify(REQUEST)}, () => this.resetAndDestroy());
  })`;
  // This process, and with it the server, waits for the client to end.
  spawnSync(process.execPath, ["-e", client]);
  await accepted;
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect([asked(), dropped]).toEqual([0, []]);
});

test("a TLS connection without an address is closed", () => {
  const { server } = silentServer(readCertificate());
  expect(arrive(server, undefined, "secureConnection").destroyed).toBe(true);
});

test("of an address 128 requests may wait behind others on their connections, and one more ends its connection", async () => {
  const { server, asked } = silentServer();
  const open = Array.from({ length: 10 }, () => arrive(server, "203.0.113.9"));
  for (const socket of open) socket.push(REQUEST.repeat(16));
  await until("the last connection has ended", () => open.at(-1)?.destroyed === true);
  expect(open.map(({ destroyed }) => destroyed)).toEqual([...new Array<boolean>(8).fill(false), true, true]);
  // Eight connections with 15 behind the first each, 8 more behind the first of the ninth, and the first of the tenth.
  expect(asked()).toBe(8 * 16 + 9 + 1);
  const other = arrive(server, "203.0.113.10");
  other.push(REQUEST.repeat(16));
  await until("the other's have come", () => asked() === 8 * 16 + 9 + 1 + 16);
  // Many callers may share the address of a proxy.
  const proxied = Array.from({ length: 10 }, () => arrive(server, "127.0.0.1"));
  for (const socket of proxied) socket.push(REQUEST.repeat(16));
  await until("all of theirs have come", () => asked() === 8 * 16 + 9 + 1 + 16 + 10 * 16);
});

test.each([
  ["plain", REQUEST],
  ["with bodies", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"],
  ["to upgrade", "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
])("past the limit Node makes no request of what one read brought: %s", async (_, request) => {
  const { server, asked } = silentServer();
  let made = 0;
  let upgraded = 0;
  server.on("request", () => {
    made += 1;
  });
  server.on("upgrade", () => {
    upgraded += 1;
  });
  const socket = arrive(server, "203.0.113.9");
  socket.push(REQUEST.repeat(17) + request.repeat(1_000));
  await until("the connection has ended", () => socket.destroyed);
  expect([asked(), made, upgraded]).toEqual([16, 17, 0]);
});

test("requests that are answered at once count as well until the turn of the event loop is over", async () => {
  let asked = 0;
  const server = createHttpServer({ ServerResponse: TrackedResponse }, (_request, response) => {
    asked += 1;
    response.end();
  });
  boundConnections(server, { most: 40, isShared: sharedBy([]), onDropped: () => undefined });
  servers.push(server);
  seeAddress(server, "203.0.113.9");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const open = Array.from({ length: 15 }, () =>
    connect(port, "127.0.0.1")
      .on("error", () => undefined)
      .resume(),
  );
  sockets.push(...open);
  await Promise.all(open.map((socket) => once(socket, "connect")));
  await until(
    "all are there",
    async () => (await new Promise((resolve) => server.getConnections((_, count) => resolve(count)))) === 15,
  );
  for (const socket of open) socket.write(REQUEST.repeat(15));
  // All are there before the server has a turn.
  for (const end = performance.now() + 50; performance.now() < end; );
  await until("those past the bound have ended", () => open.some((socket) => socket.closed));
  expect(asked).toBeLessThan(15 * 15);
});

const PIECES = "1\r\n7\r\n".repeat(40_000);
const chunked = (path: string, token = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${token}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;

test("a body that comes in too many small pieces is 400, whether it would be read or not, and the connection ends", async () => {
  const dropped: Dropped[] = [];
  const toy = await startToyApi();
  onTestFinished(() => toy.close());
  boundConnections(toy.api.server, { most: 40, isShared: sharedBy([]), onDropped: (some) => dropped.push(some) });
  const read = await sendRaw(toy.url, chunked("/v2/toys/default", "Authorization: Bearer good\r\n") + PIECES);
  expect(statusesIn(read)).toEqual([400]);
  expect(read).toContain('"detail":"the request comes in too many small pieces"');
  expect(dropped).toEqual([{ count: 1, address: "127.0.0.1", reason: "too many small pieces of requests" }]);
  const unread = await sendRaw(toy.url, chunked("/v2/nothing") + PIECES);
  expect(statusesIn(unread)).toEqual([404]);
});

test("a chunked body with more framing than it may have is 400, and one with some is read", async () => {
  const toy = await startToyApi();
  onTestFinished(() => toy.close());
  boundConnections(toy.api.server, { most: 40, isShared: sharedBy([]), onDropped: () => undefined });
  const json = JSON.stringify({ to_profile_id: GRANT.tokenId, amount: "1", asset: "USD" });
  const chunk = (text: string): string => `${text.length.toString(16)};${"a".repeat(16_000)}\r\n${text}\r\n`;
  const send = async (blanks: number): Promise<string> => {
    const parts = [json, ...Array(blanks).fill(" ".repeat(512))];
    const head = chunked("/v2/toys/default", "Authorization: Bearer good\r\nConnection: close\r\n");
    return sendRaw(toy.url, `${head}${parts.map(chunk).join("")}0\r\n\r\n`);
  };
  expect(statusesIn(await send(4))).toEqual([200]);
  const read = await send(30);
  expect(statusesIn(read)).toEqual([400]);
  expect(read).toContain('"detail":"the request has too many bytes beside its head and its content"');
});

test.each([
  ["empty lines before a request", "", "\r\n".repeat(32_768)],
  ["blanks before a path", "GET ", " ".repeat(65_536)],
  ["blanks before the value of a header", `${REQUEST.slice(0, -2)}X-A:`, " ".repeat(65_536)],
  ["zeros before the size of a chunk", chunked("/"), "0".repeat(65_536)],
])("a connection that brings nothing but %s is closed", async (_, start, more) => {
  for (const tls of [undefined, readCertificate()]) {
    const { server, dropped } = silentServer(tls);
    seeAddress(server, "203.0.113.9");
    let bytes = 0;
    server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) =>
      socket.once("close", () => (bytes = socket.bytesRead)),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
    const socket = (tls === undefined ? connect(options) : connectTls(options)).on("error", () => {}).resume();
    sockets.push(socket);
    socket.write(start);
    const send = (): void => {
      while (!socket.destroyed && socket.write(more));
    };
    send();
    socket.on("drain", send);
    await until("it is closed", () => bytes > 0);
    socket.destroy();
    expect(dropped.map(({ reason }) => reason)).toEqual(["too many bytes beside requests"]);
    // The bound, and the read that passed it.
    expect(bytes).toBeLessThan(512 * 1_024);
  }
});

test("a body that comes byte by byte is read, chunked or not", async () => {
  const toy = await startToyApi();
  onTestFinished(() => toy.close());
  boundConnections(toy.api.server, { most: 40, isShared: sharedBy([]), onDropped: () => expect.fail() });
  const json = JSON.stringify({
    to_profile_id: GRANT.tokenId,
    amount: "1",
    asset: "USD",
    metadata: { a: "b".repeat(100) },
  });
  const head = `POST /v2/toys/default HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nConnection: close\r\n`;
  const requests = [
    `${head}Content-Length: ${json.length}\r\n\r\n${json}`,
    `${head}Transfer-Encoding: chunked\r\n\r\n${[...json].map((one) => `1\r\n${one}\r\n`).join("")}0\r\n\r\n`,
  ];
  for (const request of requests) {
    const { hostname, port } = new URL(toy.url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }).setEncoding("latin1");
    sockets.push(socket);
    const answer = once(socket, "data");
    for (const byte of request) {
      socket.write(byte);
      await new Promise(setImmediate);
    }
    expect(statusesIn(String((await answer)[0]))).toEqual([200]);
  }
});

test("a head that comes in too many small records of TLS ends the connection, and a request in few of them does not", async () => {
  const { server, dropped, asked } = silentServer(readCertificate());
  const [crumbling, usual] = ["203.0.113.9", "203.0.113.10"].map((address) =>
    arrive(server, address, "secureConnection"),
  );
  for (let at = 0; at < 12; at += 1)
    for (const line of ["GET / HTTP/1.1\r\n", "Host: x\r\n", "\r\n"]) usual?.push(line);
  await until("all requests have come", () => asked() === 12);
  crumbling?.push("GET / HTTP/1.1\r\nX: ");
  for (let sent = 0; sent < 4_000; sent += 1) crumbling?.push("a");
  await until("the connection has ended", () => crumbling?.destroyed === true);
  expect(dropped).toEqual([{ count: 1, address: "203.0.113.9", reason: "too many small pieces of requests" }]);
  expect(usual?.destroyed).toBe(false);
});

test("with TLS too a flooded connection is closed after as many requests, while Node is still reading it", async () => {
  const { server, dropped, asked } = silentServer(readCertificate());
  const secured: Socket[] = [];
  server.on("secureConnection", (socket: Socket) => void secured.push(socket));
  seeAddress(server, "203.0.113.9");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<Socket> => {
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }).on("error", () => {});
    sockets.push(socket);
    await once(socket, "secureConnect");
    return socket.resume();
  };
  const [known, quiet] = [await open(), await open()];
  const flooding = [await open(), await open(), await open()];
  quiet.write(REQUEST.repeat(16));
  await until("the few have come", () => asked() === 16 && secured.length === 5);
  noteValidToken(secured[0] as Socket, "acme");
  for (const one of flooding) one.write(REQUEST.repeat(400));
  await until("the address has lost its connections", () => [quiet, ...flooding].every((one) => one.destroyed));
  expect([asked(), dropped]).toEqual([64, [{ count: 1, address: "203.0.113.9", reason: FLOODED }]]);
  expect(known.destroyed).toBe(false);
});

test.each([
  ["with TLS", readCertificate()],
  ["without TLS", undefined],
])("%s connections of an address past its pace wait, and all are served", async (_name, tls) => {
  const { server, dropped, asked } = silentServer(tls, 100);
  seeAddress(server, "203.0.113.9");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  const made = 45;
  const to = { port, host: "127.0.0.1" };
  const open = Array.from({ length: made }, () =>
    (tls === undefined ? connect(to) : connectTls({ ...to, rejectUnauthorized: false })).on("error", () => {}),
  );
  sockets.push(...open);
  // One that is reset while it waits.
  const gone = connect(port, "127.0.0.1");
  await once(gone, "connect");
  gone.resetAndDestroy();
  for (const socket of open) socket.write(REQUEST.slice(0, -2));
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  for (const socket of open) socket.write(REQUEST.slice(-2));
  while (asked() < 33) await new Promise(setImmediate);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(asked()).toBe(33);
  vi.advanceTimersByTime(1_000);
  while (asked() < made) await new Promise(setImmediate);
  expect(dropped).toEqual([]);
});
