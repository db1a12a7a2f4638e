/** Who may write a slot of the ledger, and what becomes of one who no longer may. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readLastTime } from "../../src/ledger/stored-batches.ts";
import { Slot } from "../../src/ledger/writer/slot-chain.ts";
import { USD } from "../../src/money/asset.ts";
import { Database } from "../../src/postgres/database.ts";
import { must } from "../../src/std/assert.ts";
import type { Instant } from "../../src/std/clock.ts";
import { pause } from "../../src/std/pause.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import {
  ANY_TIME_MS,
  availableUsd,
  movement,
  newId,
  newProfile,
  newProfiles,
  startLane,
  type TestLane,
} from "../support/movements.ts";
import { openTransaction, terminate, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
const lanes: TestLane[] = [];
beforeEach(async () => {
  db = await testDatabase();
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const { lane } of lanes.splice(0)) await lane.stop();
  await expectBooksBalance(db.owner);
  await db.close();
});

async function start(...args: Parameters<typeof startLane>): Promise<TestLane> {
  const started = await startLane(...args);
  lanes.push(started);
  return started;
}

async function batches(): Promise<string[]> {
  const rows = await db.database.rows<{ slot: number; n: string; void: boolean }>(
    "select slot, n, void from batch order by slot, n",
  );
  return rows.map((row) => `${row.slot}/${row.n}${row.void ? " void" : ""}`);
}

/** Lets a slot's lease end, as when its holder was paused for longer than that. */
async function endLease(slot: number): Promise<void> {
  await db.owner.rows("update lease set expires_at = clock_timestamp() - interval '1 second' where name = $1", [
    `slot/${slot}`,
  ]);
}

/** A lane that does not renew its lease within a test's time: it is as good as paused. */
const PAUSED = { bounds: { leaseMs: 600_000 } };

test("two lanes take two slots, and each has house accounts of its own", async () => {
  const [one, two] = [await start(db.database), await start(db.another())];
  await one.fund(newProfiles(1), "1");
  await two.fund(newProfiles(1), "2");
  const houses = await db.database.rows("select available, asset from account where house = 'world' order by 1");
  expect(houses).toEqual([
    { available: "-2", asset: USD },
    { available: "-1", asset: USD },
  ]);
  expect(await batches()).toEqual(["1/0 void", "1/1", "2/0 void", "2/1"]);
});

test("the latest time of the ledger is that of the batch that was written last, whatever its slot", async () => {
  const [one, two] = [await start(db.database), await start(db.another())];
  for (const { fund } of [one, two, one]) {
    await pause(5);
    await fund(newProfiles(1), "1");
    const [latest] = await db.database.rows<{ at: Instant }>("select at from batch order by at desc limit 1");
    expect(await readLastTime(db.database)).toBe(latest?.at);
  }
});

test("the batches of a slot are in the order of their times, also when the clock is set back a little", async () => {
  let aheadMs = 1_500;
  const ours = await start(db.database, { clock: { now: () => (Date.now() + aheadMs) as Instant } });
  await ours.fund(newProfiles(1), "1");
  aheadMs = -1_500;
  await ours.fund(newProfiles(1), "1");
  const times = await batchTimes(1);
  expect(times).toEqual(times.toSorted((x, y) => x - y));
});

test("a future time of an account does not carry over to later batches", async () => {
  const clock = { now: () => (Date.now() + 3_600_000) as Instant };
  const ahead = await start(db.database, { clock, toleranceMs: ANY_TIME_MS });
  const ours = await start(db.another());
  const [a, b] = newProfiles(2);
  await ahead.fund([a], "1");
  await ours.lane.execute(movement({ from: a, to: b, amount: "1" }));
  await ours.fund(newProfiles(1), "1");
  const [behind] = (await batchTimes(2)).slice(-1);
  expect(Math.abs((behind as Instant) - Date.now())).toBeLessThan(10_000);
});

/** Of those that are not void: these have the database's time. */
async function batchTimes(slot: number): Promise<Instant[]> {
  const rows = await db.database.rows<{ at: Instant }>("select at from batch where slot = $1 and not void order by n", [
    slot,
  ]);
  return rows.map(({ at }) => at);
}

test("a restarted process takes back its slot at once, and voids the batch number that may be in flight", async () => {
  const before = await start(db.database, { holder: "data directory 7" });
  await before.fund(newProfiles(1), "1");
  // Killed: nothing is let go of.
  const after = await start(db.another(), { holder: "data directory 7" });
  await after.fund(newProfiles(1), "1");
  expect(await batches()).toEqual(["1/0 void", "1/1", "1/2 void", "1/3"]);
});

