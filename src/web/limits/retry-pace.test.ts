import { Socket } from "node:net";
import { expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { RetryPace } from "./retry-pace.ts";

test("a thousand refusals a second are made at once, what comes on top waits its turn, and nobody for longer than a second", () => {
  let now = 0;
  const pace = new RetryPace(() => now);
  expect([pace.next(), pace.next(), pace.next()]).toEqual([0, 1, 2]);
  now = 2;
  expect(pace.next()).toBe(1);
  now = 10;
  expect(pace.next()).toBe(0);
  for (let refused = 0; refused < 5_000; refused += 1) pace.next();
  expect(pace.next()).toBe(1_000);
  now = 1_010;
  expect(pace.next()).toBe(0);
});

test("the connection of who was refused is not read for a while, and then it is; others are", async () => {
  const pace = new RetryPace(() => 0);
  const sockets = Array.from({ length: 50 }, () => new Socket());
  const [served, ...refused] = sockets as [Socket, ...Socket[]];
  for (const socket of refused) pace.answered(503, socket);
  pace.answered(200, served);
  await new Promise(setImmediate);
  // The first one has nobody to wait for.
  expect(sockets.map((socket) => socket.isPaused())).toEqual([false, false, ...Array(48).fill(true)]);
  await until("all are read again", () => sockets.every((socket) => !socket.isPaused()));
});

test("a connection that is held back is read again, also when the loop is busy for longer than that", async () => {
  const pace = new RetryPace(() => 0);
  const calls: string[] = [];
  const socket = new Socket();
  socket.pause = () => {
    calls.push("held back");
    return socket;
  };
  socket.resume = () => {
    calls.push("read again");
    return socket;
  };
  // Answers of a batch are written in this phase of the loop, and a timer of the next turn comes before its own kind.
  await new Promise<void>((resolve) =>
    setImmediate(() => {
      for (let i = 0; i < 3; i += 1) pace.answered(503, socket);
      for (const busyUntil = performance.now() + 20; performance.now() < busyUntil; );
      resolve();
    }),
  );
  await until("all are read again", () => calls.length === 4);
  expect(calls).toEqual(["held back", "held back", "read again", "read again"]);
});
