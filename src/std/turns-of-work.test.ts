import { expect, test } from "vitest";
import { TurnsOfWork } from "./turns-of-work.ts";

test("a turn is over when its time is, and others' work is done before the next one", async () => {
  let now = 7;
  const turns = new TurnsOfWork(2, () => now);
  const isOverAt = (ms: number): boolean => {
    now = ms;
    return turns.isOver;
  };
  expect([7, 8.9, 9, 12].map(isOverAt)).toEqual([false, false, true, true]);
  const done: string[] = [];
  setImmediate(() => done.push("others'"));
  await turns.next();
  done.push("the next turn");
  expect(done).toEqual(["others'", "the next turn"]);
  expect([12, 13.9, 14].map(isOverAt)).toEqual([false, false, true]);
});
