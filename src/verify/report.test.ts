import { expect, test } from "vitest";
import { formatReport } from "./report.ts";

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
