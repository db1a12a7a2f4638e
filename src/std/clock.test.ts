import { expect, test, vi } from "vitest";
import { formatInstant, parseInstant, steadyClock, systemClock } from "./clock.ts";

const read = (text: string, finer: "up" | "down" = "down"): string | undefined => {
  const instant = parseInstant(text, finer);
  return instant === undefined ? undefined : formatInstant(instant);
};

test("a time is printed with three decimals, and reads back as itself", () => {
  for (const text of ["2026-11-21T09:30:00.000Z", "1970-01-01T00:00:00.000Z", "2026-12-31T23:59:59.999Z"]) {
    expect(read(text)).toBe(text);
    expect(read(text, "up")).toBe(text);
  }
});

test.each([
  ["2026-11-21T09:30:00Z", "2026-11-21T09:30:00.000Z"],
  ["2026-11-21t09:30:00.5z", "2026-11-21T09:30:00.500Z"],
  ["2026-11-21T09:30:00+05:30", "2026-11-21T04:00:00.000Z"],
  ["2026-11-21T23:30:00-00:45", "2026-11-22T00:15:00.000Z"],
  ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
  ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"],
  // The first and the last that have a year of four digits.
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59.9999Z", "9999-12-31T23:59:59.999Z"],
  // Leap seconds.
  ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
  ["2017-01-01T05:29:60.5+05:30", "2017-01-01T00:00:00.500Z"],
])("%s is %s", (text, expected) => {
  expect(read(text)).toBe(expected);
});

test("digits below a millisecond are rounded as the caller says", () => {
  expect(read("2026-11-21T09:30:00.0001Z", "up")).toBe("2026-11-21T09:30:00.001Z");
  expect(read("2026-11-21T09:30:00.000999999Z", "down")).toBe("2026-11-21T09:30:00.000Z");
  expect(read("2026-11-21T23:59:59.999000001Z", "up")).toBe("2026-11-22T00:00:00.000Z");
  expect(read("9999-12-31T23:59:59.999000001Z", "up")).toBeUndefined();
  // Before 1970, too, down is earlier.
  expect(read("1969-12-31T23:59:59.9999Z", "down")).toBe("1969-12-31T23:59:59.999Z");
});

test.each([
  "",
  "2026-11-21",
  "2026-11-21T09:30Z",
  "2026-11-21T09:30:00",
  "2026-11-21 09:30:00Z",
  "2026-11-21T09:30:00.Z",
  "2026-11-21T09:30:00.1234567891Z",
  "2026-02-29T00:00:00Z",
  "1900-02-29T00:00:00Z",
  "2026-04-31T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-00-01T00:00:00Z",
  "2026-11-21T25:00:00Z",
  "2026-11-21T09:60:00Z",
  "2026-11-21T09:30:00+24:00",
  "2026-11-21T24:00:00Z",
  "2026-11-21T09:60:00Z",
  "2026-11-21T09:30:60Z",
  "2026-11-21T23:59:60Z",
  "2026-02-29T23:59:60Z",
  "9999-12-31T23:59:60Z",
  "0000-12-31T23:59:59Z",
  "0001-01-01T00:00:00+00:01",
  "9999-12-31T23:59:59-00:01",
  "2026-11-21T09:30:00+0530",
  "20026-11-21T09:30:00Z",
  "2026-11-21T09:30:00Z ",
  "1763717400000",
])("%j is not a time", (text) => {
  expect(read(text)).toBeUndefined();
});

test("the monotonic clock continues when the time of day is set back", () => {
  const before = steadyClock.now();
  vi.useFakeTimers({ toFake: ["Date"], now: systemClock.now() - 3_600_000 });
  try {
    expect(systemClock.now()).toBeLessThan(before);
    expect(steadyClock.now()).toBeGreaterThanOrEqual(before);
  } finally {
    vi.useRealTimers();
  }
});
