import { expect, test, vi } from "vitest";
import { DatabaseAway } from "../../postgres/database.ts";
import { Freshness } from "./token-data-freshness.ts";

/** Readings that take so long, each in turn. */
function readingsThatTake(...durations: number[]) {
  let elapsed = 0;
  const read = vi.fn(async () => {
    elapsed += durations.shift() ?? 0;
  });
  return { freshness: new Freshness({ read, elapsed: () => elapsed }), read };
}

test("nothing is fresh before it was read", async () => {
  const { freshness } = readingsThatTake();
  expect(freshness.isFresh()).toBe(false);
  await freshness.freshen();
  expect(freshness.isFresh()).toBe(true);
});

test("concurrent callers share one read", async () => {
  const { freshness, read } = readingsThatTake(10);
  await Promise.all([freshness.freshen(), freshness.freshen(), freshness.follow()]);
  expect(read).toHaveBeenCalledTimes(1);
});

test("its age counts from when the reading began: one that took long is done again", async () => {
  const { freshness, read } = readingsThatTake(4_000, 3_999);
  await freshness.freshen();
  expect(read).toHaveBeenCalledTimes(2);
});

test("a read that takes too long counts as a database that is away", async () => {
  const { freshness } = readingsThatTake(4_000, 4_000);
  await expect(freshness.freshen()).rejects.toThrow(DatabaseAway);
});

test("after a reading that failed the next one is a new one", async () => {
  const { freshness, read } = readingsThatTake();
  read.mockRejectedValueOnce(new DatabaseAway("the database cannot be reached"));
  await expect(freshness.freshen()).rejects.toThrow(DatabaseAway);
  await freshness.freshen();
  expect(freshness.isFresh()).toBe(true);
});
