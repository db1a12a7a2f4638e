import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { holdReading, isHeld, releaseReading } from "./held-reads.ts";

const openSockets = (count: number): Socket[] =>
  Array.from({ length: count }, () => new Duplex({ read: () => {}, write: () => {} }).resume() as Socket);
const read = (sockets: readonly Socket[]): number => sockets.filter((socket) => !socket.isPaused()).length;

test("what is released together is read on in turn, sixteen in a turn of the event loop", async () => {
  const sockets = openSockets(40);
  for (const socket of sockets) holdReading(socket);
  expect(read(sockets)).toBe(0);
  for (const socket of sockets) releaseReading(socket);
  expect([read(sockets), read(sockets.slice(0, 16))]).toEqual([16, 16]);
  expect(sockets.slice(16).every(isHeld)).toBe(true);
  const [late] = openSockets(1) as [Socket];
  holdReading(late);
  await new Promise(setImmediate);
  releaseReading(late);
  expect([read(sockets), read(sockets.slice(0, 32)), read([late])]).toEqual([32, 32, 0]);
  await new Promise(setImmediate);
  expect([read(sockets), read([late])]).toEqual([40, 1]);
});

test("a connection that is held again before its turn is read on when it is released again", async () => {
  const sockets = openSockets(17);
  const last = sockets[16] as Socket;
  for (const socket of sockets) holdReading(socket);
  for (const socket of sockets) releaseReading(socket);
  holdReading(last);
  await new Promise(setImmediate);
  expect([read(sockets), isHeld(last)]).toEqual([16, true]);
  releaseReading(last);
  expect([read(sockets), isHeld(last)]).toEqual([17, false]);
});
