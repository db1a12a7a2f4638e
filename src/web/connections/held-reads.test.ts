import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { holdReading, isHeld, releaseReading } from "./held-reads.ts";

const openSockets = (count: number): Socket[] =>
  Array.from({ length: count }, () => new Duplex({ read: () => {}, write: () => {} }).resume() as Socket);
const read = (sockets: readonly Socket[]): number => sockets.filter((socket) => !socket.isPaused()).length;

test("what is released together is read on in turn, four in a turn of the event loop", async () => {
  const sockets = openSockets(10);
  for (const socket of sockets) holdReading(socket);
  expect(read(sockets)).toBe(0);
  for (const socket of sockets) releaseReading(socket);
  expect([read(sockets), read(sockets.slice(0, 4))]).toEqual([4, 4]);
  expect(sockets.slice(4).every(isHeld)).toBe(true);
  const [late] = openSockets(1) as [Socket];
  holdReading(late);
  await new Promise(setImmediate);
  releaseReading(late);
  expect([read(sockets), read(sockets.slice(0, 8)), read([late])]).toEqual([8, 8, 0]);
  await new Promise(setImmediate);
  expect([read(sockets), read([late])]).toEqual([10, 1]);
  await new Promise(setImmediate);
});

test("who comes behind many of another network has one of the next places", async () => {
  const [many, [other]] = [openSockets(40), openSockets(1)] as [Socket[], [Socket]];
  for (const [place, socket] of [...many, other].entries()) {
    Object.defineProperty(socket, "remoteAddress", { value: place < 40 ? "203.0.113.9" : "198.51.100.7" });
    holdReading(socket);
  }
  for (const socket of [...many, other]) releaseReading(socket);
  await new Promise(setImmediate);
  expect([read(many), read([other])]).toEqual([7, 1]);
  while (read(many) < 40) await new Promise(setImmediate);
  await new Promise(setImmediate);
});

test("a connection that is held again before its turn is read on when it is released again", async () => {
  const sockets = openSockets(5);
  const last = sockets[4] as Socket;
  for (const socket of sockets) holdReading(socket);
  for (const socket of sockets) releaseReading(socket);
  holdReading(last);
  await new Promise(setImmediate);
  expect([read(sockets), isHeld(last)]).toEqual([4, true]);
  releaseReading(last);
  expect([read(sockets), isHeld(last)]).toEqual([5, false]);
});