test("a stopped lane releases its slot, so another process need not wait for the lease to expire", async () => {
  const before = await start(db.database);
  await before.fund(newProfiles(1), "1");
  await before.lane.stop();
  const after = await start(db.another());
  await after.fund(newProfiles(1), "1");
  expect(await batches()).toEqual(["1/0 void", "1/1", "1/2 void", "1/3"]);
});

test("a lane that was suspended past its lease commits nothing on the slot, and takes another one", async () => {
  const [a, b] = newProfiles(2);
  const old = await start(db.database, PAUSED);
  await old.fund([a], "10");
  await endLease(1);
  const successor = await start(db.another());
  const outcome = await old.lane.execute(movement({ from: a, to: b, amount: "1" }));
  expect(outcome.kind).toBe("done");
  await successor.fund([b], "1");
  expect(await availableUsd(db.database, [a, b])).toEqual(["9", "2"]);
  expect(await batches()).toEqual(["1/0 void", "1/1", "1/2 void", "1/3", "2/0 void", "2/1"]);
});

test("a batch in flight when the slot changes its holder is lost, and repeated once on another slot", async () => {
  const [a, b] = newProfiles(2);
  const old = await start(db.database, PAUSED);
  await old.fund([a, b], "10");
  const other = await openTransaction(db.owner);
  await other.query("select 1 from account where owner_id = $1 for update", [b]);
  const outcome = old.lane.execute(movement({ from: a, to: b, amount: "1" }));
  await untilBlocked(db);
  await endLease(1);
  await start(db.another());
  await other.query("commit");
  await other.end();
  expect((await outcome).kind).toBe("done");
  expect(await availableUsd(db.database, [a, b])).toEqual(["9", "11"]);
  expect(await batches()).toEqual(["1/0 void", "1/1", "1/2 void", "2/0 void", "2/1"]);
});

test("an idle lane that lost its slot takes another one by itself", async () => {
  const old = await start(db.database, { bounds: { leaseMs: 90 } });
  await db.owner.rows(
    "update lease set holder = 'somebody else', fence = fence + 1, expires_at = clock_timestamp() + interval '10 s'",
  );
  await until("the lane holds another slot", async () => {
    const leases = await db.database.rows("select 1 from lease where name = 'slot/2'");
    return leases.length === 1 && old.events.some(({ kind }) => kind === "recovered");
  });
  const profiles = newProfiles(1);
  await old.fund(profiles, "1");
  expect(await batches()).toEqual(["1/0 void", "2/0 void", "2/1"]);
  expect(old.events.map(({ kind }) => kind)).toEqual(["recovered"]);
});

test("a lease is renewed long before it ends", async () => {
  const leaseMs = 3_000;
  await start(db.database, { bounds: { leaseMs } });
  const endOf = async () =>
    (await db.owner.rows<{ expires_at: Instant }>("select expires_at from lease"))[0]?.expires_at;
  const first = must(await endOf(), "the slot has a lease");
  await until("it is renewed", async () => (await endOf()) !== first);
  expect(must(await endOf(), "the slot has a lease") - first).toBeLessThan(leaseMs);
});

test("one lease renewal is under way at a time, however long the database takes", async () => {
  const slot = new Slot(db.database, newId(), 10_000);
  await slot.take();
  const asked = vi.spyOn(db.database, "rows");
  const renewals = [slot.renew(), slot.renew(), slot.renew()];
  expect(asked).toHaveBeenCalledTimes(1);
  expect(await Promise.all(renewals)).toEqual([true, true, true]);
  expect(await slot.renew()).toBe(true);
  expect(asked).toHaveBeenCalledTimes(2);
  await slot.release();
});

test("there are 64 slots, and a process that finds none says so", async () => {
  await db.owner.rows(
    "insert into lease (name, holder, fence, expires_at) select 'slot/' || n, 'others', 1, now() + interval '10 s' from generate_series(1, 63) as n",
  );
  const last = await start(db.database);
  expect(last.lane.report().slot).toBe(64);
  await expect(startLane(db.another())).rejects.toThrow("all 64 slots of the ledger are held by other processes");
});

test("a slot that gets another batch while it is taken is taken behind that batch", async () => {
  const former = await start(db.database, PAUSED);
  await former.fund(newProfiles(1), "1");
  await endLease(1);
  // A batch of the former holder that has written its number and not committed yet.
  const session = await openTransaction(db.owner);
  await session.query(
    `insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor, in_time)
     select 1, 2, sha256('the third'), date_trunc('milliseconds', now()), true, 0, 0, 0, 0, 1, true`,
  );
  const taking = start(db.another());
  await untilBlocked(db);
  await session.query("commit");
  await session.end();
  expect((await taking).lane.report().slot).toBe(1);
  expect(await batches()).toEqual(["1/0 void", "1/1", "1/2 void", "1/3 void"]);
});

