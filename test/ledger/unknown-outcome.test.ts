/** When the connection is lost, a batch may still commit later. Only its number, taken by it or by nobody, decides. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { USD } from "../../src/money/asset.ts";
import { Database, DatabaseAway } from "../../src/postgres/database.ts";
import type { Clock, Instant } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import {
  ANY_TIME_MS,
  availableUsd,
  movement,
  newId,
  newProfiles,
  startLane,
  type TestLane,
} from "../support/movements.ts";
import { type Relay, startRelay } from "../support/postgres/relay.ts";
import { openTransaction, terminate, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
let relay: Relay;
let throughRelay: Database;
let ours: TestLane;
/** By how much the process's time of day is off. */
let aheadMs: number;
const clock: Clock = { now: () => (Date.now() + aheadMs) as Instant };
beforeEach(async () => {
  aheadMs = 0;
  db = await testDatabase();
  relay = await startRelay(db.connection);
  throughRelay = new Database({ connection: relay.connection, maxConnections: 5, onIdleError: () => undefined });
  ours = await startLane(throughRelay, { clock, toleranceMs: ANY_TIME_MS });
});
afterEach(async () => {
  await ours.lane.stop();
  await throughRelay.close();
  await relay.close();
  await expectBooksBalance(db.owner);
  await db.close();
});

test("a batch that commits after its connection was lost is reported as done, and takes effect once", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from, to], "10");
  // The batch has written its own row when it comes to the postings, and waits there for ours.
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query(
    `insert into posting (owner_id, asset, version, journal_id, cause, part, amount, available, trading, pending, at, slot, batch)
     select owner_id, asset, version + 1, journal_id, cause, part, amount, available, trading, pending, at, slot, batch
       from posting where owner_id = $1 and asset = $2`,
    [to, USD],
  );
  const outcome = ours.lane.execute(
    movement({ from, to, amount: "4", claim: { customerId: newId(), refId: "lost answer" } }),
  );
  await untilBlocked(db);
  relay.cut();
  // The lookup of the outcome waits for the old transaction, too.
  await untilBlocked(db, 2);
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect((await outcome).kind).toBe("done");
  expect(await availableUsd(db.database, [from, to])).toEqual(["6", "14"]);
  await until("the lane has recovered", () => ours.events.some(({ kind }) => kind === "recovered"));
  expect(ours.events.at(-1)).toMatchObject({ kind: "recovered", committed: 1, again: 0, voided: 0 });
});

test("a batch whose number is taken while it waits never commits, and is repeated once", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from, to], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select 1 from account where owner_id = $1 for update", [to]);
  const outcome = ours.lane.execute(movement({ from, to, amount: "4" }));
  await untilBlocked(db);
  relay.cut();
  await until("the number of the batch is void", async () => {
    const [row] = await db.owner.rows<{ n: string }>("select count(*) as n from batch where void");
    return row?.n === "2";
  });
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect((await outcome).kind).toBe("done");
  expect(await availableUsd(db.database, [from, to])).toEqual(["6", "14"]);
});

test("of two batches that are lost in flight, the commands of both are decided again", async () => {
  const profiles = newProfiles(4);
  const [from, to, first, second] = profiles;
  await ours.fund(profiles, "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select 1 from account where owner_id = $1 for update", [to]);
  const outcomes = [ours.lane.execute(movement({ from, to, amount: "4" }))];
  await untilBlocked(db);
  // Its statement waits in the connection, behind that of the first.
  outcomes.push(ours.lane.execute(movement({ from: first, to: second, amount: "3" })));
  await until("two batches are in flight", () => ours.lane.report().inFlight === 2);
  relay.cut();
  await until("the number of the first batch is void", async () => {
    const [row] = await db.owner.rows<{ n: string }>("select count(*) as n from batch where void");
    return row?.n === "2";
  });
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(["done", "done"]);
  expect(await availableUsd(db.database, profiles)).toEqual(["6", "14", "7", "13"]);
  await until("the lane has recovered", () => ours.events.some(({ kind }) => kind === "recovered"));
  expect(ours.events.at(-1)).toMatchObject({ kind: "recovered", committed: 0, again: 2, voided: 2 });
});

