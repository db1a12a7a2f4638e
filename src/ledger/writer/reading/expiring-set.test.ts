import { expect, test } from "vitest";
import type { Instant } from "../../../std/clock.ts";
import { ExpiringSet } from "./expiring-set.ts";

test("a name expires so long after it was added for the last time, and none of the others with it", () => {
  let now = 1_000 as Instant;
  const set = new ExpiringSet({ now: () => now }, 500);
  const namesAt = (at: number): string[] => {
    now = at as Instant;
    set.removeExpired();
    return ["again", "once"].filter((name) => set.has(name));
  };
  for (const name of ["again", "once"]) set.add(name);
  expect(namesAt(1_400)).toEqual(["again", "once"]);
  set.add("again");
  expect([namesAt(1_499), namesAt(1_500), namesAt(1_899)]).toEqual([["again", "once"], ["again"], ["again"]]);
  expect(set.isEmpty).toBe(false);
  expect([namesAt(1_900), set.isEmpty]).toEqual([[], true]);
});

test("a name that was added while the clock was ahead expires when it is right again", () => {
  let now = 1_000_000 as Instant;
  const set = new ExpiringSet({ now: () => now }, 500);
  set.add("ahead");
  now = 1_000 as Instant;
  set.add("right");
  set.removeExpired();
  expect(["ahead", "right"].map((name) => set.has(name))).toEqual([false, true]);
});
