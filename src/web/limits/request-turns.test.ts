import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { RequestTurns } from "./request-turns.ts";

test("of many requests that arrive together each turn takes some, and none is lost", async () => {
  const turns = new RequestTurns();
  const done: number[] = [];
  const counts: number[] = [];
  for (let i = 0; i < 100; i += 1) turns.run("a", () => done.push(i));
  for (let before = -1; done.length > before; ) {
    before = done.length;
    counts.push(done.length);
    await nextTurn();
  }
  expect(counts.slice(0, 4)).toEqual([16, 32, 48, 64]);
  expect(done).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test("who comes behind a hundred requests of another caller has the next turn", async () => {
  const turns = new RequestTurns();
  const order: string[] = [];
  for (let i = 0; i < 100; i += 1) turns.run("many", () => order.push("many"));
  for (const caller of ["b", "c", "b"]) turns.run(caller, () => order.push(caller));
  while (order.length < 103) await nextTurn();
  expect(order.slice(16, 22)).toEqual(["many", "b", "c", "many", "b", "many"]);
});

test("after a rest a turn has room again, and work that brings more work does not go on for ever", async () => {
  const turns = new RequestTurns();
  let count = 0;
  const again = (): void => {
    count += 1;
    if (count < 100) turns.run("a", again);
  };
  turns.run("a", again);
  expect(count).toBe(16);
  while (count < 100) await nextTurn();
  await nextTurn();
  turns.run("a", () => (count += 1));
  expect(count).toBe(101);
});
