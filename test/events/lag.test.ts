/** How long the oldest batch waits for its events, whichever slot it is of. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readEventLag } from "../../src/events/event-lag.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
beforeEach(() => db.owner.rows("truncate batch, event_cut"));
afterAll(() => db.close());

/** A batch of a slot, some seconds ago. */
const addBatch = (slot: number, n: number, secondsAgo: number) =>
  db.owner.rows(
    `insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor,
                        in_time, not_ahead)
     values ($1, $2, sha256(''), now() - $3 * interval '1 second', false, 1, 1, 0, 0, 1, true, true)`,
    [slot, n, secondsAgo],
  );
const addCut = (cut: number, slots: readonly number[], heads: readonly number[]) =>
  db.owner.rows(
    `insert into event_cut (cut, at, events, slots, heads, digest, fence) values ($1, now(), 1, $2, $3, 'digest', 1)`,
    [cut, slots, heads],
  );
const lagSeconds = async () => Math.floor((await readEventLag(db.database)) / 1_000);

test("nothing has waited when there is no batch, and none behind the last cut", async () => {
  expect(await readEventLag(db.database)).toBe(0);
  await addBatch(1, 0, 900);
  await addBatch(2, 0, 600);
  await addCut(1, [1, 2], [0, 0]);
  expect(await readEventLag(db.database)).toBe(0);
});

test("the first batches of slots that no cut names have waited, the oldest longest", async () => {
  await addBatch(1, 0, 100);
  expect(await lagSeconds()).toBe(100);
  await addBatch(3, 0, 600);
  await addBatch(7, 0, 300);
  expect(await lagSeconds()).toBe(600);
});

test("of each slot the batch behind the last cut counts", async () => {
  for (const [n, secondsAgo] of [900, 500, 10].entries()) await addBatch(1, n, secondsAgo);
  for (const [n, secondsAgo] of [800, 700, 20].entries()) await addBatch(2, n, secondsAgo);
  await addCut(1, [1, 2], [0, 0]);
  expect(await lagSeconds()).toBe(700);
  await addCut(2, [1, 2], [1, 1]);
  expect(await lagSeconds()).toBe(20);
});

test("a batch that is a little ahead of the database's clock has not waited", async () => {
  await addBatch(1, 0, -60);
  expect(await readEventLag(db.database)).toBe(0);
});
