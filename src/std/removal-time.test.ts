import { beforeEach, expect, test } from "vitest";
import type { Instant } from "./clock.ts";
import { RemovalTime } from "./removal-time.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.parse("2026-11-21T09:30:00Z");

let elapsed: number;
let ahead: number;
let time: RemovalTime;
const start = (): void => {
  [elapsed, ahead] = [0, 0];
  time = new RemovalTime({ now: () => (START + elapsed + ahead) as Instant }, () => elapsed);
};
beforeEach(start);

/** What is found in each minute. */
function findFor(ms: number): (Instant | undefined)[] {
  const found: (Instant | undefined)[] = [];
  for (const end = elapsed + ms; elapsed < end; elapsed += MINUTE) found.push(time.find());
  return found;
}

test("nothing is removed in the first hour; then the time is that of an hour or two before", () => {
  expect(new Set(findFor(HOUR))).toEqual(new Set([undefined]));
  expect(new Set(findFor(HOUR))).toEqual(new Set([START]));
  expect(new Set(findFor(2 * HOUR))).toEqual(new Set([START + HOUR, START + 2 * HOUR]));
});

test("a clock that is ahead for less than an hour moves it by no more than that hour, whenever it begins", () => {
  for (let begin = 0; begin < 61; begin += 5) {
    start();
    const found = findFor(HOUR + begin * MINUTE);
    ahead = 500 * DAY;
    found.push(...findFor(59 * MINUTE));
    ahead = 0;
    found.push(...findFor(3 * HOUR));
    for (const at of found) expect(at ?? 0).toBeLessThan(START + elapsed);
  }
});

test("a clock that is set back counts at once at the next look", () => {
  findFor(2 * HOUR);
  ahead = -10 * DAY;
  expect(new Set(findFor(HOUR))).toEqual(new Set([START + 2 * HOUR - 10 * DAY]));
});
