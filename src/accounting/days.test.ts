import { expect, test } from "vitest";
import type { Instant } from "../std/clock.ts";
import { Days } from "./days.ts";

const at = (text: string) => Date.parse(text) as Instant;

test("the days of an export are those of its first and its last time, in whatever order they come", () => {
  const days = new Days();
  for (const text of ["2026-02-28T23:59:59.999Z", "2026-03-01T00:00:00Z", "2025-12-31T12:00:00Z"]) days.add(at(text));
  expect([days.first, days.last, days.dayAfterLast]).toEqual(["2025-12-31", "2026-03-01", "2026-03-02"]);
});

test("one time is the first and the last", () => {
  const days = new Days();
  days.add(at("2026-02-28T00:00:00Z"));
  expect([days.first, days.last, days.dayAfterLast]).toEqual(["2026-02-28", "2026-02-28", "2026-03-01"]);
});
