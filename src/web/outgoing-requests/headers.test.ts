import { expect, test } from "vitest";
import { areHeaders } from "./headers.ts";

test.each([
  ["Authorization", "Bearer x y", true],
  ["x_key!#$%&'*+-.^`|~", "!~", true],
  ["x", "", true],
  ["", "x", false],
  ["__proto__", "x", false],
  ["__Proto__", "x", false],
  ["x y", "x", false],
  ["x:", "x", false],
  ["x\r\nHost", "x", false],
  ["x\0", "x", false],
  ["ключ", "x", false],
  ["x", "x\r\nX-Admin: 1", false],
  ["x", "x\n", false],
  ["x", "x\0", false],
  ["x", "x\t", false],
  ["x", " x", false],
  ["x", "x ", false],
  ["x", "é", false],
  ["x", "嗊嘍", false], // Whose low bytes are a line break.
])("%j with the value %j is a header: %s", (name, value, expected) => {
  expect(areHeaders({ "webhook-id": "1", [name]: value })).toBe(expected);
});
