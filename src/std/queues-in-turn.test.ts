import { expect, test } from "vitest";
import { QueuesInTurn } from "./queues-in-turn.ts";

test("queues are served in turn, each first in, first out", () => {
  const queues = new QueuesInTurn<string, string>();
  for (const item of ["a1", "a2", "a3", "b1", "c1"]) queues.add(item.charAt(0), item);
  expect([queues.size, queues.lengthOf("a"), queues.lengthOf("x")]).toEqual([3, 3, 0]);
  const taken = [queues.next(), queues.next()];
  queues.add("b", "b2");
  while (queues.size > 0) taken.push(queues.next());
  expect(taken).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  expect([queues.next(), queues.lengthOf("a")]).toEqual([undefined, 0]);
});

test("what is over takes no turn, unless all of its queue is", () => {
  const queues = new QueuesInTurn<string, string>();
  for (const item of ["a1-", "a2", "b1-", "b2-", "c1"]) queues.add(item.charAt(0), item);
  const isOver = (item: string): boolean => item.endsWith("-");
  expect([queues.next(isOver), queues.next(isOver), queues.next(isOver), queues.size]).toEqual([
    "a2",
    undefined,
    "c1",
    0,
  ]);
});
