import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { idsWithin, intersection, lastUntil, readComparisons, readInterval, type TimeRange } from "./time-range.ts";

const MS = Date.UTC(2026, 10, 21, 9, 30, 0, 5) as Instant;
const at = (digits: string): string => `2026-11-21T09:30:00.${digits}Z`;

function within({ from, before }: TimeRange, time: number): boolean {
  return (from === undefined || time >= from) && (before === undefined || time < before);
}

/** Which of the times 4, 5 and 6 ms past match. */
function matching(range: TimeRange): number[] {
  return [4, 5, 6].filter((millisecond) => within(range, MS - 5 + millisecond));
}

test.each([
  ["gte", "005", [5, 6]],
  ["gte", "005000000", [5, 6]],
  ["gte", "0050001", [6]],
  ["gt", "005", [6]],
  ["gt", "0049", [5, 6]],
  ["gt", "0050001", [6]],
  ["lte", "005", [4, 5]],
  ["lte", "0059999", [4, 5]],
  ["lt", "005", [4]],
  ["lt", "0050001", [4, 5]],
  ["eq", "005", [5]],
  ["eq", "005000000", [5]],
  ["eq", "0050001", []],
])("%s compares .%s as given", (comparison, digits, expected) => {
  expect(matching(readComparisons({ [`created_at.${comparison}`]: at(digits) }, "created_at"))).toEqual(expected);
});

test("comparisons combine with AND", () => {
  const query = { "created_at.gte": at("005"), "created_at.lt": at("006"), "updated_at.gt": at("006") };
  expect(matching(readComparisons(query, "created_at"))).toEqual([5]);
  const both = intersection([readComparisons(query, "created_at"), readComparisons(query, "updated_at")]);
  expect(matching(both)).toEqual([]);
});

test("an interval has both its ends", () => {
  expect(matching(readInterval({ "range.begin": at("005"), "range.end": at("005") }, "range"))).toEqual([5]);
  expect(matching(readInterval({ "range.begin": at("006"), "range.end": at("004") }, "range"))).toEqual([]);
});

test("no filter matches everything", () => {
  expect(readComparisons({}, "created_at")).toEqual({ from: undefined, before: undefined });
  expect(idsWithin(readInterval({}, "range"))).toEqual({ from: undefined, before: undefined });
});

test("bounds on times become bounds on ids", () => {
  const range = { from: 0x0190d5a47e1b as Instant, before: 0x0190d5a47e1c as Instant };
  expect(idsWithin(range)).toEqual({
    from: "0190d5a4-7e1b-0000-0000-000000000000",
    before: "0190d5a4-7e1c-0000-0000-000000000000",
  });
  expect(idsWithin({ from: 0 as Instant, before: 0 as Instant })).toEqual({
    from: "00000000-0000-0000-0000-000000000000",
    before: "00000000-0000-0000-0000-000000000000",
  });
});

test.each(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"])(
  "%s is brought back to where SQL and ids can go",
  (text) => {
    const { from, before } = readInterval({ "range.begin": text, "range.end": text }, "range");
    for (const time of [from, before, lastUntil(text)]) {
      expect(new Date(time as number).toISOString()).toMatch(
        /^(1970-01-01T00:00:00.00[01]Z|9999-12-31T23:59:59.999Z)$/,
      );
    }
  },
);