test("a stop completes every admitted command, and admits no more", async () => {
  const ours = await start(db.database);
  const profiles = newProfiles(200);
  const funded = ours.fund(profiles, "1");
  const stopped = ours.lane.stop();
  expect(ours.lane.unavailableReason).toBe("the service is shutting down");
  await expect(ours.lane.execute(movement({ from: "world", to: newProfile(), amount: "1" }))).rejects.toThrow(
    "shutting down",
  );
  await funded;
  await stopped;
  expect(ours.lane.unavailableReason).toBe("the service is shutting down");
  expect(ours.lane.report().depth).toBe(0);
  expect(new Set(await availableUsd(db.database, profiles))).toEqual(new Set(["1"]));
});

test("a lane that is stopped while the database is away does not reconnect", async () => {
  const ours = await start(db.database, { bounds: { deadlineMs: 200 } });
  await setConnectable(db, false);
  await terminate(db, "parbook lane");
  await terminate(db);
  await until("the lane knows that the database is away", () => ours.lane.unavailableReason !== undefined);
  await ours.lane.stop();
  await setConnectable(db, true);
  expect(await laneConnections(db.owner)).toBe(0);
});

test("a lane that is stopped while it reconnects leaves no connection and no timer behind", async () => {
  const set = vi.spyOn(globalThis, "setInterval");
  const ours = await start(db.database, PAUSED);
  const timers = set.mock.results.map(({ value }) => value);
  set.mockRestore();
  const other = await openTransaction(db.owner);
  await other.query("select 1 from lease for update");
  await terminate(db, "parbook lane");
  // It renews its lease before it connects.
  await untilBlocked(db);
  const cleared = vi.spyOn(globalThis, "clearInterval");
  const stopped = ours.lane.stop();
  await until("it is stopping", () => ours.lane.report().state === "closed");
  await other.query("commit");
  await other.end();
  await stopped;
  expect(timers.length).toBeGreaterThan(0);
  expect(cleared.mock.calls.map(([timer]) => timer)).toEqual(expect.arrayContaining(timers));
  await until("it has ended what it had begun", () => ours.events.some(({ kind }) => kind === "recovered"));
  await until("its connections are closed", async () => (await laneConnections(db.owner)) === 0);
});

test("a connection that breaks inside a transaction is an error of that transaction alone", async () => {
  const broken = db.database.transaction(async (transaction) => {
    await transaction.rows("select 1");
    await terminate(db);
    // The end of the connection arrives while no statement is under way.
    await until("the session is over", async () => (await otherSessions(db)) === 0);
    await new Promise((resolve) => setImmediate(resolve));
    return transaction.rows("select 1");
  });
  await expect(broken).rejects.toMatchObject({ name: "DatabaseAway" });
  expect(await db.database.rows("select 1 as one")).toEqual([{ one: 1 }]);
});

async function setConnectable({ owner, ownerConnection, connection }: TestDatabase, may: boolean): Promise<void> {
  const words = may ? "grant connect on database %I to %I" : "revoke connect on database %I from public, %I";
  const [row] = await owner.rows<{ statement: string }>("select format($1, $2::text, $3::text) as statement", [
    words,
    ownerConnection.database,
    connection.user,
  ]);
  await owner.rows(row?.statement ?? "");
}

async function laneConnections(owner: Database): Promise<number> {
  const rows = await owner.rows(
    "select 1 from pg_stat_activity where datname = current_database() and application_name = 'parbook lane'",
  );
  return rows.length;
}

async function otherSessions({ owner }: TestDatabase): Promise<number> {
  const rows = await owner.rows(
    "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  return rows.length;
}

test("a statement that fails leaves nothing behind on its connection, in a transaction or without", async () => {
  const single = new Database({ connection: db.connection, maxConnections: 1, onIdleError: () => undefined });
  const divide = "select 1 / 0";
  try {
    await expect(single.transaction((transaction) => transaction.rows(divide))).rejects.toThrow("division by zero");
    expect(await single.rows("select 1 as one")).toEqual([{ one: 1 }]);
    await expect(single.rows(divide)).rejects.toThrow("division by zero");
    expect(await single.transaction((transaction) => transaction.rows("select 2 as two"))).toEqual([{ two: 2 }]);
  } finally {
    await single.close();
  }
});
