import { expect, test } from "vitest";
import { wordOf } from "./chart-of-accounts.ts";

test.each([
  ["Acme Ltd", "Acme-Ltd"],
  ["  --5th & Öther;  \n", "5th-O-ther"],
  ["treasury", "Treasury"],
  ["本店", "Customer"],
  ["", "Customer"],
  [`${"a".repeat(39)} b`, `A${"a".repeat(38)}`],
])("of the name %j a part of an account's name is %s", (name, word) => {
  expect(wordOf(name, "Customer")).toBe(word);
});
