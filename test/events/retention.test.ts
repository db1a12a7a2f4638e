/** Events that are too old are removed, but not because a clock is wrong. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type EventType, objectTypeOf } from "../../src/events/event-types.ts";
import { type ChangingTable, type ObjectVersion, objectKey, type State } from "../../src/events/facts.ts";
import { replayStates } from "../../src/events/publishing/chain-store.ts";
import { Retention } from "../../src/events/publishing/retention.ts";
import { readFirstCut, removeRowsOfCuts, setFirstCut } from "../../src/events/store.ts";
import { must } from "../../src/std/assert.ts";
import type { Instant } from "../../src/std/clock.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { watchStatements } from "../support/statements.ts";
import { makeSmallBooks, type SmallBooks } from "../verify/small-ledger.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CUTS = 4;
const TABLES: Readonly<Record<string, ChangingTable>> = {
  transfer: "external_transfer",
  ...{ conversion: "conversion", order: "orders", profile: "profile" },
};

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

test("cuts of many events are removed a few at a time: their publisher waits for it", async () => {
  await db.owner.rows("update event_cut set at = at - interval '401 days', events = 40000 where cut < 5");
  const firsts: bigint[] = [];
  for (const minutes of [60, 1, 1]) {
    await runFor(minutes);
    firsts.push(await readFirstCut(db.database));
  }
  expect(firsts).toEqual([1n, 3n, 5n]);
});

test("what cannot be removed is listed on, and removed later", async () => {
  await db.owner.rows("update event_cut set at = at - interval '401 days' where cut < 5");
  await runFor(60);
  const before = await stored();
  await db.owner.rows("create function fail() returns trigger language plpgsql as 'begin raise ''no''; end'");
  await db.owner.rows("create trigger fail before delete on event for each row execute function fail()");
  await expect(retention.run()).rejects.toThrow("no");
  expect(await readFirstCut(db.database)).toBe(1n);
  expect(await stored()).toEqual(before);
  await db.owner.rows("drop function fail cascade");
  await retention.run();
  expect(await readFirstCut(db.database)).toBe(5n);
  expect((await stored()).length).toBeLessThan(before.length);
});

test("verify finds the states of removed events without reading the whole chain", async () => {
  for (const text of ["one", "two"]) {
    await books.describe(text);
    await books.publish();
  }
  const kept = BigInt(CUTS) + 3n;
  await setFirstCut(db.database.commits, kept);
  await removeRowsOfCuts(db.database.commits, 1n, kept - 1n, kept);
  const asked: string[] = [];
  watchStatements(db.database, async (_database, text) => void asked.push(text));
  const { checks } = await verifyAll(db.database);
  expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
  expect(asked.filter((text) => text.includes("from event where cut >="))).not.toEqual([]);
  expect(asked.filter((text) => text.includes("json_array_elements(b.changes"))).toEqual([]);
});

test.each(["from event_cut where cut >= $1 order by cut", "from event where cut >= $1"])(
  "verify calls a ledger sound while old events are removed: before %s",
  async (statement) => {
    await db.owner.rows("update event_cut set at = at - interval '401 days' where cut < 4");
    await db.owner.rows("update event e set at = c.at from event_cut c where c.cut = e.cut");
    await runFor(60);
    const removing = db.another();
    const other = new Retention({
      ...{ database: removing, keptMs: 400 * DAY, elapsedMs: () => elapsed },
      clock: { now: () => (Date.now() + elapsed) as Instant },
    });
    await other.run();
    expect(await readFirstCut(db.database)).toBe(1n);
    watchStatements(db.database, async (_database, text) => {
      if (!text.includes(statement) || (await readFirstCut(removing)) > 1n) return;
      elapsed += HOUR;
      await other.run();
    });
    const { checks } = await verifyAll(db.database);
    expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
    expect(await readFirstCut(removing)).toBe(4n);
  },
);

test("the chain has the state that each object's last event has, and is read once for each kind of object", async () => {
  const all = await db.database.rows<{ objectId: string; type: EventType; version: string; state: State }>(
    `select distinct on (object_id) object_id as "objectId", entries -> -1 ->> 0 as type, entries -> -1 ->> 2 as version,
            entries -> -1 -> 3 as state
       from event where object_id is not null order by object_id, first_number desc`,
  );
  // A webhook's state is in a record, which never changes.
  const rows = all.filter(({ type }) => objectTypeOf(type) !== "webhook");
  const objects = rows.map(({ objectId, type, version }): ObjectVersion => {
    const change = {
      key: { id: objectId },
      version: BigInt(version) + 1n,
      values: {},
      digest: "",
      callers: [],
    };
    const owner = { profileId: undefined, customerId: undefined, recordType: undefined };
    return { table: must(TABLES[objectTypeOf(type)], "it changes"), objectId, change, ...owner };
  });
  const asked = vi.spyOn(db.database, "rows");
  const states = await replayStates(db.database, objects);
  expect(asked).toHaveBeenCalledTimes(4);
  expect(objects.map((object) => states.get(objectKey(object)))).toEqual(rows.map(({ state }) => state));
});
