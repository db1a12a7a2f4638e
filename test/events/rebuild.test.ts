/** Making all events again (`parbook events rebuild`). */
import { afterEach, beforeEach, expect, test } from "vitest";
import { readEventLag } from "../../src/events/event-lag.ts";
import { EventsMissing } from "../../src/events/publishing/publisher.ts";
import { RebuildFailed, rebuildEvents } from "../../src/events/publishing/rebuild.ts";
import type { Database } from "../../src/postgres/database.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { openMaker } from "../support/events.ts";
import { makeSmallBooks, type SmallBooks } from "../verify/small-ledger.ts";

let db: TestDatabase;
let books: SmallBooks;
beforeEach(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  for (let cut = 0; cut < 3; cut += 1) {
    await books.publish();
    await books.convert();
    await books.transfer("1");
  }
  await books.publish();
});
afterEach(async () => {
  await books.close();
  await db.close();
});

const stored = () =>
  db.database.rows("select *, entries::text as entries from event order by customer_id, first_number");

test("events that were deleted, or changed, are rebuilt with the same numbers and ids", async () => {
  const before = await stored();
  await db.owner.rows("delete from event where cut in (1, 3); update event set at = at - interval '1 day', count = 7");
  const [made] = await db.database.rows<object>(
    "select count(*)::int as cuts, sum(events)::int as events from event_cut",
  );
  expect(await rebuildEvents(db.database, "operator")).toEqual({ ...made, firstListedCut: 1n });
  expect(await stored()).toEqual(before);
  await db.owner.rows("delete from event");
  await rebuildEvents(db.database, "operator");
  expect(await stored()).toEqual(before);
});

test("it says how many cuts it has rebuilt, and a watcher who gives up has changed nothing", async () => {
  const before = await stored();
  const seen: string[] = [];
  const watcher = (most: number) => ({
    begins: (cuts: number) => void seen.push(`of ${cuts}`),
    made: (cuts: number) => {
      seen.push(String(cuts));
      if (seen.length > most) throw new RangeError("enough");
    },
  });
  await rebuildEvents(db.database, "operator", watcher(10));
  expect(seen.splice(0)).toEqual(["of 4", "1", "1", "1", "1"]);
  await db.owner.rows("delete from event where cut = 3");
  const damaged = await stored();
  await expect(rebuildEvents(db.database, "operator", watcher(2))).rejects.toThrow("enough");
  expect(await stored()).toEqual(damaged);
  await rebuildEvents(db.database, "operator");
  expect(await stored()).toEqual(before);
});

test("what was removed for its age is not rebuilt, except what later events need", async () => {
  await db.owner.rows("update event_retention set first_cut = 3");
  expect(await rebuildEvents(db.database, "operator")).toMatchObject({ cuts: 4, firstListedCut: 3n });
  const cuts = await db.database.rows("select distinct cut, object_id is null as run from event order by 1, 2");
  expect(cuts).toEqual([
    { cut: "1", run: false },
    { cut: "3", run: false },
    { cut: "3", run: true },
    { cut: "4", run: false },
    { cut: "4", run: true },
  ]);
});

test("if a cut does not fit the chain nothing is changed", async () => {
  const before = await stored();
  await db.owner.rows("update event_cut set digest = sha256('x') where cut = 2");
  const failed = await rebuildEvents(db.database, "operator").catch((error: unknown) => error);
  expect(failed).toEqual(new RebuildFailed("event_cut 2 did not make what the chain says: run parbook verify"));
  expect(await stored()).toEqual(before);
});

test("a publisher that was at work stops, and goes on behind what was rebuilt", async () => {
  const next = await openMaker(db.database);
  await books.transfer("1");
  await rebuildEvents(db.database, "operator");
  expect(await next()).toBe("lost");
  expect(await (await openMaker(db.database))()).toMatchObject({ number: 5n, events: 2 });
});

/** A database to whose rebuild something happens before it removes the old events. */
function disturbedBy(happens: () => Promise<unknown>): Database {
  const disturbed: Pick<Database, "commits" | "transaction"> = {
    commits: db.database.commits,
    transaction: (work, limit) =>
      db.database.transaction(async (transaction) => {
        const rows = async (text: string, values?: unknown[]) => {
          if (text.startsWith("delete from event")) await happens();
          return transaction.rows(text, values);
        };
        return work(Object.assign(Object.create(transaction), { rows }));
      }, limit),
  };
  return disturbed as Database;
}

const failureOf = (rebuild: Promise<unknown>) => rebuild.catch((error: unknown) => error);

test("if another process has taken the lease meanwhile nothing is changed", async () => {
  await db.owner.rows("delete from event where cut = 3");
  const damaged = await stored();
  const robbed = disturbedBy(() =>
    db.owner.rows("update lease set holder = 'another', fence = fence + 1 where name = 'events'"),
  );
  const failed = await failureOf(rebuildEvents(robbed, "operator"));
  expect(failed).toEqual(new RebuildFailed("another process has begun to publish events: try again"));
  expect(await stored()).toEqual(damaged);
});

test("while events are being rebuilt another rebuild is rejected, and the first goes on", async () => {
  const before = await stored();
  await db.owner.rows("delete from event where cut = 3");
  let second: unknown;
  const disturbed = disturbedBy(async () => {
    second = await failureOf(rebuildEvents(db.another(), "another operator"));
  });
  expect(await rebuildEvents(disturbed, "operator")).toMatchObject({ cuts: 4 });
  expect(second).toEqual(new RebuildFailed("the events are being rebuilt already: let that end"));
  expect(await stored()).toEqual(before);
});

test.each([
  ["all", "cut > 0"],
  ["the first", "cut = 1"],
  ["the last", "cut = 4"],
])("when %s events are missing, none are numbered from 1 until those are rebuilt", async (_, deleted) => {
  const before = await stored();
  await db.owner.rows(`delete from event where ${deleted}`);
  await books.addCustomer();
  await expect((await openMaker(db.database))()).rejects.toEqual(new EventsMissing());
  await rebuildEvents(db.database, "operator");
  expect(await stored()).toEqual(before);
  expect(await (await openMaker(db.database))()).toMatchObject({ number: 5n, events: 1 });
});

test("the lag is the age of the oldest batch without events", async () => {
  expect(await readEventLag(db.database)).toBe(0);
  await books.transfer("1");
  await books.transfer("1");
  expect(await readEventLag(db.database)).toBeGreaterThan(0);
  await db.owner.rows(
    "update batch set at = at - interval '1 hour' where n = (select heads[1] + 1 from event_cut order by cut desc limit 1)",
  );
  expect(await readEventLag(db.database)).toBeGreaterThan(3_600_000);
  await books.publish();
  expect(await readEventLag(db.database)).toBe(0);
});
