/** The ranges of docs/settings.md. */
import { expect, test } from "vitest";
import { InvalidSettings, readConfig } from "./config.ts";

function linesOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof InvalidSettings) return error.lines;
    throw error;
  }
  return [];
}

test.each([
  ["PARBOOK_SETTLEMENT_DELAY_MS", 0, 2_592_000_000],
  ["PARBOOK_EVENT_DAYS", 1, 36_500],
  ["PARBOOK_CLOCK_TOLERANCE_MS", 100, 60_000],
  ["PARBOOK_MAX_CONNECTIONS", 1, 1_000_000],
  ["PARBOOK_CACHE_MB", 32, 1_000_000],
  ["PARBOOK_SIGNING_KEY_DAYS", 1, 3_650],
  ["PARBOOK_METRICS_PORT", 0, 65_535],
])("%s is from %i to %i", (name, least, most) => {
  const rule = `is not a whole number from ${least} to ${most}`;
  for (const wrong of [least - 1, most + 1])
    expect(linesOf({ [name]: String(wrong) })).toEqual([`${name} "${wrong}" ${rule}`]);
  const lines = [least, most].flatMap((right) => linesOf({ [name]: String(right) }));
  expect(lines.filter((line) => line.includes(rule))).toEqual([]);
});

test("of a long value that is wrong the first hundred characters are shown", () => {
  const [line] = linesOf({ PARBOOK_MODE: "x".repeat(101) });
  expect(line).toBe(`PARBOOK_MODE "${"x".repeat(100)}" is not one of sandbox, production`);
});

test("each server has a port of its own, unless the system chooses it", () => {
  expect(linesOf({ PARBOOK_AUTH_PORT: "9464", PARBOOK_METRICS_PORT: "9464" })).toEqual([
    "PARBOOK_AUTH_PORT and PARBOOK_METRICS_PORT are both 9464, but each server needs its own port",
  ]);
  expect(linesOf({ PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0", PARBOOK_METRICS_PORT: "0" })).toEqual([]);
});
