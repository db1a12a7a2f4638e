/** What the queues do when a process begins, and behind what is slow. */
import { expect, test } from "vitest";
import { ACCEPTED, NOTHING_YET, World } from "../../../test/support/queue-world.ts";
import type { Instant } from "../../std/clock.ts";
import type { OpenRow, Outcome } from "./delivery-queue.ts";
import { ObjectQueue } from "./object-queue.ts";
import { StrictQueue } from "./strict-queue.ts";

const FAILED: Outcome = { kind: "failed", error: "answered 500" };
const upTo = (last: number, first: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

test("a row that waits behind one that is gone is due at once", () => {
  const waiting = {
    objectId: "object",
    status: "BLOCKED",
    attempts: 0,
    nextAttemptAt: undefined,
    lastError: undefined,
  } as const;
  const rows = [
    { ...waiting, number: 3n },
    { ...waiting, number: 4n },
  ];
  const now = 1_000_000 as Instant;
  const stored = { ...NOTHING_YET, readTo: 4n };
  const queue = new ObjectQueue(true, { deliveriesPerSecond: 100, stored, rows, now, random: () => 0.5 });
  const post = queue.take(now);
  expect(post).toEqual({ numbers: [3n], events: undefined });
  expect(queue.take(now)).toBeUndefined();
});

/** A strict webhook whose batch is the event 5, after the event 3 was skipped and is asked for again. */
function strictAskedAgain(attempts: number, batch: readonly OpenRow[]) {
  const stored = { ...NOTHING_YET, readTo: 4n, batchEnd: 5n };
  const now = 1_000_000 as Instant;
  const tried = { attempts, nextAttemptAt: now, lastError: "answered 500" };
  const rows = [{ number: 3n, objectId: "skipped", status: "RETRYING", ...tried } as const, ...batch];
  const queue = new StrictQueue({ deliveriesPerSecond: 100, stored, rows, now, random: () => 0.5 });
  queue.addPage(4n, { events: [{ number: 5n, objectId: "object", bytes: 1 }], searchedTo: 5n, isLast: true });
  const post = (at: Instant, outcome: Outcome): readonly bigint[] | undefined => {
    const taken = queue.take(at);
    if (taken !== undefined) queue.settle(taken, outcome, at);
    return taken?.numbers;
  };
  return { now, post, queue };
}

test("a skipped event that fails for the last time does not stop a strict webhook", () => {
  const { now, post } = strictAskedAgain(9, []);
  expect([post(now, FAILED), post(now, ACCEPTED)]).toEqual([[3n], [5n]]);
});

test("a strict webhook that has given up its batch sends none before it is enabled, while a skipped event is tried again", () => {
  const tried = { attempts: 10, nextAttemptAt: undefined, lastError: "answered 500" };
  const { now, post } = strictAskedAgain(0, [{ number: 5n, objectId: "object", status: "UNDELIVERED", ...tried }]);
  const later = (now + 3_600_000) as Instant;
  expect([post(now, FAILED), post(later, ACCEPTED), post(later, ACCEPTED)]).toEqual([[3n], [3n], undefined]);
});

test("a strict webhook that gives up its batch is disabled, not by a skipped event", () => {
  const strict = (attempts: number) => {
    const tried = {
      status: "RETRYING",
      attempts,
      nextAttemptAt: 1_000_000 as Instant,
      lastError: "answered 500",
    } as const;
    const { now, post, queue } = strictAskedAgain(9, [{ number: 5n, objectId: "object", ...tried }]);
    expect([post(now, FAILED), queue.disabling, post(now, FAILED)]).toEqual([[3n], undefined, [5n]]);
    return queue.disabling;
  };
  expect([strict(8), strict(9)]).toEqual([undefined, "failing"]);
});

test("a strict webhook that has given up its batch is disabled by the next process too", () => {
  const stored = { ...NOTHING_YET, readTo: 4n, batchEnd: 5n };
  const tried = { attempts: 10, nextAttemptAt: undefined, lastError: "answered 500" };
  const rows = [{ number: 5n, objectId: "object", status: "UNDELIVERED", ...tried } as const];
  const now = 1_000_000 as Instant;
  const queue = new StrictQueue({ deliveriesPerSecond: 100, stored, rows, now, random: () => 0.5 });
  queue.addPage(4n, { events: [{ number: 5n, objectId: "object", bytes: 1 }], searchedTo: 5n, isLast: true });
  expect(queue.take(now)).toBeUndefined();
  expect(queue.nextDueAt(now)).toBeUndefined();
  expect(queue.disabling).toBe("failing");
});

test("a strict webhook's batch is the same after a restart while its receiver fails, also if it is a long one", () => {
  const world = new World("strict");
  const batch = (outcome: Outcome): string => {
    // Each page is begun, and ends.
    for (let page = 0; page < 4; page += 1) world.read();
    world.writeAll();
    world.run({ kind: "wait" });
    expect(world.take()).toBe(true);
    const numbers = String(world.inFlight[0]?.numbers);
    world.answer(0, outcome);
    world.writeAll();
    return numbers;
  };
  world.publish(upTo(23, 4));
  expect(batch(FAILED)).toBe(String(upTo(20, 1)));
  world.crash();
  expect(batch(ACCEPTED)).toBe(String(upTo(20, 1)));
  expect(world.stored.readTo).toBe(20n);
});

test.each(["per_object", "any"] as const)("%s: what is accepted behind a slow post is not posted again", (order) => {
  const world = new World(order);
  world.publish([1, 2, 3, 4, 5, 6, 7]);
  world.read();
  world.read();
  // Each acceptance allows twice as many at once.
  for (let accepted = 0; accepted < 3; accepted += 1) {
    world.run({ kind: "wait" });
    expect(world.take()).toBe(true);
    world.answer(0, ACCEPTED);
  }
  for (let taken = 0; taken < 4; taken += 1) expect(world.take()).toBe(true);
  for (const which of [3, 1]) world.answer(which, ACCEPTED);
  world.writeAll();
  expect(world.stored).toMatchObject({ readTo: 3n, accepted: [5n, 7n] });
  world.crash();
  world.read();
  world.read();
  expect(world.take()).toBe(true);
  world.answer(0, ACCEPTED);
  expect([world.take(), world.take()]).toEqual([true, false]);
  expect(world.inFlight.map(({ numbers }) => numbers)).toEqual([[6n]]);
  world.answer(0, ACCEPTED);
  world.writeAll();
  expect(world.stored).toMatchObject({ readTo: 7n, accepted: [] });
});

test("an object that is slow does not hold the place up without end: its events get rows", () => {
  const world = new World("per_object");
  const readAll = (): void => {
    // Begins, and ends.
    world.read();
    world.read();
  };
  world.publish([1, 2, 3, 4, 5]);
  readAll();
  for (let accepted = 0; accepted < 5; accepted += 1) {
    expect(world.take()).toBe(true);
    world.answer(0, ACCEPTED);
  }
  world.publish([0, 0, 0, ...Array.from({ length: 10 }, (_, i) => i + 1)]);
  readAll();
  while (world.take());
  expect(world.inFlight.map(({ numbers }) => Number(numbers[0]))).toEqual([6, ...upTo(18, 9)]);
  while (world.inFlight.length > 1) world.answer(1, ACCEPTED);
  expect(world.take()).toBe(false);
  world.writeAll();
  expect(world.stored).toMatchObject({ readTo: 18n, accepted: [] });
  const statuses = [...world.rows.values()].map(({ number, status, attempts }) => `${number} ${status} ${attempts}`);
  expect(statuses).toEqual(["6 RETRYING 0", "7 BLOCKED 0", "8 BLOCKED 0"]);
  world.answer(0, ACCEPTED);
  world.finish();
  expect([world.stored.readTo, world.rows.size]).toEqual([18n, 0]);
});

test.each(["per_object", "any"] as const)("%s: the place moves on from a post that hangs, which has a row", (order) => {
  const world = new World(order);
  const takeSome = (count: number): void => {
    // Begins, and ends.
    world.read();
    world.read();
    for (let taken = 0; taken < count; taken += 1) {
      expect(world.take()).toBe(true);
      world.run({ kind: "wait" });
    }
  };
  // It accepts, so that it gets several at once.
  for (const object of [5, 6]) {
    world.publish([object]);
    takeSome(1);
    world.answer(0, ACCEPTED);
  }
  world.publish([1, 2, 3, 1]);
  takeSome(3);
  for (const which of [1, 1]) world.answer(which, ACCEPTED);
  world.run({ kind: "hang" });
  expect(world.take()).toBe(order === "any");
  world.writeAll();
  expect(world.stored.readTo).toBe(order === "any" ? 5n : 6n);
  const statuses = [...world.rows.values()].map(({ number, status, attempts }) => `${number} ${status} ${attempts}`);
  expect(statuses).toEqual(order === "any" ? ["3 RETRYING 0"] : ["3 RETRYING 0", "6 BLOCKED 0"]);
  // A successor tries it again, and nothing that was accepted.
  world.crash();
  expect(world.take()).toBe(true);
  expect(world.inFlight[0]?.numbers).toEqual([3n]);
  world.answer(0, ACCEPTED);
  world.finish();
  expect([world.stored.readTo, world.rows.size]).toEqual([6n, 0]);
});

test.each(["per_object", "any"] as const)(
  "%s: once its receiver fails little of what was read ahead is kept",
  (order) => {
    const world = new World(order);
    world.publish(Array.from({ length: 25 }, (_, i) => 4 + i));
    // Begins, and ends.
    world.read();
    world.read();
    expect([world.take(), world.queue.size]).toEqual([true, 25]);
    world.answer(0, FAILED);
    // Beside the row of the one that failed.
    expect(world.queue.size).toBe(10 + 1);
    world.finish();
    expect([world.stored.readTo, world.rows.size]).toEqual([25n, 0]);
  },
);
