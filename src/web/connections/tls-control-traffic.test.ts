import { once } from "node:events";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { readCertificate } from "../../../test/support/certificate.ts";
import { connectForKeyUpdates } from "../../../test/support/key-updates.ts";
import { until } from "../../../test/support/until.ts";
import { boundConnections, type Dropped } from "./connections.ts";
import { noteValidToken } from "./open-connections.ts";
import { TrackedResponse } from "./tracked-response.ts";

const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const STRANGER = "203.0.113.9";

/** All connections come from one stranger's address. */
async function startServer(): Promise<{
  server: HttpsServer;
  port: number;
  dropped: readonly Dropped[];
  asked: () => number;
}> {
  const dropped: Dropped[] = [];
  let asked = 0;
  const server: HttpsServer = createHttpsServer(
    { ...readCertificate(), ServerResponse: TrackedResponse },
    (request, response) => {
      asked += 1;
      request.on("end", () => response.end()).resume();
    },
  );
  boundConnections(server, { most: 100, isShared: () => false, onDropped: (some) => dropped.push(some) });
  const from = (socket: Socket): unknown => Object.defineProperty(socket, "remoteAddress", { value: STRANGER });
  server.prependListener("connection", from).prependListener("secureConnection", from);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port, dropped, asked: () => asked };
}

test("a flood of key updates ends its connection and blocks its address; a few are harmless", async () => {
  const { server, port, dropped, asked } = await startServer();
  server.once("secureConnection", noteValidToken);
  const known = await connectForKeyUpdates(port);
  const flooding = await connectForKeyUpdates(port);
  const few = await connectForKeyUpdates(port);
  const quiet = await connectForKeyUpdates(port);
  few.update(20);
  flooding.update(4_000);
  await until("the connections of the address have ended", () =>
    [flooding, few, quiet].every(({ secure }) => secure.destroyed),
  );
  const next = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }).on("error", () => undefined);
  await until("no new one is accepted", () => next.destroyed);
  expect(dropped).toEqual([{ count: 1, address: STRANGER, reason: "too many TLS messages without data" }]);
  expect([asked(), known.secure.destroyed]).toEqual([0, false]);
});

test("data beside key updates explains none of them", async () => {
  const { port, dropped } = await startServer();
  const { secure, write, update } = await connectForKeyUpdates(port);
  write(Buffer.from("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"));
  for (let sent = 0; sent < 1_500; sent += 1) {
    write(Buffer.alloc(512));
    update(4);
  }
  await until("the connection has ended", () => secure.destroyed);
  expect(dropped).toEqual([{ count: 1, address: STRANGER, reason: "too many TLS messages without data" }]);
});

test("a record that takes a while to arrive is not taken for messages without data", async () => {
  const { port, dropped } = await startServer();
  const slow = await Promise.all(Array.from({ length: 6 }, () => connectForKeyUpdates(port)));
  for (const { write } of slow) write(Buffer.from("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"));
  // Longer than the time between two checks.
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(slow.map(({ writeSlowly }) => writeSlowly(Buffer.alloc(16_000), 250)));
  }
  expect(dropped).toEqual([]);
  expect(slow.map(({ secure }) => secure.destroyed)).toEqual(Array(6).fill(false));
});

test("key updates on connections that close soon are counted too", async () => {
  const { port, dropped } = await startServer();
  for (let opened = 0; dropped.length === 0; opened += 1) {
    expect(opened).toBeLessThan(40);
    const { secure, update } = await connectForKeyUpdates(port);
    update(500);
    secure.end();
    await once(secure, "close");
  }
  expect(dropped).toMatchObject([{ address: STRANGER, reason: "too many TLS messages without data" }]);
});

test("key updates on many connections that stay open are counted together", async () => {
  const { port, dropped } = await startServer();
  const open = await Promise.all(Array.from({ length: 30 }, () => connectForKeyUpdates(port)));
  // 600 of them are less than a record.
  for (const { update } of open) update(600);
  await until("their address is blocked", () => open.every(({ secure }) => secure.destroyed));
  expect(dropped).toEqual([{ count: 1, address: STRANGER, reason: "too many TLS messages without data" }]);
});

test("requests as small as they can be are no overhead, however many", async () => {
  const { port, dropped, asked } = await startServer();
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  socket.setNoDelay(true).resume();
  // They have 88 KB of overhead.
  for (let sent = 1; sent <= 4_000; sent += 1) {
    socket.write(REQUEST);
    if (sent % 10 === 0) await until("they are answered", () => asked() === sent);
  }
  expect(dropped).toEqual([]);
  expect(socket.destroyed).toBe(false);
});

test("a handshake that does not end ends its connection, and blocks its address", async () => {
  const { port, dropped } = await startServer();
  const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  // The beginning of a ClientHello of 131,000 bytes, in records of 16 KiB.
  const record = Buffer.concat([Buffer.from([22, 3, 1, 64, 0]), Buffer.alloc(16_384)]);
  record.set([1, 1, 255, 184, 3, 3], 5);
  socket.resume().write(Buffer.concat([record, Buffer.from([22, 3, 1, 64, 0]), Buffer.alloc(10_000)]));
  await once(socket, "close");
  expect(dropped).toEqual([{ count: 1, address: STRANGER, reason: "too many TLS messages without data" }]);
});
