import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { until } from "../../test/support/until.ts";
import { must } from "../std/assert.ts";
import { endLease, hasLease, releaseLease, releaseLeasesOf, renewLease, takeLease } from "./leases.ts";

const LONG = 600_000;

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

/** Expires a lease. */
async function end(name: string): Promise<void> {
  await db.owner.rows("update lease set expires_at = clock_timestamp() - interval '1 millisecond' where name = $1", [
    name,
  ]);
}

test("of fifty concurrent attempts, one takes the lease", async () => {
  const taken = await Promise.all(
    Array.from({ length: 50 }, (_, i) => takeLease(db.database, "wanted", `holder ${i}`, LONG)),
  );
  expect(taken.filter((lease) => lease !== undefined)).toHaveLength(1);
});

test("of two that find a lease expired, the one that waits for the other does not take it over", async () => {
  await takeLease(db.database, "raced", "dead", LONG);
  await end("raced");
  const second = await db.database.transaction(async (transaction) => {
    expect(await takeLease(transaction, "raced", "first", LONG)).toMatchObject({ fence: 2n });
    const attempt = takeLease(db.database, "raced", "second", LONG);
    await until("the second waits", async () => {
      const waiting = await db.owner.rows(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.length === 1;
    });
    return { attempt };
  });
  expect(await second.attempt).toBeUndefined();
  expect(await hasLease(db.database, { name: "raced", holder: "first", fence: 2n })).toBe(true);
});

test("an expired lease can be taken, with a higher fencing token", async () => {
  const first = await takeLease(db.database, "ends", "first", LONG);
  expect(first).toEqual({ name: "ends", holder: "first", fence: 1n });
  expect(await takeLease(db.database, "ends", "second", LONG)).toBeUndefined();
  await end("ends");
  expect(await takeLease(db.database, "ends", "second", LONG)).toEqual({ name: "ends", holder: "second", fence: 2n });
});

test("a holder can retake its own lease, which invalidates the earlier one", async () => {
  const before = must(await takeLease(db.database, "own", "me", LONG), "a free lease is taken");
  const again = await takeLease(db.database, "own", "me", LONG);
  expect(again?.fence).toBe(2n);
  expect(await renewLease(db.database, before, LONG)).toBe(false);
});

test("an expired lease can be renewed until another holder takes it", async () => {
  const lease = must(await takeLease(db.database, "renewed", "me", LONG), "a free lease is taken");
  await end("renewed");
  expect(await renewLease(db.database, lease, LONG)).toBe(true);
  expect(await takeLease(db.database, "renewed", "other", LONG)).toBeUndefined();
  await end("renewed");
  await takeLease(db.database, "renewed", "other", LONG);
  expect(await renewLease(db.database, lease, LONG)).toBe(false);
});

test("a lease renewed while the database's clock was ahead can be taken", async () => {
  const lease = must(await takeLease(db.database, "ahead", "dead", LONG), "a free lease is taken");
  const lasts = (ms: number) =>
    db.owner.rows(
      "update lease set expires_at = clock_timestamp() + $1 * interval '1 millisecond' where name = 'ahead'",
      [ms],
    );
  await lasts(LONG + 10_000);
  expect(await takeLease(db.database, "ahead", "other", LONG)).toBeUndefined();
  await lasts(LONG + 3_600_000);
  expect(await takeLease(db.database, "ahead", "other", LONG)).toEqual({ name: "ahead", holder: "other", fence: 2n });
  expect(await renewLease(db.database, lease, LONG)).toBe(false);
  expect(await takeLease(db.database, "ahead", "third", LONG)).toBeUndefined();
});

test("a released lease is free at once, and only its holder can release it", async () => {
  const first = must(await takeLease(db.database, "released", "first", LONG), "a free lease is taken");
  await releaseLease(db.database, first);
  const second = must(await takeLease(db.database, "released", "second", LONG), "a released lease is taken");
  await releaseLease(db.database, first);
  expect(await takeLease(db.database, "released", "third", LONG)).toBeUndefined();
  expect(await renewLease(db.database, second, LONG)).toBe(true);
});

test("a holder whose taking a failover has lost neither renews nor releases the lease of another with its fencing token", async () => {
  const before = must(await takeLease(db.database, "lost", "before", LONG), "a free lease is taken");
  // The row is that of a server without the first taking.
  await db.owner.rows("delete from lease where name = 'lost'");
  const after = must(await takeLease(db.database, "lost", "after", LONG), "a free lease is taken");
  expect(after.fence).toBe(before.fence);
  expect(await renewLease(db.database, before, LONG)).toBe(false);
  await releaseLease(db.database, before);
  expect(await hasLease(db.database, after)).toBe(true);
  expect(await renewLease(db.database, after, LONG)).toBe(true);
});

test("what ends a lease ends no other one", async () => {
  const one = must(await takeLease(db.database, "one", "first", LONG), "a free lease is taken");
  const other = must(await takeLease(db.database, "other", "second", LONG), "a free lease is taken");
  expect(other.fence).toBe(one.fence);
  await releaseLease(db.database, one);
  expect(await renewLease(db.database, other, LONG)).toBe(true);
  await releaseLeasesOf(db.database, "first");
  expect(await renewLease(db.database, other, LONG)).toBe(true);
  await endLease(db.database, "one");
  expect(await takeLease(db.database, "other", "third", LONG)).toBeUndefined();
});

test("a lease is had by its holder, under its own name and fencing token, until it expires", async () => {
  const lease = must(await takeLease(db.database, "had", "holder of one", LONG), "a free lease is taken");
  expect(await hasLease(db.database, lease)).toBe(true);
  for (const wrong of [{ name: "had not" }, { holder: "another" }, { fence: 2n }])
    expect([wrong, await hasLease(db.database, { ...lease, ...wrong })]).toEqual([wrong, false]);
  await end("had");
  expect(await hasLease(db.database, lease)).toBe(false);
});

test("a holder that releases its leases can renew none of them, and they are free at once, as one that was ended", async () => {
  const lease = must(await takeLease(db.database, "left", "leaving", LONG), "a free lease is taken");
  await releaseLeasesOf(db.database, "leaving");
  expect(await renewLease(db.database, lease, LONG)).toBe(false);
  const next = { name: "left", holder: "next", fence: 3n };
  expect(await takeLease(db.database, "left", "next", LONG)).toEqual(next);
  await endLease(db.database, "left");
  expect(await takeLease(db.database, "left", "last", LONG)).toEqual({ name: "left", holder: "last", fence: 4n });
});

test("a released lease cannot be renewed", async () => {
  const first = must(await takeLease(db.database, "late", "first", LONG), "a free lease is taken");
  await releaseLease(db.database, first);
  expect(await renewLease(db.database, first, LONG)).toBe(false);
  expect(await takeLease(db.database, "late", "second", LONG)).toMatchObject({ holder: "second" });
});

test("a fencing token counts past 2^31 and 2^53", async () => {
  const lease = must(await takeLease(db.database, "far", "me", LONG), "a free lease is taken");
  await db.owner.rows("update lease set fence = 9007199254740993 where name = $1", [lease.name]);
  expect((await takeLease(db.database, "far", "me", LONG))?.fence).toBe(9_007_199_254_740_994n);
});
