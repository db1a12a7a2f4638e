import { expect, test } from "vitest";
import { forEachConcurrently } from "./copy-file.ts";

const ITEMS = Array.from({ length: 100 }, (_, i) => i);

test("each item is worked on once, several at a time", async () => {
  const done: number[] = [];
  let running = 0;
  let most = 0;
  await forEachConcurrently(ITEMS, async (item) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    done.push(item);
  });
  expect(done.toSorted((a, b) => a - b)).toEqual(ITEMS);
  expect(most).toBeGreaterThan(1);
});

test("after a failure nothing is started, and it is told once nothing runs any more", async () => {
  const full = new Error("no space left on the disk");
  let running = 0;
  let started = 0;
  const work = async (item: number): Promise<void> => {
    started += 1;
    running += 1;
    await new Promise(setImmediate);
    running -= 1;
    if (item === 0) throw full;
  };
  await expect(forEachConcurrently(ITEMS, work)).rejects.toBe(full);
  expect(running).toBe(0);
  // Those that ran beside it, and at most as many again.
  expect(started).toBeLessThan(20);
});
