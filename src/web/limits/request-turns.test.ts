import { EventEmitter } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { byteCost, READ_COST, RequestTurns, WRITE_COST } from "./request-turns.ts";

test("of many requests that arrive together each turn takes some, and none is lost", async () => {
  const turns = new RequestTurns();
  const done: number[] = [];
  const counts: number[] = [];
  for (let i = 0; i < 100; i += 1) turns.run("a", READ_COST, () => done.push(i));
  for (let before = -1; done.length > before; ) {
    before = done.length;
    counts.push(done.length);
    await nextTurn();
  }
  expect(counts.slice(0, 4)).toEqual([2, 4, 6, 8]);
  expect(done).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test("who comes behind a hundred requests of another caller has the next turn", async () => {
  const turns = new RequestTurns();
  const order: string[] = [];
  for (let i = 0; i < 100; i += 1) turns.run("many", READ_COST, () => order.push("many"));
  for (const caller of ["b", "c", "b"]) turns.run(caller, READ_COST, () => order.push(caller));
  while (order.length < 103) await nextTurn();
  expect(order.slice(2, 8)).toEqual(["many", "b", "c", "many", "b", "many"]);
});

test("what takes a turn for itself leaves the turns to shorter work of others, but for one in four", async () => {
  const turns = new RequestTurns();
  const order: string[] = [];
  const add = (caller: string, cost: number): void => turns.run(caller, cost, () => order.push(caller));
  add("long", byteCost(60_000));
  for (let i = 0; i < 3; i += 1) add("long", byteCost(60_000));
  for (let i = 0; i < 15; i += 1) add("short", READ_COST);
  while (order.length < 19) await nextTurn();
  const shorts = (count: number): string[] => new Array<string>(count).fill("short");
  // Three turns with two each, one with a long one, and when there is nothing short any more the long ones that are left.
  expect(order).toEqual(["long", ...shorts(6), "long", ...shorts(6), "long", ...shorts(3), "long"]);
});

test("after a rest a turn has room again, and work that brings more work does not go on for ever", async () => {
  const turns = new RequestTurns();
  let count = 0;
  const again = (): void => {
    count += 1;
    if (count < 100) turns.run("a", READ_COST, again);
  };
  turns.run("a", READ_COST, again);
  expect(count).toBe(2);
  while (count < 100) await nextTurn();
  await nextTurn();
  turns.run("a", READ_COST, () => (count += 1));
  expect(count).toBe(101);
});

test("what waits for a response that is closed meanwhile is not run, takes no room, and is not kept", async () => {
  const turns = new RequestTurns();
  const done: string[] = [];
  const response = () =>
    Object.assign(new EventEmitter().setMaxListeners(0), { destroyed: false }) as EventEmitter & { destroyed: boolean };
  const [gone, stays, earlier] = [response(), response(), response()];
  const add = (name: string, of: EventEmitter) => turns.run("a", WRITE_COST, () => done.push(name), of as never);
  for (let i = 0; i < 8; i += 1) turns.run("a", WRITE_COST, () => undefined);
  for (let i = 0; i < 100; i += 1) add("gone", gone);
  for (let i = 0; i < 8; i += 1) add("stays", stays);
  expect(gone.listenerCount("close")).toBe(100);
  gone.destroyed = true;
  gone.emit("close");
  await nextTurn();
  expect(done).toEqual(Array(8).fill("stays"));
  expect(stays.listenerCount("close")).toBe(0);
  earlier.destroyed = true;
  add("closed before", earlier);
  await nextTurn();
  expect(done).toHaveLength(8);
});

test.each([
  ["two reads", READ_COST, 2],
  ["eight writes", WRITE_COST, 8],
  ["one of the largest bodies", byteCost(65_536), 1],
  ["two bodies of two KiB", byteCost(2_048), 2],
])("a turn takes %s", async (_, cost, count) => {
  const turns = new RequestTurns();
  let taken = 0;
  for (let i = 0; i < 200; i += 1) turns.run("a", cost, () => (taken += 1));
  expect(taken).toBe(count);
  await nextTurn();
  expect(taken).toBe(2 * count);
});
