import { expect, test } from "vitest";
import { asObjects } from "./row-objects.ts";

const named = (...names: string[]) => names.map((name) => ({ name }));

test("rows are objects with the names of their columns, whatever these are", () => {
  const fields = named("id", "?column?", 'a "quoted" \\ name');
  const rows = [
    ["one", null, 1],
    ["two", "x", undefined],
  ];
  expect(asObjects({ fields, rows })).toStrictEqual([
    { id: "one", "?column?": null, 'a "quoted" \\ name': 1 },
    { id: "two", "?column?": "x", 'a "quoted" \\ name': undefined },
  ]);
});

test("a column may have the name of what every object inherits", () => {
  const [row] = asObjects<object>({ fields: named("__proto__", "constructor"), rows: [["a", "b"]] });
  expect(Object.entries(row ?? {})).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
  expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
});

test("statements with other columns, or the same in another order, have objects of their own", () => {
  expect(asObjects({ fields: named("a", "b"), rows: [[1, 2]] })).toStrictEqual([{ a: 1, b: 2 }]);
  expect(asObjects({ fields: named("b", "a"), rows: [[1, 2]] })).toStrictEqual([{ b: 1, a: 2 }]);
  expect(asObjects({ fields: named("a,b"), rows: [[1]] })).toStrictEqual([{ "a,b": 1 }]);
  expect(asObjects({ fields: named("at", "id"), rows: [[1, 2]] })).toStrictEqual([{ at: 1, id: 2 }]);
  expect(asObjects({ fields: named("a", "tid"), rows: [[1, 2]] })).toStrictEqual([{ a: 1, tid: 2 }]);
});

test("a column that occurs twice has its last value, as the driver has it", () => {
  expect(asObjects({ fields: named("a", "b", "a"), rows: [[1, 2, 3]] })).toStrictEqual([{ a: 3, b: 2 }]);
});

test("no rows, and several statements in one text, give nothing", () => {
  expect(asObjects({ fields: named("a"), rows: [] })).toEqual([]);
  expect(asObjects([{ fields: named("a"), rows: [[1]] }] as object)).toEqual([]);
});

test("more statements than are kept are read as well", () => {
  for (let place = 0; place < 2_010; place += 1)
    expect(asObjects({ fields: named(`column ${place}`), rows: [[place]] })).toEqual([{ [`column ${place}`]: place }]);
  expect(asObjects({ fields: named("column 0"), rows: [["again"]] })).toEqual([{ "column 0": "again" }]);
});
