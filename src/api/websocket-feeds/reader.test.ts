import { EventEmitter } from "node:events";
import { createServer as createPlainServer, Socket } from "node:net";
import { createServer } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { until } from "../../../test/support/until.ts";
import { boundConnections } from "../../web/connections/connections.ts";
import { sliceTlsWrites } from "../../web/connections/sliced-tls-writes.ts";
import { packetOf } from "./packet.ts";
import { Reader } from "./reader.ts";

const BOUNDS = { slackBytes: 1e6, mostReceived: 60, mostReceivedBytes: 8_192, closeMs: 1_000 };
const SLICE_BYTES = 64 * 1024;

test("over TLS a reader that has taken something between two beats stays, whatever has been written since", () => {
  const server = createServer();
  sliceTlsWrites(server);
  const socket = new Socket();
  let leave = (): void => undefined;
  // As Node's own does: a write counts as written from here on.
  let dispatched = 0;
  socket._write = (slice: Buffer, _encoding, done) => {
    dispatched += slice.length;
    leave = done;
  };
  Object.defineProperty(socket, "bytesWritten", { get: () => dispatched });
  server.emit("secureConnection", socket);
  const webSocket = Object.assign(new EventEmitter(), {
    readyState: WebSocket.OPEN,
    ping: () => void webSocket.emit("pong"),
    terminate: () => undefined,
  });
  const reader = new Reader(webSocket as unknown as WebSocket, socket, BOUNDS, (error) => {
    throw error;
  });

  socket.write(Buffer.alloc(1_000));
  reader.heartbeat();
  leave();
  // What Node counts as written less what it counts as unsent is the same now as it was then.
  socket.write(Buffer.alloc(SLICE_BYTES + 1_000));
  reader.heartbeat();
  expect(reader.disconnectReason).toBe(undefined);
  leave();
  reader.heartbeat();
  expect(reader.disconnectReason).toBe(undefined);
  reader.heartbeat();
  expect(reader.disconnectReason).toBe("too_slow");
  socket.destroy();
});

const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

test("the third reader within a second that sends too much blocks its address", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const server = createPlainServer();
  const reasons: string[] = [];
  boundConnections(server, { most: 20, isShared: () => false, onDropped: ({ reason }) => reasons.push(reason) });
  const arrive = (remotePort: number): Socket => {
    const socket = new Socket();
    Object.defineProperties(socket, { remoteAddress: { value: "203.0.113.9" }, remotePort: { value: remotePort } });
    server.emit("connection", socket);
    return socket;
  };
  const quiet = arrive(1);
  for (let port = 2; port <= 4; port += 1) {
    expect(quiet.destroyed).toBe(false);
    const socket = arrive(port);
    const webSocket = Object.assign(new EventEmitter(), { readyState: WebSocket.CLOSED, terminate: () => undefined });
    new Reader(webSocket as unknown as WebSocket, socket, { ...BOUNDS, mostReceivedBytes: 20 }, (error) => {
      throw error;
    });
    for (let i = 0; i < 5; i += 1) socket.emit("data", PONG);
  }
  expect([quiet.destroyed, arrive(5).destroyed]).toEqual([true, true]);
  expect(reasons).toEqual(["too many messages to a feed"]);
});

test("what a reader sends is counted per beat, so a reader that answers pings is never disconnected", () => {
  let terminated = false;
  const webSocket = Object.assign(new EventEmitter(), {
    readyState: WebSocket.OPEN,
    ping: () => undefined,
    close: () => undefined,
    terminate: () => {
      terminated = true;
    },
  });
  const socket = new Socket();
  socket.on("data", () => webSocket.emit("pong"));
  const bounds = { ...BOUNDS, mostReceived: 3, mostReceivedBytes: 20 };
  const reader = new Reader(webSocket as unknown as WebSocket, socket, bounds, (error) => {
    throw error;
  });

  for (let beat = 0; beat < 20; beat += 1) {
    reader.heartbeat();
    for (let i = 0; i < 3; i += 1) socket.emit("data", PONG);
    expect([reader.disconnectReason, terminated], `beat ${beat}`).toEqual([undefined, false]);
  }
  reader.heartbeat();
  socket.emit("data", Buffer.concat([PONG, PONG, PONG, PONG]));
  expect([reader.disconnectReason, terminated]).toEqual(["talks", true]);
});

/** A reader on a connection that a test makes up: what it has been sent and not taken, and how it was closed. */
function fakeReader(bounds: Partial<typeof BOUNDS> = {}) {
  const writes: Buffer[] = [];
  const socket = Object.assign(new Socket(), { write: (bytes: Buffer) => writes.push(bytes) > 0 });
  const closings: string[] = [];
  const webSocket = Object.assign(new EventEmitter(), {
    readyState: WebSocket.OPEN as number,
    bufferedAmount: 0,
    close: (code: number, reason: string) => closings.push(`${code} ${reason}`),
    terminate: () => closings.push("terminated"),
  });
  const reader = new Reader(webSocket as unknown as WebSocket, socket, { ...BOUNDS, ...bounds }, (error) => {
    throw error;
  });
  return { reader, webSocket, socket, closings, writes };
}

test("a reader may leave unread a mebibyte and the largest message that it was sent, and is closed beyond", () => {
  const { reader, webSocket, closings } = fakeReader({ slackBytes: 100 });
  const packet = (bytes: number) => ({ frames: Buffer.alloc(bytes), messages: 1 });
  for (const bytes of [5_000, 10]) reader.send(packet(bytes));
  webSocket.bufferedAmount = 5_100;
  reader.send(packet(10));
  expect([reader.disconnectReason, closings]).toEqual([undefined, []]);
  webSocket.bufferedAmount = 5_101;
  reader.send(packet(10));
  expect([reader.disconnectReason, closings]).toEqual([
    "too_slow",
    ["1013 too slow: reconnect and start from a new snapshot"],
  ]);
  webSocket.emit("close");
});

test("a thousand messages are framed once for all readers, and are one write to each", () => {
  const texts = Array.from({ length: 1_000 }, (_, i) => Buffer.from("x".repeat(i)));
  const packet = packetOf(texts);
  const readers = Array.from({ length: 3 }, () => fakeReader());
  for (const { reader } of readers) reader.send(packet);
  expect(packet.messages).toBe(1_000);
  for (const { writes } of readers) expect([writes.length, writes[0] === packet.frames]).toEqual([1, true]);
});

test("a reader that does not answer the close frame is cut off", async () => {
  const { reader, webSocket, closings } = fakeReader({ closeMs: 10 });
  reader.close(1001, "the end");
  await until("it is cut off", () => closings.length > 1);
  expect(closings).toEqual(["1001 the end", "terminated"]);
  webSocket.emit("close");
});

test("nobody waits for a reader to take what it was sent once it has gone", async () => {
  const { reader, webSocket, socket } = fakeReader();
  Object.defineProperty(socket, "writableNeedDrain", { value: true });
  const drained = reader.drained();
  webSocket.emit("close");
  await drained;
});
