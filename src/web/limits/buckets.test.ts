import { expect, test } from "vitest";
import { Buckets } from "./buckets.ts";

test("each key has a bucket of its own", () => {
  const buckets = new Buckets(0.01, 10);
  const taken = (key: string) => buckets.take(key, 0).taken;
  expect([taken("a"), taken("a"), taken("a"), taken("a"), taken("b")]).toEqual([true, true, true, false, true]);
});

test("a flood of newcomers neither grows the table past its bound nor gives anybody a new bucket", () => {
  const buckets = new Buckets(0.01, 100);
  while (buckets.take("greedy", 0).taken);
  for (let i = 0; i < 10_000; i += 1) buckets.take(`newcomer ${i}`, 1);
  expect(buckets.size).toBeLessThanOrEqual(101);
  expect(buckets.take("greedy", 2).taken).toBe(false);
});

test("new callers share one bucket when the table is full, and known callers keep theirs", () => {
  const buckets = new Buckets(0.01, 2);
  buckets.take("a", 0);
  buckets.take("b", 0);
  const strangers = ["c", "d", "e", "f"].map((key) => buckets.take(key, 1).taken);
  expect(strangers).toEqual([true, true, true, false]);
  expect(buckets.take("a", 1)).toMatchObject({ taken: true, remaining: 1 });
});

test("what is spent besides is taken from the bucket that the request was taken from", () => {
  const buckets = new Buckets(0.01, 2);
  const remaining = (key: string) => buckets.take(key, 0).remaining;
  expect([remaining("a"), remaining("b"), remaining("stranger")]).toEqual([2, 2, 2]);
  buckets.spend("a", 0, 1);
  buckets.spend("stranger", 0, 2);
  expect(buckets.size).toBe(3);
  expect([remaining("a"), remaining("b"), buckets.take("another stranger", 0).taken]).toEqual([0, 1, false]);
});

test("what is spent besides by a key whose full bucket was deleted is taken from a new one of its own", () => {
  const buckets = new Buckets(1, 10);
  const full = buckets.take("a", 0).remaining;
  const later = 1_000_000;
  buckets.take("newcomer", later);
  expect(buckets.size).toBe(1);
  buckets.spend("a", later, 5);
  expect([buckets.take("a", later).remaining, buckets.take("stranger", later).remaining]).toEqual([full - 5, full]);
});

test("buckets that are full again make room, a few with each newcomer", () => {
  const buckets = new Buckets(1, 1_000);
  for (let i = 0; i < 1_000; i += 1) buckets.take(`early ${i}`, 0);
  for (let i = 0; i < 400; i += 1) expect(buckets.take(`late ${i}`, 10_000).remaining).toBe(299);
  expect(buckets.size).toBe(400);
});
