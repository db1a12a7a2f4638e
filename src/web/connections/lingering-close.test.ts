import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { CountsPerSecond } from "../limits/counts-per-second.ts";
import { stopReadingAtOnce } from "./lingering-close.ts";

/** One whose bytes are discarded. */
async function discarding(reads = new CountsPerSecond()): Promise<Duplex> {
  const socket = new Duplex({ read: () => {}, write: () => {} });
  stopReadingAtOnce(socket as Socket, reads);
  // Until it flows.
  await new Promise(setImmediate);
  return socket;
}

test("of all connections together so much is discarded in a second, and then they are not read until they are closed", async () => {
  let now = 0;
  const reads = new CountsPerSecond(() => now);
  const sockets = [await discarding(reads), await discarding(reads)];
  const [one, other] = sockets as [Duplex, Duplex];
  const send = async (socket: Duplex, reads: number): Promise<void> => {
    for (let i = 0; i < reads; i += 1) socket.push(Buffer.alloc(16_384));
    await new Promise(setImmediate);
  };
  await send(one, 600);
  await send(other, 400);
  expect(sockets.map((socket) => socket.isPaused())).toEqual([false, false]);
  await send(one, 1);
  expect(sockets.map((socket) => socket.isPaused())).toEqual([true, false]);
  now = 1_000;
  await send(other, 1);
  expect(sockets.map((socket) => [socket.isPaused(), socket.destroyed])).toEqual([
    [true, false],
    [false, false],
  ]);
});

test("a connection that sends small pieces ends after a hundred", async () => {
  const socket = await discarding();
  for (let piece = 0; piece < 100; piece += 1) socket.push("x");
  await new Promise(setImmediate);
  expect(socket.destroyed).toBe(false);
  socket.push("x");
  await new Promise(setImmediate);
  expect(socket.destroyed).toBe(true);
});
