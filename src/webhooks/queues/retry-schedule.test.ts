import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { failedRow, withinSchedule } from "./retry-schedule.ts";

const PAGE = new URL("../../../docs/webhooks.md", import.meta.url);
const UNITS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 };

/** After each attempt that fails, until it is given up. */
function delays(random: number): (number | undefined)[] {
  const found: (number | undefined)[] = [];
  for (let attempts = 0; found.at(-1) !== undefined || attempts === 0; attempts += 1) {
    const row = { number: 1n, objectId: "object", attempts };
    found.push(failedRow(row, { kind: "failed", error: "answered 500" }, 0 as Instant, random).nextAttemptAt);
  }
  return found;
}

test("retries are as the page on webhooks says", () => {
  const said = /tried again after ([^()]+?), each a tenth more or less, and then given up/.exec(
    readFileSync(PAGE, "utf8").replace(/\s+/g, " "),
  );
  const onPage = (said?.[1] ?? "").split(/, | and /).map((delay) => {
    const [count, unit = ""] = delay.split(" ");
    return Number(count) * (UNITS[unit] ?? Number.NaN);
  });
  expect(delays(0.5)).toEqual([...onPage, undefined]);
  expect(delays(0)).toEqual([...onPage.map((delay) => 0.9 * delay), undefined]);
});

test("an attempt postponed for years by a clock that was ahead is due within the longest delay", () => {
  const [now, hour] = [Date.parse("2026-11-21T09:30:00Z") as Instant, 3_600_000];
  const row = { number: 7n, objectId: "object", attempts: 3, lastError: "answered 500", status: "RETRYING" } as const;
  const put = (at: number) => withinSchedule({ ...row, nextAttemptAt: (now + at) as Instant }, now).nextAttemptAt;
  expect(put(1.1 * 24 * hour)).toBe(now + 1.1 * 24 * hour);
  expect(put(10_000 * 24 * hour)).toBeLessThan(now + 28 * hour);
  const blocked = { ...row, status: "BLOCKED", nextAttemptAt: undefined } as const;
  expect(withinSchedule(blocked, now)).toEqual(blocked);
});

test("an attempt is delayed for as long as its receiver asks, an hour at most, and never brought forward", () => {
  const [now, minute] = [Date.parse("2026-11-21T09:30:00Z") as Instant, 60_000];
  const next = (attempts: number, retryAfterMs: number) => {
    const outcome = { kind: "failed", error: "answered 429", retryAfterMs } as const;
    const { nextAttemptAt } = failedRow({ number: 7n, objectId: "object", attempts }, outcome, now, 0.5);
    return (nextAttemptAt ?? 0) - now;
  };
  // docs/webhooks.md: the first is due after 5 s, the fourth after 2 h.
  expect([next(0, 20 * minute), next(0, 61 * minute), next(0, 1), next(3, 30 * minute)]).toEqual([
    ...[20 * minute, 60 * minute, 5_000, 120 * minute],
  ]);
});
