import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { ContestedRows } from "./contested-rows.ts";
import { LIMITS } from "./lane-options.ts";

function contestedRows() {
  const clock = { time: 1_000_000, now: () => clock.time as Instant };
  return { clock, rows: new ContestedRows(clock) };
}

test("a row is locked first until it was found unchanged several times in a row", () => {
  const { rows } = contestedRows();
  const unchanged = () => rows.noteFound({ changed: [], unchanged: ["a", "other"] });
  rows.add(["a", "b"]);
  for (let time = 1; time < LIMITS.timesUnchanged; time += 1) unchanged();
  expect([rows.has("a"), rows.has("b"), rows.has("other")]).toEqual([true, true, false]);
  rows.noteFound({ changed: ["a", "other"], unchanged: [] });
  for (let time = 1; time < LIMITS.timesUnchanged; time += 1) unchanged();
  expect([rows.has("a"), rows.has("other")]).toEqual([true, false]);
  unchanged();
  expect([rows.has("a"), rows.has("b")]).toEqual([false, true]);
});

test("who needs many rows locks a row that was calm since, too, until it has not been changed for a while", () => {
  const { clock, rows } = contestedRows();
  rows.add(["a"]);
  for (let time = 0; time < LIMITS.timesUnchanged; time += 1) rows.noteFound({ changed: [], unchanged: ["a"] });
  expect([rows.has("a"), rows.hasLately("a")]).toEqual([false, true]);
  clock.time += LIMITS.contestedMs - 1;
  rows.noteFound({ changed: ["a"], unchanged: [] });
  expect(rows.has("a")).toBe(true);
  clock.time += LIMITS.contestedMs;
  rows.removeExpired();
  expect(rows.hasLately("a")).toBe(false);
});

test("a row that nobody needs is forgotten after a while, also if it was noted by a clock that was ahead", () => {
  const { clock, rows } = contestedRows();
  rows.add(["a"]);
  clock.time += LIMITS.contestedMs - 1;
  rows.removeExpired();
  expect(rows.has("a")).toBe(true);
  clock.time += 1;
  rows.removeExpired();
  expect(rows.isEmpty).toBe(true);
  rows.add(["a"]);
  clock.time -= 1;
  rows.removeExpired();
  expect(rows.isEmpty).toBe(true);
});
