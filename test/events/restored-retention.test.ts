/** What is remembered of which events are too old, when the database is set back under the process that removes them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Retention } from "../../src/events/publishing/retention.ts";
import { readFirstCut } from "../../src/events/store.ts";
import type { Instant } from "../../src/std/clock.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const CUSTOMER = "0190d5a4-0000-7000-8000-00000000000c";

let db: TestDatabase;
beforeEach(async () => {
  db = await testDatabase();
});
afterEach(() => db.close());

/** Cuts of one event each, with the same number. */
async function publish(first: number, times: readonly number[]): Promise<void> {
  const numbers = times.map((_, place) => first + place);
  const values = [numbers, times.map((at) => new Date(at))];
  await db.owner.rows(
    `insert into event_cut (cut, at, events, slots, heads, digest, fence)
     select n, at, 1, '{}', '{}', '', 1 from unnest($1::bigint[], $2::timestamptz[]) as c(n, at)`,
    values,
  );
  await db.owner.rows(
    `insert into event (customer_id, first_number, cut, at, count, entries)
     select $3, n, n, at, 1, '[["transfer.wire_deposit.completed","x"]]'
       from unnest($1::bigint[], $2::timestamptz[]) as c(n, at)`,
    [...values, CUSTOMER],
  );
}

async function events(): Promise<number[]> {
  const rows = await db.owner.rows<{ number: string }>(
    "select first_number as number from event order by first_number",
  );
  return rows.map(({ number }) => Number(number));
}

const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, place) => first + place);

test("after a restore to further back than events are kept, those with numbers that were too old before are not removed", async () => {
  const start = Date.now();
  const hoursAgo = (hours: number): number => start - hours * HOUR;
  await publish(
    1,
    upTo(60).map((n) => hoursAgo(60 - n)),
  );
  let elapsed = 0;
  const retention = new Retention({
    ...{ database: db.database, keptMs: DAY, elapsedMs: () => elapsed },
    clock: { now: () => (start + elapsed) as Instant },
  });
  for (let hour = 0; hour < 4; hour += 1) {
    await retention.run();
    elapsed += HOUR;
  }
  expect(await events()).toEqual(upTo(60, 38));
  await db.owner.rows("truncate event, event_cut");
  await db.owner.rows("update event_retention set first_cut = 1");
  await publish(1, [...upTo(10).map((n) => hoursAgo(60 - n)), ...upTo(5).map(() => start + elapsed)]);
  await retention.run();
  expect(await events()).toEqual(upTo(15, 11));
  expect(await readFirstCut(db.database)).toBe(11n);
  elapsed += HOUR;
  await publish(16, [start + elapsed]);
  await retention.run();
  expect(await events()).toEqual(upTo(16, 11));
});
