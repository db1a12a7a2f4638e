import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { arrive, silentServer } from "../../../test/support/http/bounded-server.ts";
import { readCertificate } from "../../../test/support/http/certificate.ts";
import { boundConnections, type Dropped } from "./connections.ts";
import { FragmentCounter, noteHandedOver } from "./fragmented-requests.ts";
import { TrackedResponse } from "./tracked-response.ts";

/** All that a test sends comes within one second. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
}

test.each([
  ["bodies", undefined],
  ["records of TLS", readCertificate()],
])("small %s of which a request has few are not counted, however many requests come in a second", async (_, tls) => {
  stopTime();
  let answered = 0;
  const listener: RequestListener = (request, response) => {
    request.resume().once("end", () => response.end());
    response.once("close", () => (answered += 1));
  };
  const options = { ServerResponse: TrackedResponse, ...tls };
  const server = tls === undefined ? createHttpServer(options, listener) : createHttpsServer(options, listener);
  const dropped: Dropped[] = [];
  boundConnections(server, { most: 40, isShared: () => false, onDropped: (some) => dropped.push(some) });
  onTestFinished(() => void server.close());
  const stream = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
  const socket = Object.assign(stream, { remoteAddress: "203.0.113.9", disableRenegotiation: () => {} });
  server.emit(tls === undefined ? "connection" : "secureConnection", socket);
  for (let sent = 0; sent < 2_100; sent += 10) {
    for (let i = 0; i < 10; i += 1) socket.push("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
    while (answered < sent + 10 && !socket.destroyed) await new Promise(setImmediate);
  }
  expect([answered, socket.destroyed, dropped]).toEqual([2_100, false, []]);
});

test.each([
  ["an address count together", "203.0.113.9", [false, true]],
  ["those who share one count by connection", "127.0.0.1", [false, false]],
])("small pieces of %s", async (_, address, ended) => {
  stopTime();
  const { server } = silentServer();
  const sockets = ended.map(() => arrive(server, address));
  const head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const socket of sockets) {
    socket.push(head + "1\r\na\r\n".repeat(1_500));
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  }
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual(ended);
});

test("a connection may bring 128 KiB beside requests, and any number of bytes once it is a WebSocket", () => {
  const counter = new FragmentCounter();
  const excesses: string[] = [];
  const open = (name: string): Socket & { bytesRead: number } => {
    const socket = Object.assign(new Duplex({ read: () => {}, write: () => {} }), { bytesRead: 0 });
    counter.followReads(socket as unknown as Socket, undefined, (excess) => excesses.push(`${name}: ${excess}`));
    return socket as unknown as Socket & { bytesRead: number };
  };
  const [plain, feed] = [open("plain"), open("feed")];
  noteHandedOver(feed);
  for (const bytes of [128 * 1_024, 1]) {
    expect(excesses).toEqual([]);
    for (const socket of [plain, feed]) {
      socket.bytesRead += bytes;
      socket.emit("data", Buffer.alloc(1));
    }
  }
  expect(excesses).toEqual(["plain: skipped bytes"]);
});
