import { expect, test } from "vitest";
import { accountTable } from "../../accounts.ts";
import { RowCache } from "./row-cache.ts";

const row = (version: bigint) => ({ version });

test("the least recently written row is evicted when there are too many", () => {
  const cache = new RowCache(2);
  cache.set(accountTable, "a", row(1n));
  cache.set(accountTable, "b", row(1n));
  cache.set(accountTable, "a", row(2n));
  cache.set(accountTable, "c", row(1n));
  expect(cache.get(accountTable, "a")).toEqual(row(2n));
  expect(cache.has(accountTable, "b")).toBe(false);
  expect(cache.has(accountTable, "c")).toBe(true);
});

test("clear removes all rows, and equal keys of two tables are two rows", () => {
  const cache = new RowCache(2);
  const other = { ...accountTable, name: "other" };
  cache.set(accountTable, "a", row(1n));
  cache.set(other, "a", row(5n));
  expect(cache.get(accountTable, "a")).toEqual(row(1n));
  expect(cache.get(other, "a")).toEqual(row(5n));
  cache.clear();
  expect(cache.has(accountTable, "a") || cache.has(other, "a")).toBe(false);
});

test("a row that was never written cannot be cached", () => {
  expect(() => new RowCache(2).set(accountTable, "a", row(0n))).toThrow("a cached row has been written");
});