test("while an outcome is unknown it is reported neither as done nor as failed, and what was not sent fails at once", async () => {
  const [from, to, first, second] = newProfiles(4);
  await ours.fund([from, to, first, second], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select 1 from account where owner_id = $1 for update", [to]);
  let answered = false;
  const outcome = ours.lane.execute(movement({ from, to, amount: "4" })).finally(() => {
    answered = true;
  });
  await untilBlocked(db);
  const behind = ours.lane.execute(movement({ from: first, to: second, amount: "3" }));
  await until("both are in flight", () => ours.lane.report().inFlight === 2);
  const queued = ours.lane
    .execute(movement({ from: second, to: first, amount: "1" }))
    .catch(({ message }: Error) => `${message}${answered ? ", after the others" : ""}`);
  relay.reject(true);
  relay.cut();
  expect(await queued).toBe("the database cannot be reached");
  await until("the database is known to be away", () => ours.events.some(({ kind }) => kind === "database_away"));
  expect(answered).toBe(false);
  expect(ours.lane.unavailableReason).toBe("the database cannot be reached");
  await expect(ours.lane.execute(movement({ from, to, amount: "1" }))).rejects.toThrow(
    "the database cannot be reached",
  );
  await inTheWay.query("rollback");
  await inTheWay.end();
  relay.reject(false);
  expect([(await outcome).kind, (await behind).kind]).toEqual(["done", "done"]);
  expect(await availableUsd(db.database, [from, to, first, second])).toEqual(["6", "14", "7", "13"]);
});

test("a batch without an answer for nine seconds is lost, though its connection is not", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from, to], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select 1 from account where owner_id = $1 for update", [to]);
  const outcome = ours.lane.execute(movement({ from, to, amount: "4" }));
  await untilBlocked(db);
  const since = performance.now.bind(performance);
  const passed = vi.spyOn(performance, "now").mockImplementation(() => since() + 9_000);
  try {
    await until("the lane recovers", () => ours.lane.report().state === "recovering");
  } finally {
    passed.mockRestore();
  }
  // The database has said nothing.
  expect(ours.events).toEqual([]);
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect((await outcome).kind).toBe("done");
  expect(await availableUsd(db.database, [from, to])).toEqual(["6", "14"]);
});

test("under lock, too, a batch whose answer is lost behind its commit is reported as done, and takes effect once", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from, to], "10");
  const committing = throughRelay.transaction.bind(throughRelay);
  const locking = vi.spyOn(throughRelay, "transaction").mockImplementationOnce(async (work) => {
    await committing(work);
    throw new DatabaseAway("the connection has ended");
  });
  try {
    expect((await ours.lane.execute(movement({ from, to, amount: "4", lock: true }))).kind).toBe("done");
  } finally {
    locking.mockRestore();
  }
  expect(await availableUsd(db.database, [from, to])).toEqual(["6", "14"]);
  expect((await ours.lane.execute(movement({ from, to, amount: "1" }))).kind).toBe("done");
});

test("a command whose rows cannot be read fails at once", async () => {
  const [from, to] = newProfiles(2);
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("lock table account in access exclusive mode");
  const received = ours.lane.execute(movement({ from, to, amount: "4" })).catch((error: Error) => error);
  await untilBlocked(db);
  relay.cut();
  // Not at its deadline.
  expect(await received).toMatchObject({ name: "Unavailable", message: expect.not.stringContaining("not in time") });
  await inTheWay.query("rollback");
  await inTheWay.end();
});

test("a clock that is set back does not extend the wait for an unavailable database", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from, to], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select 1 from account where owner_id = $1 for update", [to]);
  const received = ours.lane.execute(movement({ from, to, amount: "4" })).catch((error: Error) => error.message);
  await untilBlocked(db);
  relay.reject(true);
  relay.cut();
  await until("the database is known to be away", () => ours.events.some(({ kind }) => kind === "database_away"));
  aheadMs = -3_600_000;
  expect(await received).toBe("the database cannot be reached: look up the ref_id to see what was done");
  // Once for the outage, however often it was tried since.
  expect(ours.events.filter(({ kind }) => kind === "database_away")).toHaveLength(1);
  relay.reject(false);
  await until("the lane has recovered", () => ours.events.some(({ kind }) => kind === "recovered"), 30);
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect(await availableUsd(db.database, [from, to])).toEqual(["10", "10"]);
});

test("repeatedly terminated connections lose and duplicate nothing", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from, to], "1000");
  const customerId = newId();
  let done = 0;
  const send = async (i: number): Promise<void> => {
    const claim = { customerId, refId: `${i}` };
    for (;;) {
      try {
        const outcome = await ours.lane.execute(movement({ from, to, amount: "1", claim }));
        expect(["done", "exists"]).toContain(outcome.kind);
        done += 1;
        return;
      } catch (error) {
        // 503: the client repeats with the same ref_id.
        expect(error).toMatchObject({ name: "Unavailable" });
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  };
  const sends = (async () => {
    for (let i = 0; i < 300; i += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => send(i + k)));
  })();
  while (done < 300) {
    const seen = done;
    await until("some more are done", () => done > seen);
    if (done < 300) await terminate(db);
  }
  await sends;
  expect(await availableUsd(db.database, [from, to])).toEqual(["700", "1300"]);
});
