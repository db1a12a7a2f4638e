/** Which rows of events are read, written and removed, among those of other customers, objects and cuts. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { ObjectVersion } from "../../src/events/facts.ts";
import {
  type Cut,
  findCustomersWithNews,
  findIdsOfProfile,
  findNumberFromCut,
  findRowsWithoutCut,
  hasEndsOfLog,
  readCuts,
  readFirstCut,
  readLastCuts,
  readLastStates,
  readObjects,
  readRowsBefore,
  readRowsOfCuts,
  readRowsOfObject,
  readRowsWithin,
  removeRowsOfCuts,
  type StoredRow,
  setFirstCut,
  writeCut,
} from "../../src/events/store.ts";
import type { Instant } from "../../src/std/clock.ts";
import type { Uuid } from "../../src/std/id.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const uuid = (place: number) => `0190d5a4-0000-7000-8000-00000000000${place}` as Uuid;
const [ACME, BETA, GAMMA] = [uuid(1), uuid(2), uuid(3)] as [Uuid & CustomerId, Uuid & CustomerId, Uuid & CustomerId];
const [BID, ASK] = [uuid(7), uuid(8)];
const START = Date.parse("2026-11-21T09:00:00.000Z");

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
beforeEach(async () => {
  await db.owner.rows("delete from event; delete from event_cut; update event_retention set first_cut = 1");
  await db.owner.rows(
    `insert into event_cut (cut, at, events, slots, heads, digest, fence)
     select cut, to_timestamp($1 + cut), (array[7, 0, 3, 2, 2])[cut], '{}', '{}', 'digest', 1 from generate_series(1, 5) as cut`,
    [START / 1_000],
  );
  // The first number, count, cut and object of each row; of an object also its status then.
  await db.owner.rows(
    `insert into event (customer_id, first_number, cut, at, object_id, count, entries)
     select customer_id::uuid, first_number, cut, to_timestamp($1 + cut), object_id::uuid, count,
            json_build_array(json_build_array('order.open', object_id, first_number, json_build_object('status', status)))
       from (values ($2, 1, 2, 1, null, ''), ($2, 3, 1, 1, $5, 'acme 3'), ($2, 4, 1, 3, $5, 'acme 4'), ($2, 5, 2, 3, null, ''),
                    ($2, 7, 1, 5, $5, 'acme 7'), ($3, 1, 1, 1, null, ''), ($3, 2, 1, 1, $5, 'beta 2'), ($3, 3, 1, 1, $6, 'beta 3'),
                    ($3, 4, 1, 1, null, ''), ($3, 5, 1, 4, $6, 'beta 5'), ($3, 6, 1, 4, null, ''), ($4, 1, 1, 5, $6, 'gamma 1'))
            as v (customer_id, first_number, count, cut, object_id, status)`,
    [START / 1_000, ACME, BETA, GAMMA, BID, ASK],
  );
});
afterAll(() => db.close());

/** "customer first+count cut object". */
function printed(rows: readonly StoredRow[]): string[] {
  const names = new Map<string | undefined, string>([
    ...([
      [ACME, "acme"],
      [BETA, "beta"],
      [GAMMA, "gamma"],
    ] as const),
    ...([
      [BID, "bid"],
      [ASK, "ask"],
      [undefined, "run"],
    ] as const),
  ]);
  return rows.map(
    ({ customerId, firstNumber, count, cut, objectId }) =>
      `${names.get(customerId)} ${firstNumber}+${count} cut ${cut} ${names.get(objectId)}`,
  );
}

const setFirst = (cut: number) => db.owner.rows("update event_retention set first_cut = $1", [cut]);
const stored = async () => printed(await readRowsOfCuts(db.database, 1n, 9n));

test("cuts are listed from the first that is kept on, the latest first; and read on from one of them", async () => {
  await setFirst(2);
  const numbers = (cuts: readonly Cut[]) => cuts.map(({ number }) => Number(number));
  expect(numbers(await readLastCuts(db.database, 9))).toEqual([5, 4, 3, 2]);
  expect(numbers(await readLastCuts(db.database, 2))).toEqual([5, 4]);
  expect(numbers(await readCuts(db.database, 2n, 2))).toEqual([2, 3]);
});

test("rows between two numbers are the customer's, of cuts that are listed", async () => {
  const rowsWithin = async (from: bigint, before: bigint) =>
    printed(await readRowsWithin(db.database, ACME, from, before));
  expect(await rowsWithin(2n, 4n)).toEqual(["acme 1+2 cut 1 run", "acme 3+1 cut 1 bid"]);
  expect(await rowsWithin(3n, 5n)).toEqual(["acme 3+1 cut 1 bid", "acme 4+1 cut 3 bid"]);
  expect(await rowsWithin(6n, 7n)).toEqual(["acme 5+2 cut 3 run"]);
  expect(await rowsWithin(8n, 9n)).toEqual([]);
  await setFirst(3);
  expect(await rowsWithin(1n, 9n)).toEqual(["acme 4+1 cut 3 bid", "acme 5+2 cut 3 run", "acme 7+1 cut 5 bid"]);
});

