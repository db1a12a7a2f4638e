import { expect, test } from "vitest";
import { accountTable } from "../accounts.ts";
import { Memory } from "./memory.ts";

const row = (seq: bigint) => ({ seq });

test("the least recently written row is evicted when there are too many", () => {
  const memory = new Memory(2);
  memory.set(accountTable, "a", row(1n));
  memory.set(accountTable, "b", row(1n));
  memory.set(accountTable, "a", row(2n));
  memory.set(accountTable, "c", row(1n));
  expect(memory.get(accountTable, "a")).toEqual(row(2n));
  expect(memory.has(accountTable, "b")).toBe(false);
  expect(memory.has(accountTable, "c")).toBe(true);
});

test("clear removes all rows, and equal keys of two tables are two rows", () => {
  const memory = new Memory(2);
  const other = { ...accountTable, name: "other" };
  memory.set(accountTable, "a", row(1n));
  memory.set(other, "a", row(5n));
  expect(memory.get(accountTable, "a")).toEqual(row(1n));
  expect(memory.get(other, "a")).toEqual(row(5n));
  memory.clear();
  expect(memory.has(accountTable, "a") || memory.has(other, "a")).toBe(false);
});

test("a row that was never written cannot be cached", () => {
  expect(() => new Memory(2).set(accountTable, "a", row(0n))).toThrow("a cached row has been written");
});
