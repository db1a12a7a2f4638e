/** Which rows of events, and of the chain, are read, written and removed, among those of other customers, objects, cuts and slots. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { type PublishedEvent, readEventsAfter, readLatestEvents } from "../../src/events/all-events.ts";
import type { ChangingTable, ObjectVersion } from "../../src/events/facts.ts";
import {
  findMarketReaders,
  readBatches,
  replayStates,
  withSteppedTypes,
} from "../../src/events/publishing/chain-store.ts";
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
  await db.owner.rows(
    `truncate event, event_cut, batch, transfer, execution, pending_order, booked_order;
     update event_retention set first_cut = 1`,
  );
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

test("the operator reads the latest events, the oldest of them first, and those behind a cut, 500 cuts at once", async () => {
  const names = (events: readonly PublishedEvent[]) =>
    events.map(
      ({ customerId, number }) =>
        `${
          new Map([
            [ACME, "acme"],
            [BETA, "beta"],
          ]).get(customerId) ?? "gamma"
        } ${number}`,
    );
  expect(names(await readLatestEvents(db.database, 3))).toEqual(["beta 6", "acme 7", "gamma 1"]);
  const behind = await readEventsAfter(db.database, 3n);
  expect([names(behind.events), behind.lastCut]).toEqual([["beta 5", "beta 6", "acme 7", "gamma 1"], 5n]);
  await db.owner.rows(
    `insert into event_cut (cut, at, events, slots, heads, digest, fence)
     select cut, now(), 0, '{}', '{}', '', 1 from generate_series(6, 600) as cut`,
  );
  const first = await readEventsAfter(db.database, 4n);
  expect([names(first.events), first.lastCut]).toEqual([["acme 7", "gamma 1"], 504n]);
  expect(await readEventsAfter(db.database, first.lastCut)).toEqual({ events: [], lastCut: 600n });
  expect(await readEventsAfter(db.database, 600n)).toEqual({ events: [], lastCut: 600n });
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
  const { history } = db.database;
  const write = (number: bigint, read = history) =>
    writeCut(db.database.commits, { lease, history: read }, cut(number), []);
  expect(await write(6n)).toBe(false);
  await db.owner.rows("update lease set holder = 'one', fence = 8 where name = 'events'");
  expect(await write(6n)).toBe(false);
  await db.owner.rows("update lease set fence = 7 where name = 'events'");
  expect(await write(7n)).toBe(false);
  expect(await write(6n, "another")).toBe(false);
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

test("rows of no cut are found, between any places", async () => {
  const find = async (first: string, next: string) =>
    (await findRowsWithoutCut(db.database, [first, next])).map(
      ({ customerId, firstNumber }) => `${customerId} ${firstNumber}`,
    );
  expect(await find("(0,0)", "(1,0)")).toEqual([]);
  await db.owner.rows("update event set cut = 0 where customer_id = $1 and first_number = 1", [GAMMA]);
  await db.owner.rows("update event set cut = 6 where customer_id = $1 and first_number = 7", [ACME]);
  expect(await find("(0,0)", "(1,0)")).toEqual([`${GAMMA} 1`, `${ACME} 7`]);
  expect(await find("(1,0)", "(2,0)")).toEqual([]);
});

// The chain ----------------------------------------------------------------------------------------------------------

/** Batches 0 to 3 of two slots: each has a transfer, an execution, and a version of the same order. */
async function addBatches(): Promise<void> {
  await db.owner.rows(
    `insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor,
                        in_time, not_ahead, changes)
     select slot, n, sha256(''), to_timestamp($1 + n), false, 1, 1, 0, 0, 1, true, true,
            json_build_object('orders', json_build_array(json_build_object(
              'key', json_build_object('profile_id', $2::text, 'id', $3::text), 'version', 4 * (slot - 1) + n + 1,
              'values', json_build_object('status', 'slot ' || slot || ' batch ' || n), 'digest', '', 'callers', '[]'::json)))
       from generate_series(1, 2) as slot, generate_series(3, 0, -1) as n`,
    [START / 1_000, GAMMA, BID],
  );
  await db.owner.rows(
    `insert into transfer (customer_id, id, from_profile_id, to_profile_id, to_customer_id, created_at, batch, slot, type, asset,
                           amount, has_steps)
     select $1, ('0190d5a4-000' || slot || '-7000-8000-00000000000' || n + (case when stepped then 4 else 0 end))::uuid, $1,
            case when not stepped then $2::uuid end, case when not stepped then $2::uuid end, now(), n, slot,
            case when stepped then 'WIRE_WITHDRAWAL' else 'PLATFORM_TRANSFER' end::transfer_type, 'USD', 1,
            case when stepped then true end
       from generate_series(1, 2) as slot, generate_series(0, 3) as n, unnest(array[false, true]) as stepped`,
    [ACME, BETA],
  );
  await db.owner.rows(
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select $1, 10 * slot + n, $2, $3, 'BTCUSD', 'BUY', 1, 1, 0, 0, now(), slot, n
       from generate_series(1, 2) as slot, generate_series(0, 3) as n`,
    [GAMMA, BETA, BID],
  );
}

test("a range of batches is of its slot, each with what it added itself", async () => {
  await addBatches();
  const batches = await readBatches(db.database, { slot: 2, after: 0n, until: 2n });
  expect(batches.map(({ slot, n, transfers, executions }) => ({ slot, n, transfers, executions }))).toEqual(
    [1n, 2n].map((n) => ({
      ...{ slot: 2, n },
      transfers: [{ id: `0190d5a4-0002-7000-8000-00000000000${n}`, type: "PLATFORM_TRANSFER", from: ACME, to: BETA }],
      executions: [{ id: 20n + n, customerId: BETA }],
    })),
  );
});

test("the type of a deposit or a withdrawal is that of the customer's own", async () => {
  await db.owner.rows(
    `insert into transfer (customer_id, id, to_profile_id, to_customer_id, created_at, batch, slot, type, asset, amount, has_steps)
     select customer_id::uuid, id::uuid, gen_random_uuid(), customer_id::uuid, now(), 1, 1, type::transfer_type, 'USD', 1, true
       from (values ($1, $3, 'WIRE_DEPOSIT'), ($1, $4, 'SEN_DEPOSIT'), ($2, $3, 'RTP_DEPOSIT')) as v (customer_id, id, type)`,
    [ACME, BETA, BID, ASK],
  );
  const change = { version: 2n, values: {}, digest: "", callers: [], key: { customer_id: ACME, id: BID } };
  const written = new Map([["external_transfer", new Map([["one", change]])]]);
  const batch = { slot: 1, n: 1n, at: START as Instant, written, transfers: [], executions: [] };
  const [typed] = await withSteppedTypes(db.database, [batch]);
  expect(typed?.steppedTypes).toEqual(new Map([[BID, "WIRE_DEPOSIT"]]));
});

test("a market's readers have orders on it that are not closed, and are named once", async () => {
  await db.owner.rows(
    `insert into pending_order (market, id, profile_id, customer_id, created_at, version)
     select market, gen_random_uuid(), gen_random_uuid(), customer_id::uuid, now(), 1
       from (values ('BTCUSD', $2), ('BTCUSD', $1), ('BTCUSD', $1), ('ETHUSD', $3)) as v (market, customer_id)`,
    [ACME, BETA, GAMMA],
  );
  await db.owner.rows(
    `insert into booked_order (market, id, profile_id, customer_id, version, side, status, filled)
     select market, gen_random_uuid(), gen_random_uuid(), customer_id::uuid, 1, 'BUY', 'SUBMITTED', 0
       from (values ('BTCUSD', $1), ('LTCUSD', $2)) as v (market, customer_id)`,
    [ACME, BETA],
  );
  const readers = await findMarketReaders(db.database, ["LTCUSD", "BTCUSD", "BCHUSD"]);
  expect(readers).toEqual(
    new Map([
      ["LTCUSD", [BETA]],
      ["BTCUSD", [ACME, BETA]],
      ["BCHUSD", []],
    ]),
  );
});

test("the state before a version is that of the version before, whichever slot wrote it", async () => {
  await addBatches();
  const stateBefore = async (version: bigint) => {
    const change = { version, values: {}, digest: "", callers: [], key: { profile_id: GAMMA, id: BID } };
    const object = { table: "orders" as ChangingTable, objectId: BID, change };
    return [...(await replayStates(db.database, [object as Partial<ObjectVersion> as ObjectVersion])).values()];
  };
  expect(await stateBefore(3n)).toMatchObject([{ status: "slot 1 batch 1" }]);
  expect(await stateBefore(7n)).toMatchObject([{ status: "slot 2 batch 1" }]);
});
