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
