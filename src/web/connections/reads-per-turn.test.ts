import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { holdReading, releaseReading } from "./held-reads.ts";
import { ReadsPerTurn } from "./reads-per-turn.ts";

test("past a quarter of a mebibyte in a turn of the event loop connections are read on in the next one", async () => {
  const reads = new ReadsPerTurn();
  const sockets = [1, 2, 3].map(() => new Duplex({ read: () => {}, write: () => {} }).resume() as Socket);
  const paused = (): boolean[] => sockets.map((socket) => socket.isPaused());
  const [one, two] = sockets as [Socket, Socket];
  for (let turn = 0; turn < 2; turn += 1) {
    for (let i = 0; i < 8; i += 1) reads.add(i % 2 === 0 ? one : two, 32_768);
    expect(paused()).toEqual([false, false, false]);
    reads.add(one, 16_383);
    reads.add(two, 16_384);
    expect(paused()).toEqual([false, true, false]);
    await new Promise(setImmediate);
    expect(paused()).toEqual([false, false, false]);
  }
});

test("a connection that is held back meanwhile for another reason stays so", async () => {
  const reads = new ReadsPerTurn();
  const socket = new Duplex({ read: () => {}, write: () => {} }).resume() as Socket;
  reads.add(socket, 2 * 1_024 * 1_024);
  holdReading(socket);
  await new Promise(setImmediate);
  expect(socket.isPaused()).toBe(true);
  releaseReading(socket);
  expect(socket.isPaused()).toBe(false);
});