test("rows of an object are its customer's, from a number on, up to a limit", async () => {
  const rowsOfBid = async (from: bigint, limit: number) =>
    printed(await readRowsOfObject(db.database, ACME, BID, from, limit));
  expect(await rowsOfBid(1n, 9)).toEqual(["acme 3+1 cut 1 bid", "acme 4+1 cut 3 bid", "acme 7+1 cut 5 bid"]);
  expect(await rowsOfBid(4n, 1)).toEqual(["acme 4+1 cut 3 bid"]);
  expect(await rowsOfBid(5n, 9)).toEqual(["acme 7+1 cut 5 bid"]);
});

test("the number from which a cut begins is the customer's own", async () => {
  const froms = [1n, 2n, 3n, 4n, 5n, 6n];
  const numbersOf = (customerId: CustomerId) =>
    Promise.all(froms.map((cut) => findNumberFromCut(db.database, customerId, cut)));
  expect(await numbersOf(ACME)).toEqual([1n, 4n, 4n, 7n, 7n, undefined]);
  expect(await numbersOf(BETA)).toEqual([1n, 5n, 5n, 5n, undefined, undefined]);
});

test("rows of cuts come in the order of cuts, customers and numbers, up to a limit", async () => {
  const [first, second, ...others] = [
    "acme 4+1 cut 3 bid",
    "acme 5+2 cut 3 run",
    "beta 5+1 cut 4 ask",
    "beta 6+1 cut 4 run",
  ];
  expect(printed(await readRowsOfCuts(db.database, 3n, 4n))).toEqual([first, second, ...others]);
  expect(printed(await readRowsOfCuts(db.database, 3n, 4n, 2))).toEqual([first, second]);
});

test("there is news for those who listen and have events in these cuts, once for each", async () => {
  const news = (customerIds: CustomerId[], from: bigint, until: bigint) =>
    findCustomersWithNews(db.database, customerIds, from, until);
  expect(await news([ACME, GAMMA], 3n, 4n)).toEqual([ACME]);
  expect((await news([ACME, BETA, GAMMA], 4n, 5n)).sort()).toEqual([ACME, BETA, GAMMA]);
  expect(await news([BETA], 2n, 3n)).toEqual([]);
});

test("the state before a cut is that of the last event of this object, for this customer", async () => {
  const versionOf = (objectId: Uuid) => ({ table: "orders", objectId }) as Partial<ObjectVersion> as ObjectVersion;
  const statesBefore = async (customerId: CustomerId, objectId: Uuid, cut: bigint) => [
    ...(await readLastStates(db.database, [{ customerId, version: versionOf(objectId) }], cut)).values(),
  ];
  expect(await statesBefore(ACME, BID, 5n)).toEqual([{ status: "acme 4" }]);
  expect(await statesBefore(ACME, BID, 3n)).toEqual([{ status: "acme 3" }]);
  expect(await statesBefore(BETA, BID, 9n)).toEqual([{ status: "beta 2" }]);
  expect(await statesBefore(GAMMA, ASK, 5n)).toEqual([]);
});

test("events are missing when those of the first cut that is listed are, or of the last, but for empty cuts", async () => {
  expect(await hasEndsOfLog(db.database)).toBe(true);
  await db.owner.rows("delete from event where cut = 1");
  expect(await hasEndsOfLog(db.database)).toBe(false);
  await setFirst(2);
  expect(await hasEndsOfLog(db.database)).toBe(true);
  await db.owner.rows("update event_cut set events = 4 where cut = 3");
  expect(await hasEndsOfLog(db.database)).toBe(false);
  await setFirst(3);
  expect(await hasEndsOfLog(db.database)).toBe(false);
  await db.owner.rows("update event_cut set events = 3 where cut = 3; update event_cut set events = 3 where cut = 5");
  expect(await hasEndsOfLog(db.database)).toBe(false);
  await db.owner.rows(
    "insert into event_cut (cut, at, events, slots, heads, digest, fence) values (6, now(), 0, '{}', '{}', '', 1)",
  );
  expect(await hasEndsOfLog(db.database)).toBe(false);
  await setFirst(6);
  expect(await hasEndsOfLog(db.database)).toBe(true);
});

