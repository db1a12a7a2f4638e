import { expect, test } from "vitest";
import { orderTable } from "../../../exchange/order.ts";
import { accountTable } from "../../accounts.ts";
import type { AnyStateTable } from "../../tables.ts";
import { RowCache } from "./row-cache.ts";

const row = (version: bigint) => ({ version });
/** Of so few columns that each row counts as 355 bytes. */
const narrow = (name: string): AnyStateTable => ({ ...accountTable, name, columns: [accountTable.version] });
const [some, others] = [narrow("some"), narrow("others")];
const ROOM_FOR_TWO = 2 * 2 * 355;

test("what was used least recently is evicted when there is too much, over all tables", () => {
  const cache = new RowCache(ROOM_FOR_TWO);
  cache.set(some, "a", row(1n));
  cache.set(others, "b", row(1n));
  cache.set(some, "c", row(1n));
  cache.evict();
  expect(cache.get(some, "a")).toEqual(row(1n));
  cache.set(some, "c", row(2n));
  cache.set(some, "d", row(1n));
  cache.evict();
  expect(["a", "c", "d"].map((key) => cache.get(some, key))).toEqual([row(1n), row(2n), row(1n)]);
  expect(cache.has(others, "b")).toBe(false);
});

test("nothing leaves but when it is asked to evict, and only what is too much", () => {
  const cache = new RowCache(ROOM_FOR_TWO);
  const keys = Array.from({ length: 100 }, (_, i) => `${i}`);
  for (const key of keys) cache.set(some, key, row(1n));
  expect(keys.every((key) => cache.has(some, key))).toBe(true);
  // All of one generation.
  cache.evict();
  cache.evict();
  for (const key of ["x", "y"]) cache.set(some, key, row(1n));
  cache.evict();
  expect(keys.every((key) => cache.has(some, key))).toBe(true);
  cache.set(some, "z", row(1n));
  cache.evict();
  expect(keys.some((key) => cache.has(some, key))).toBe(false);
  expect(["x", "y", "z"].map((key) => cache.has(some, key))).toEqual([true, true, true]);
});

test("a row that is written again and again is counted once", () => {
  const cache = new RowCache(ROOM_FOR_TWO);
  cache.set(others, "b", row(1n));
  for (let version = 1n; version < 100n; version += 1n) cache.set(some, "a", row(version));
  cache.evict();
  cache.evict();
  expect(cache.get(others, "b")).toEqual(row(1n));
});

test("long texts count", () => {
  const [wide, short] = ["x".repeat(10_000), "x"].map((text) => ({ version: 1n, annotations: { metadata: { text } } }));
  const count = (each: typeof wide): number => {
    const cache = new RowCache(1_000_000);
    for (let i = 0; i < 1_000; i += 1) {
      cache.set(orderTable, `${i}`, each as never);
      cache.evict();
    }
    return Array.from({ length: 1_000 }, (_, i) => cache.has(orderTable, `${i}`)).filter(Boolean).length;
  };
  expect(count(wide)).toBeLessThan(85);
  expect(count(short)).toBeGreaterThan(240);
});

test("delete and clear remove rows of both generations, and equal keys of two tables are two rows", () => {
  const cache = new RowCache(ROOM_FOR_TWO);
  cache.set(some, "a", row(1n));
  cache.set(others, "a", row(5n));
  expect([cache.get(some, "a"), cache.get(others, "a")]).toEqual([row(1n), row(5n)]);
  cache.set(some, "b", row(1n));
  // From here on all of them are of the older generation.
  cache.evict();
  cache.set(some, "c", row(1n));
  cache.delete(others, "a");
  cache.delete(some, "c");
  const has = () => [cache.has(some, "a"), cache.has(others, "a"), cache.has(some, "b"), cache.has(some, "c")];
  expect(has()).toEqual([true, false, true, false]);
  cache.clear();
  expect(has()).toEqual([false, false, false, false]);
});

test("a row that was never written cannot be cached", () => {
  expect(() => new RowCache(1_000).set(some, "a", row(0n))).toThrow("a cached row has been written");
});
