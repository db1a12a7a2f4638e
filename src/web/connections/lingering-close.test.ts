import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { CountsPerSecond } from "../limits/counts-per-second.ts";
import { noteFloodReport, type OnFlood } from "./flood-reports.ts";
import { holdReading } from "./held-reads.ts";
import { linger, stopReadingAtOnce } from "./lingering-close.ts";

const MIB = 1_024 * 1_024;

const countsAt = (now: () => number) => ({
  discardedBytes: new CountsPerSecond(now),
  held: new CountsPerSecond(now),
});

/** One whose bytes are discarded. */
async function discarding(
  remoteAddress: string,
  counts = countsAt(() => 0),
  onFlood: OnFlood = () => undefined,
): Promise<Duplex> {
  const socket = Object.assign(new Duplex({ read: () => {}, write: () => {} }), { remoteAddress });
  noteFloodReport(socket as unknown as Socket, onFlood);
  stopReadingAtOnce(socket as unknown as Socket, counts);
  // Until it flows.
  await new Promise(setImmediate);
  return socket;
}

async function send(socket: Duplex, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; left -= MIB) socket.push(Buffer.alloc(Math.min(left, MIB)));
  await new Promise(setImmediate);
}

test("ten megabytes of an address are discarded in a second, and then its connections are not read until they are closed", async () => {
  let now = 0;
  const counts = countsAt(() => now);
  const sockets = await Promise.all(
    ["203.0.113.9", "203.0.113.9", "203.0.113.10", "127.0.0.1"].map((address) => discarding(address, counts)),
  );
  const paused = (): boolean[] => sockets.map((socket) => socket.isPaused());
  const [one, again, other, local] = sockets as [Duplex, Duplex, Duplex, Duplex];
  await send(one, 4 * MIB);
  await send(again, 6 * MIB);
  await send(other, 10 * MIB);
  // A proxy's, for example.
  await send(local, 30 * MIB);
  expect(paused()).toEqual([false, false, false, false]);
  await send(again, 512);
  expect(paused()).toEqual([false, true, false, false]);
  now = 1_000;
  await send(one, 512);
  expect(paused()).toEqual([false, true, false, false]);
  expect(sockets.some((socket) => socket.destroyed)).toBe(false);
});

test("so are 64 megabytes of all, for which no address is blocked", async () => {
  const counts = countsAt(() => 0);
  const reasons: string[] = [];
  const addresses = Array.from({ length: 8 }, (_, i) => `203.0.113.${i}`);
  const open = (address: string) => discarding(address, counts, (_socket, reason) => void reasons.push(reason));
  const sockets = await Promise.all(addresses.map(open));
  for (const socket of sockets) await send(socket, 8 * MIB);
  expect(sockets.some((socket) => socket.isPaused())).toBe(false);
  await send(sockets[3] as Duplex, 512);
  expect(sockets.map((socket) => socket.isPaused()).indexOf(true)).toBe(3);
  const others = await Promise.all(Array.from({ length: 30 }, () => open("203.0.113.9")));
  for (const socket of others) await send(socket, 512);
  expect([others.every((socket) => socket.isPaused()), reasons]).toEqual([true, []]);
});

test("of an IPv6 network of 48 bits forty megabytes are discarded in a second, and eighty connections may be held", async () => {
  const counts = countsAt(() => 0);
  const reasons: string[] = [];
  const open = (_: unknown, at: number) =>
    discarding(`2001:db8:0:${at}::1`, counts, (_socket, reason) => void reasons.push(reason));
  const sockets = await Promise.all(Array.from({ length: 86 }, open));
  for (const socket of sockets.slice(0, 5)) await send(socket, 8 * MIB);
  expect(sockets.some((socket) => socket.isPaused())).toBe(false);
  for (const socket of sockets.slice(5, 85)) await send(socket, 512);
  expect([sockets.filter((socket) => socket.isPaused()).length, reasons]).toEqual([80, []]);
  await send(sockets[85] as Duplex, 512);
  expect(reasons).toEqual(["too many bytes beside requests"]);
  const beside = await discarding("2001:db8:1:1::1", counts);
  await send(beside, 512);
  expect(beside.isPaused()).toBe(false);
});

test("twenty connections that are no longer read are no flood: a caller with an expired token may have as many", async () => {
  const counts = countsAt(() => 0);
  const reasons: string[] = [];
  const onFlood: OnFlood = (_socket, reason) => void reasons.push(reason);
  const open = () => discarding("203.0.113.9", counts, onFlood);
  const sockets = await Promise.all(Array.from({ length: 21 }, open));
  await send((await open()) as Duplex, 10 * MIB);
  for (const socket of sockets.slice(0, 20)) await send(socket, 512);
  expect([sockets.filter((socket) => socket.isPaused()).length, reasons]).toEqual([20, []]);
  await send(sockets[20] as Duplex, 512);
  expect(reasons).toEqual(["too many bytes beside requests"]);
});

test("a connection that sends small pieces ends after a hundred", async () => {
  const socket = await discarding("203.0.113.9");
  for (let piece = 0; piece < 100; piece += 1) socket.push("x");
  await new Promise(setImmediate);
  expect(socket.destroyed).toBe(false);
  socket.push("x");
  await new Promise(setImmediate);
  expect(socket.destroyed).toBe(true);
});

/** One that is closed after its response. @returns for how many seconds it stays open while it sends so much a second */
function lingering(bytesPerSecond: number, seconds = 60, isHeld = false): number {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const socket = Object.assign(new Duplex({ read: () => {}, write: () => {} }), { bytesRead: 500_000 });
  if (isHeld) holdReading(socket as unknown as Socket);
  linger(socket as unknown as Socket);
  let open = 0;
  for (; !socket.destroyed; open += 1) {
    if (open < seconds) socket.bytesRead += bytesPerSecond;
    vi.advanceTimersByTime(1_000);
  }
  return open;
}

test("a connection is closed a second after its response, or when its caller has sent no more for a second", () => {
  expect([lingering(0), lingering(1, 4)]).toEqual([1, 5]);
});

test("it is closed after thirty seconds, after two megabytes, and a second after it is no longer read", () => {
  expect([lingering(60_000), lingering(MIB), lingering(1, 60, true)]).toEqual([30, 3, 1]);
});
