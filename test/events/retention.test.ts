/** Events that are too old are removed, but not because a clock is wrong. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Retention } from "../../src/events/retention.ts";
import { readFirstCut } from "../../src/events/store.ts";
import type { Instant } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { makeSmallBooks, type SmallBooks } from "../verify/small-ledger.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CUTS = 4;

let db: TestDatabase;
let books: SmallBooks;
/** Of the process, which no setting of a clock changes. */
let elapsed: number;
/** What the clock is ahead. */
let ahead: number;
let retention: Retention;
beforeEach(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  for (let cut = 0; cut < CUTS; cut += 1) {
    await books.publish();
    await books.convert();
    await books.transfer("1");
  }
  await books.publish();
  [elapsed, ahead] = [0, 0];
  const start = Date.now();
  const clock = { now: () => (start + elapsed + ahead) as Instant };
  retention = new Retention({ database: db.database, clock, keptMs: 400 * DAY, elapsedMs: () => elapsed });
});
afterEach(async () => {
  await expectBooksBalance(db.database);
  await books.close();
  await db.close();
});

const stored = () =>
  db.database.rows("select *, entries::text as entries from event order by customer_id, first_number");

/** As the publisher does, each minute. */
async function runFor(minutes: number): Promise<void> {
  for (const end = elapsed + minutes * MINUTE; elapsed < end; elapsed += MINUTE) await retention.run();
}

test("a clock that is 500 days ahead for less than an hour removes no events, whenever it begins", async () => {
  const before = await stored();
  for (const rightFor of [0, 30, 59, 60, 61]) {
    await runFor(rightFor);
    ahead = 500 * DAY;
    await runFor(59);
    ahead = 0;
    await runFor(61);
  }
  expect(await stored()).toEqual(before);
});

test("a clock that stays wrong removes a day of events an hour", async () => {
  // The cuts are 20 hours apart.
  await db.owner.rows(`update event_cut set at = at - (${CUTS + 1} - cut) * interval '20 hours'`);
  ahead = 500 * DAY;
  await runFor(60);
  expect(await readFirstCut(db.database)).toBe(1n);
  await runFor(60);
  expect(await readFirstCut(db.database)).toBe(3n);
  await runFor(60);
  expect(await readFirstCut(db.database)).toBe(5n);
});

test("what is older than it is kept is removed, a day of events an hour, and no more", async () => {
  await db.owner.rows(
    `update event_cut set at = at - interval '401 days' - (${CUTS} - cut) * interval '20 hours' where cut < 4`,
  );
  await runFor(60 + 60 + 60 + 60);
  expect(await readFirstCut(db.database)).toBe(4n);
});
