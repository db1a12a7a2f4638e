import { expect, test } from "vitest";
import { RoundRobinQueue } from "./round-robin-queue.ts";

function queueOf(queues: Readonly<Record<string, number>>): RoundRobinQueue<string> {
  const queue = new RoundRobinQueue<string>();
  for (const [queueKey, count] of Object.entries(queues)) {
    for (let i = 1; i <= count; i += 1) queue.push(queueKey, `${queueKey}${i}`);
  }
  return queue;
}

test("one customer's items are taken in arrival order", () => {
  const queue = queueOf({ a: 3 });
  expect(queue.take(2)).toEqual(["a1", "a2"]);
  expect(queue.take(2)).toEqual(["a3"]);
  expect(queue.take(2)).toEqual([]);
  expect(queue.size).toBe(0);
});

test("each customer gets an equal share, and a flood fills what the others leave", () => {
  const queue = queueOf({ flood: 100, b: 1, c: 2 });
  const taken = queue.take(9);
  expect(taken.filter((item) => item.startsWith("flood"))).toEqual([1, 2, 3, 4, 5, 6].map((i) => `flood${i}`));
  expect(taken).toEqual(expect.arrayContaining(["b1", "c1", "c2"]));
  expect(queue.size).toBe(94);
});

test("with more customers than places, customers that were served move behind those that were not", () => {
  const queue = queueOf({ a: 2, b: 2, c: 2 });
  expect(queue.take(2)).toEqual(["a1", "b1"]);
  expect(queue.take(2)).toEqual(["c1", "a2"]);
  expect(queue.take(9)).toEqual(["b2", "c2"]);
});

test("what is taken together is not heavier than the bound, unless it is one item alone", () => {
  const queue = new RoundRobinQueue<number>((item) => item);
  for (const item of [900, 800, 700]) queue.push("house", item);
  for (const item of [5, 5, 5]) queue.push("a", item);
  queue.push("b", 4);
  expect(queue.take(500, 1_000)).toEqual([900, 5, 5, 5, 4]);
  queue.push("a", 400);
  queue.push("b", 300);
  // Its share would be two more, but the second is too heavy: what others have still fits.
  expect(queue.take(500, 1_100)).toEqual([800, 300]);
  // Who was left out is the first.
  expect(queue.take(500, 1_000)).toEqual([400]);
  queue.push("b", 1);
  expect(queue.take(500, 100)).toEqual([700]);
  expect([queue.take(500, 100), queue.size]).toEqual([[1], 0]);
});
