import { expect, test } from "vitest";
import { textBytesOf } from "./text-bytes.ts";

test("texts and names count, in UTF-8, however deep they are", () => {
  expect(textBytesOf({ a: "\u{1f7e1}\u00e9", list: ["b", { inner: "cd" }], n: 1n, none: null, gone: undefined })).toBe(
    "a".length + 6 + "list".length + "0b1innercd".length + "nnonegone".length,
  );
  expect(textBytesOf("x".repeat(10_000))).toBe(10_000);
});
