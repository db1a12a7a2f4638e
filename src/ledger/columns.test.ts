import { expect, test } from "vitest";
import { type Amount, amountOf } from "../money/amount.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { annotationColumns, type Pairs, pairs, text } from "./annotations.ts";
import {
  amountColumn,
  bigintColumn,
  booleanColumn,
  type ColumnsOf,
  canonicalJson,
  changing,
  countColumn,
  jsonColumn,
  key,
  readerOf,
  tableColumns,
  textColumn,
  textsOf,
  timeColumn,
  uuidColumn,
  versionColumn,
} from "./columns.ts";
import { digestOf, hashedText, type StateRow, stateTable, textRow } from "./tables.ts";

test("canonical JSON does not depend on the order of keys", () => {
  const one = canonicalJson({ b: "2", a: "1", "10": "x", "9": "y" });
  expect(canonicalJson({ "9": "y", "10": "x", a: "1", b: "2" })).toBe(one);
  expect(JSON.parse(one)).toEqual({ a: "1", b: "2", "9": "y", "10": "x" });
  expect(canonicalJson({})).toBe("{}");
});

interface Everything {
  readonly id: Uuid;
  readonly memo?: string | undefined;
  readonly amount: Amount | undefined;
  readonly at: Instant | undefined;
  readonly number: bigint | undefined;
  readonly count: number | undefined;
  readonly isDone: boolean | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

const COLUMNS: ColumnsOf<Everything> = {
  id: uuidColumn("id"),
  memo: textColumn("memo"),
  amount: amountColumn("amount"),
  at: timeColumn("at"),
  number: bigintColumn("number"),
  count: countColumn("count"),
  isDone: booleanColumn("is_done"),
  metadata: jsonColumn("metadata"),
};

const ID = "0190d5a4-1111-7000-8000-000000000004" as Uuid;
const everything: Everything = {
  id: ID,
  memo: "",
  amount: amountOf("-1.5"),
  at: 1_000 as Instant,
  number: 2n ** 62n,
  count: 0,
  isDone: false,
  metadata: { b: "2", a: "1" },
};
const nothing: Everything = {
  id: ID,
  memo: undefined,
  amount: undefined,
  at: undefined,
  number: undefined,
  count: undefined,
  isDone: undefined,
  metadata: undefined,
};

test("a row is written as text and read from what the driver returns", () => {
  const columns = tableColumns(COLUMNS);
  expect(columns.map(({ name, type, text }) => [name, type, text(everything), text(nothing)])).toEqual([
    ["id", "uuid", ID, ID],
    ["memo", "text", "", null],
    ["amount", "numeric", "-1.5", null],
    ["at", "timestamptz", "1970-01-01T00:00:01.000Z", null],
    ["number", "bigint", "4611686018427387904", null],
    ["count", "bigint", "0", null],
    ["is_done", "boolean", "false", null],
    ["metadata", "jsonb", '{"a":"1","b":"2"}', null],
  ]);
  const read = readerOf(columns);
  const record = { id: ID, memo: "", amount: "-1.5", at: 1_000, number: "4611686018427387904", count: "0" };
  expect(read({ ...record, is_done: false, metadata: { a: "1", b: "2" } })).toStrictEqual(everything);
  const nulls = { memo: null, amount: null, at: null, number: null, count: null, is_done: null, metadata: null };
  expect(read({ id: ID, ...nulls })).toStrictEqual(nothing);
});

test("a stored value has the text with which its row was written, without the way through the row", () => {
  const columns = tableColumns(COLUMNS);
  const record = { id: ID, memo: "", amount: "-1.500", at: 1_000, number: "4611686018427387904", count: "0" };
  const full = { ...record, is_done: false, metadata: { b: "2", a: "1" } };
  expect(textsOf(columns)(full)).toEqual(textRow(columns, everything));
  const nulls = { memo: null, amount: null, at: null, number: null, count: null, is_done: null, metadata: null };
  expect(textsOf(columns)({ id: ID, ...nulls })).toEqual(textRow(columns, nothing));
});

test("a field without a column, or with one of another type, does not compile", () => {
  const { memo, ...incomplete } = COLUMNS;
  // @ts-expect-error memo is missing
  expect(tableColumns<Everything>(incomplete)).not.toContain(memo);
  // @ts-expect-error a time is not an amount
  expect(tableColumns<Everything>({ ...COLUMNS, at: amountColumn("at") })).toHaveLength(8);
  // @ts-expect-error an amount is not text
  expect(tableColumns<Everything>({ ...COLUMNS, amount: textColumn("amount") })).toHaveLength(8);
  // @ts-expect-error an amount is not a whole number
  expect(tableColumns<Everything>({ ...COLUMNS, amount: bigintColumn("amount") })).toHaveLength(8);
  // @ts-expect-error there is no such field
  expect(tableColumns<Everything>({ ...COLUMNS, more: textColumn("more") })).toHaveLength(9);
});

test("a group's columns are written from one field, and read into it, beside other columns", () => {
  interface Labelled {
    readonly id: Uuid;
    readonly label: { readonly name?: string | undefined; readonly metadata?: Pairs | undefined };
  }
  const columns = tableColumns<Labelled>({
    label: annotationColumns({ name: text("label_name", "A name."), metadata: pairs("metadata") }),
    id: uuidColumn("id"),
  });
  const row: Labelled = { id: ID, label: { name: "a", metadata: { b: "2" } } };
  expect(columns.map(({ name, type, text }) => [name, type, text(row), text({ id: ID, label: {} })])).toEqual([
    ["label_name", "text", "a", null],
    ["metadata", "jsonb", '{"b":"2"}', null],
    ["id", "uuid", ID, ID],
  ]);
  const read = readerOf(columns.toSorted((a, b) => (a.type < b.type ? -1 : 1)));
  expect(read({ id: ID, label_name: "a", metadata: { b: "2" } })).toStrictEqual(row);
  const without = { id: ID, label: { name: undefined, metadata: undefined } };
  expect(read({ id: ID, label_name: null, metadata: null })).toStrictEqual(without);
});

interface Note {
  readonly one?: string;
  readonly two?: string;
  readonly more?: Record<string, string>;
}

test("hashed text distinguishes null, empty values, neighbouring columns and rows", () => {
  const columns = tableColumns<Note>({ more: jsonColumn("more"), one: textColumn("one"), two: textColumn("two") });
  const all: Note[][] = [
    [{}],
    [{}, {}],
    [{ one: "" }],
    [{ two: "" }],
    [{ one: "ab" }],
    [{ one: "a", two: "b" }],
    [{ one: "a=", two: "b" }],
    [{ one: "a", two: "=b" }],
    [{ more: {} }],
    [{ two: "{}" }],
    [{ one: "a" }, { two: "b" }],
    [{ one: "a", two: "b" }, {}],
    [{ one: "a" }, { one: "b" }],
    [{ one: "a\n=b" }],
  ];
  const texts = all.map((rows) =>
    hashedText(
      "note",
      columns,
      rows.map((row) => textRow(columns, row)),
    ),
  );
  expect(new Set(texts).size).toBe(all.length);
  expect(texts.slice(5, 6)).toEqual(["\nnote: one two\n=a\0=b\0"]);
});

test("a column that holds nothing adds nothing to the hashed text, of rows and of a digest", () => {
  interface Counter extends StateRow {
    readonly id: string;
    readonly memo?: string | undefined;
  }
  const columns = { id: key(textColumn("id")), version: versionColumn };
  const more = { ...{ digested: true, keyOf: ({ id }: Counter) => id, keyValues: (id: string) => [id] } };
  const before = stateTable<Omit<Counter, "memo">>({ name: "counter", columns, ...more });
  const after = stateTable<Counter>({
    name: "counter",
    columns: { memo: changing(textColumn("memo")), ...columns },
    ...more,
  });
  const row = { id: "a", version: 7n };
  expect(digestOf(after, row)).toBe(digestOf(before, row));
  expect(digestOf(after, { ...row, memo: "" })).not.toBe(digestOf(before, row));
  const text = (table: typeof before | typeof after) =>
    hashedText("counter", table.hashed, [textRow<Counter>(table.hashed, row)]);
  expect(text(after)).toBe(text(before));
});
