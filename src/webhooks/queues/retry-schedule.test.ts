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
