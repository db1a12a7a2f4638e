import { expect, test } from "vitest";
import { formatReport, verdictOf } from "./report.ts";

test("a report is a table, followed by the first finding of every check", () => {
  const first = { check: "chain", record: "batch 1/17", message: "is missing" };
  expect(
    formatReport([
      { check: "chain", examined: 12_345, broken: 2, first },
      { check: "conversions", examined: 7, broken: 0, first: undefined },
    ]),
  ).toEqual([
    "check        examined  result",
    "chain           12345  2 broken",
    "conversions         7  sound",
    "",
    "chain: batch 1/17 is missing",
  ]);
});

test("a report without findings ends with its table", () => {
  expect(formatReport([{ check: "chain", examined: 1, broken: 0, first: undefined }])).toEqual([
    "check  examined  result",
    "chain         1  sound",
  ]);
});

const broken = (check: string) => ({ check, examined: 1, broken: 1, first: { check, record: "x", message: "is y" } });

test("what a version does not know is unknown, not broken", () => {
  expect(formatReport([broken("known columns")])[1]).toBe("known columns         1  1 unknown");
});

test.each([
  [[], "The ledger is sound."],
  [["chain"], "The ledger is not sound."],
  [["known columns"], "No difference was found, but the ledger holds what this version cannot verify."],
  [["known columns", "chain"], "The ledger is not sound, and holds what this version cannot verify."],
])("the verdict on findings of %j", (found, verdict) => {
  const complete = !found.includes("known columns");
  expect(verdictOf({ checks: found.map(broken), sound: found.length === 0, complete })).toBe(verdict);
});