test("a cut is written behind the one before it, under its own lease", async () => {
  const lease = { name: "events", holder: "one", fence: 7n };
  const cut = (number: bigint): Cut => ({
    ...{ number, at: START as Instant, events: 0, digest: Buffer.from("made") },
    ...{ heads: new Map(), marketReaders: new Map() },
  });
  await db.owner.rows(
    `insert into lease (name, holder, fence, expires_at) values ('events', 'two', 7, now()), ('another', 'one', 7, now())
       on conflict (name) do update set holder = excluded.holder, fence = excluded.fence`,
  );
  const write = (number: bigint) => writeCut(db.database.commits, lease, cut(number), []);
  expect(await write(6n)).toBe(false);
  await db.owner.rows("update lease set holder = 'one', fence = 8 where name = 'events'");
  expect(await write(6n)).toBe(false);
  await db.owner.rows("update lease set fence = 7 where name = 'events'");
  expect(await write(7n)).toBe(false);
  expect(await readCuts(db.database, 6n, 9)).toEqual([]);
  expect(await write(6n)).toBe(true);
  expect(await readCuts(db.database, 6n, 9)).toEqual([cut(6n)]);
});

test("the first cut that is listed never goes back", async () => {
  for (const cut of [3n, 2n]) await setFirstCut(db.database.commits, cut);
  expect(await readFirstCut(db.database)).toBe(3n);
});

test("of the cuts that are removed, what each customer's numbers and objects need stays", async () => {
  const before = await stored();
  // Of acme's bid the version of cut 3 is needed until it is removed itself, and beta's rows never see those of acme.
  await removeRowsOfCuts(db.database.commits, 1n, 1n, 3n);
  const removed = ["acme 1+2 cut 1 run", "beta 1+1 cut 1 run", "beta 4+1 cut 1 run"];
  expect(await stored()).toEqual(before.filter((row) => !removed.includes(row)));
  await removeRowsOfCuts(db.database.commits, 3n, 4n, 5n);
  expect(await stored()).toEqual(before.filter((row) => ![...removed, "acme 5+2 cut 3 run"].includes(row)));
  await removeRowsOfCuts(db.database.commits, 1n, 1n, 5n);
  const superseded = ["acme 5+2 cut 3 run", "acme 3+1 cut 1 bid", "beta 3+1 cut 1 ask"];
  expect(await stored()).toEqual(before.filter((row) => ![...removed, ...superseded].includes(row)));
});

test("objects are read by their ids, and are the customer's and the profile's", async () => {
  const [desk, shop] = [uuid(5), uuid(6)];
  await db.owner.rows(
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select profile_id::uuid, id, customer_id::uuid, gen_random_uuid(), 'BTCUSD', 'BUY', 1, 1, 0, 0, now(), 1, 1
       from (values ($1, 2, $3), ($1, 4, $3), ($2, 6, $3), ($1, 8, $4)) as v (profile_id, id, customer_id)`,
    [desk, shop, ACME, BETA],
  );
  const table = { name: "execution", columns: "id", idType: "bigint" };
  expect(await readObjects(db.database, table, ACME, ["2", "6", "8"])).toEqual([{ id: "2" }, { id: "6" }]);
  const ofDesk = { customerId: ACME, profileId: desk, ids: ["2", "6", "8"] };
  expect(await findIdsOfProfile(db.database, "execution", ofDesk)).toEqual(["2"]);
});

test("the row before one is the customer's own, and the last of those", async () => {
  const before = await readRowsBefore(db.database, [
    { customerId: ACME, firstNumber: 7n },
    { customerId: BETA, firstNumber: 5n },
    { customerId: GAMMA, firstNumber: 1n },
  ]);
  expect(before).toEqual(
    new Map([
      [ACME, { cut: 3n, lastNumber: 6n }],
      [BETA, { cut: 1n, lastNumber: 4n }],
    ]),
  );
});

test("rows of no cut are found, the first hundred of them", async () => {
  expect(await findRowsWithoutCut(db.database)).toEqual([]);
  await db.owner.rows("update event set cut = 0 where customer_id = $1 and first_number = 1", [GAMMA]);
  await db.owner.rows("update event set cut = 6 where customer_id = $1 and first_number = 7", [ACME]);
  expect(printed(await findRowsWithoutCut(db.database))).toEqual(["acme 7+1 cut 6 bid", "gamma 1+1 cut 0 ask"]);
  await db.owner.rows(
    `insert into event (customer_id, first_number, cut, at, object_id, count, entries)
     select $1, 10 + n, 6, now(), null, 1, '[]' from generate_series(1, 99) n`,
    [BETA],
  );
  const rows = await findRowsWithoutCut(db.database);
  expect([rows.length, rows.at(-1)?.firstNumber]).toEqual([100, 109n]);
});
