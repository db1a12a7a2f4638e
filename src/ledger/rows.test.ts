import { expect, test } from "vitest";
import { amountOf } from "../money/amount.ts";
import { canonicalJson, jsonColumn, line, optionalsOf, textColumn, textRow } from "./rows.ts";

test("canonical JSON does not depend on the order of keys", () => {
  const one = canonicalJson({ b: "2", a: "1", "10": "x", "9": "y" });
  expect(canonicalJson({ "9": "y", "10": "x", a: "1", b: "2" })).toBe(one);
  expect(JSON.parse(one)).toEqual({ a: "1", b: "2", "9": "y", "10": "x" });
  expect(canonicalJson({})).toBe("{}");
});

test("hashed text distinguishes null, empty values and neighbouring columns", () => {
  interface Row {
    readonly one?: string;
    readonly two?: string;
    readonly more?: Record<string, string>;
  }
  const columns = [
    textColumn<Row>("one", "text", (row) => row.one),
    textColumn<Row>("two", "text", (row) => row.two),
    jsonColumn<Row>("more", (row) => row.more),
  ];
  const rows: Row[] = [
    {},
    { one: "" },
    { two: "" },
    { one: "ab" },
    { one: "a", two: "b" },
    { one: "a=", two: "b" },
    { one: "a", two: "=b" },
    { more: {} },
    { two: "{}" },
  ];
  expect(new Set(rows.map((row) => line(textRow(columns, row)))).size).toBe(rows.length);
});

test("an optional column is its value, the parsed value, or undefined for null", () => {
  const maybe = optionalsOf({ ref_id: "", memo: null, amount: "1.5", number: null });
  expect(maybe<string>("ref_id")).toBe("");
  expect(maybe<string>("memo")).toBe(undefined);
  expect(maybe("amount", amountOf)).toBe(amountOf("1.5"));
  expect(maybe("number", BigInt)).toBe(undefined);
});
