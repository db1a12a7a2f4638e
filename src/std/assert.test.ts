import { expect, test } from "vitest";
import { AssertionFailed, assert, must, unreachable } from "./assert.ts";

test("a failed assertion is a bug that names the belief", () => {
  expect(() => assert(false, "the sky is blue")).toThrow(new AssertionFailed("the sky is blue"));
  expect(() => assert(true, "the sky is blue")).not.toThrow();
  expect(() => unreachable("here" as never)).toThrow('not reachable, but here is "here"');
});

test("must returns its value, also false, zero and null", () => {
  for (const value of [false, 0, "", null]) expect(must(value, "it is there")).toBe(value);
  expect(() => must(undefined, "it is there")).toThrow("it is there");
});
