import { expect, test } from "vitest";
import { table } from "./terminal.ts";

test("a cell with leading, trailing or double blanks is quoted", () => {
  const names = ["a b", " a", "a ", "a  b", ""];
  const rows = names.map((name, at) => [name, String(at)]);
  expect(table(["name", "number"], rows)).toEqual([
    "name    number",
    "a b     0",
    '" a"    1',
    '"a "    2',
    '"a  b"  3',
    "        4",
  ]);
});
