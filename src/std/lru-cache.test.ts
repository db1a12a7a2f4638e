import { expect, test } from "vitest";
import { LruCache } from "./lru-cache.ts";

const HALF = 3;

test("after any sets, gets and deletes it has the latest entries and nothing else", () => {
  const recent = new LruCache<number>(2 * HALF);
  // Beside it the same without a bound, in the order in which things were set or found last.
  let expected: [string, number][] = [];
  const without = (name: string) => expected.filter(([other]) => other !== name);
  let dropped = 0;
  for (let i = 0; i < 5_000; i += 1) {
    const name = `n${(i * 7_919) % (i % 3 === 0 ? 4 : 23)}`;
    if (i % 997 === 0) {
      recent.clear();
      expected = [];
    }
    if (i % 13 === 0) {
      recent.delete(`n${i % 11}`);
      expected = without(`n${i % 11}`);
    }
    if (i % 2 === 0) {
      recent.set(name, i);
      expected = [...without(name), [name, i]];
    } else {
      const there = expected.find(([other]) => other === name);
      const found = recent.get(name);
      if (found === undefined) expected = without(name);
      else expected = [...without(name), [name, found]];
      if (there !== undefined && found === undefined) dropped += 1;
      if (found !== undefined) expect(found).toBe(there?.[1]);
    }
    for (const [kept] of expected.slice(-HALF)) expect(recent.has(kept), `${kept} came among the last`).toBe(true);
    const held = Array.from({ length: 23 }, (_, n) => `n${n}`).filter((one) => recent.has(one));
    expect(held.length).toBeLessThanOrEqual(2 * HALF);
    for (const one of held) expect(expected.map(([there]) => there)).toContain(one);
  }
  expect(dropped).toBeGreaterThan(100);
});

test("setting a key again takes no more room", () => {
  const recent = new LruCache<object>(200_000);
  const names = Array.from({ length: 100 }, (_, i) => `name ${i}`);
  const setAll = (times: number) => {
    for (let i = 0; i < times; i += 1) for (const name of names) recent.set(name, { i });
  };
  setAll(100);
  const before = process.memoryUsage().heapUsed;
  setAll(30_000);
  // Three million objects of which a hundred are left. Garbage that is not collected yet is a few megabytes.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(40e6);
  expect(recent.get("name 7")).toEqual({ i: 29_999 });
});
