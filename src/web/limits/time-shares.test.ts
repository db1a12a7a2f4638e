import { expect, test } from "vitest";
import { TimeShares } from "./time-shares.ts";

function start() {
  const load = { utilization: 0.9 };
  const clock = { now: 1_000_000 };
  const shares = new TimeShares(load, () => clock.now);
  /** A request that takes so long, after a time in which there was none. */
  const take = (caller: string, tookMs: number, afterMs = 0): number => {
    clock.now += afterMs + tookMs;
    return Math.round(shares.restMs(caller, tookMs));
  };
  return { load, take };
}

test("a caller that took more than two fifths of the time rests until it took no more, and others do not", () => {
  const { take } = start();
  // 200 ms at once are free, and 40 of each 100 come back: it has taken 100, 160, 220.
  expect([take("a", 100), take("a", 100), take("a", 100)]).toEqual([0, 0, 50]);
  expect(take("b", 100)).toBe(0);
  // One that always rests takes 100 of 250.
  const rests = [0];
  for (let i = 0; i < 20; i += 1) rests.push(take("c", 100, rests.at(-1)));
  expect(rests.slice(1)).toEqual([0, 0, 50, ...new Array<number>(17).fill(150)]);
});

test("while the thread has time nobody rests, and what was taken then is held against a caller for one long rest", () => {
  const { load, take } = start();
  load.utilization = 0.6;
  for (let i = 0; i < 100; i += 1) expect(take("a", 1_000)).toBe(0);
  load.utilization = 0.61;
  expect([take("a", 1), take("a", 1, 500)]).toEqual([500, 2]);
  // A second without any, and the bucket is full again.
  expect([take("a", 200, 1_000), take("a", 1)]).toEqual([0, 2]);
});
