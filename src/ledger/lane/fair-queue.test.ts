import { expect, test } from "vitest";
import { FairQueue } from "./fair-queue.ts";

function turnsOf(queues: Readonly<Record<string, number>>): FairQueue<string> {
  const turns = new FairQueue<string>();
  for (const [turn, count] of Object.entries(queues)) {
    for (let i = 1; i <= count; i += 1) turns.push(turn, `${turn}${i}`);
  }
  return turns;
}

test("one customer's items are taken in the order in which they came", () => {
  const turns = turnsOf({ a: 3 });
  expect(turns.take(2)).toEqual(["a1", "a2"]);
  expect(turns.take(2)).toEqual(["a3"]);
  expect(turns.take(2)).toEqual([]);
  expect(turns.size).toBe(0);
});

test("each customer gets an equal share, and a flood fills what the others leave", () => {
  const turns = turnsOf({ flood: 100, b: 1, c: 2 });
  const taken = turns.take(9);
  expect(taken.filter((item) => item.startsWith("flood"))).toEqual([1, 2, 3, 4, 5, 6].map((i) => `flood${i}`));
  expect(taken).toEqual(expect.arrayContaining(["b1", "c1", "c2"]));
  expect(turns.size).toBe(94);
});

test("with more customers than places, whoever was served goes behind those who were not", () => {
  const turns = turnsOf({ a: 2, b: 2, c: 2 });
  expect(turns.take(2)).toEqual(["a1", "b1"]);
  expect(turns.take(2)).toEqual(["c1", "a2"]);
  expect(turns.take(9)).toEqual(["b2", "c2"]);
});
