import { expect, test } from "vitest";
import { sentRequestId } from "./sent-request-id.ts";

test("an id of 1 to 64 letters, digits, dots, underscores and hyphens is the caller's own", () => {
  for (const id of ["a", "order-17.a_B", "9".repeat(64)]) expect(sentRequestId(id)).toBe(id);
});

test("any other is none: it would stand in the log as it is", () => {
  // The last but two is what a secret of ours looks like.
  const others = [
    undefined,
    "",
    "a b",
    "a\n",
    "a\nb",
    "ä",
    '"',
    "a".repeat(65),
    `${"a".repeat(42)}_`,
    ["a"],
    ["a", "b"],
  ];
  expect(others.map(sentRequestId)).toEqual(others.map(() => undefined));
});
