/** How long a command may take, how many may wait, and what an amount may be. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BOUNDS, LIMITS } from "../../src/ledger/writer/lane-options.ts";
import type { Clock, Instant } from "../../src/std/clock.ts";
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
  type TestLaneOptions,
} from "../support/movements.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
let ours: TestLane;
beforeEach(async () => {
  db = await testDatabase();
});
afterEach(async () => {
  await ours.lane.stop();
  await expectBooksBalance(db.owner);
  await db.close();
});

async function start(options: TestLaneOptions): Promise<TestLane> {
  ours = await startLane(db.database, options);
  return ours;
}

/** A clock that a test moves on. */
class TestClock implements Clock {
  ahead = 0;
  /** Asked so often it answers as before, and only then moves on. */
  now(): Instant {
    return (Date.now() + this.ahead) as Instant;
  }
}

async function untilTold(outcome: Promise<unknown>): Promise<string> {
  return outcome.then(
    () => "done",
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

/** @returns whether so many milliseconds have passed by the database's clock since this was called */
async function passes(ms: number): Promise<() => Promise<boolean>> {
  const readMs = async (): Promise<number> => {
    const [row] = await db.owner.rows<{ ms: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms",
    );
    return row?.ms ?? expect.fail("it has no clock");
  };
  const end = (await readMs()) + ms;
  return async () => (await readMs()) > end;
}

test("a command past its deadline by the process's clock is not decided", async () => {
  const clock = new TestClock();
  const { lane, fund } = await start({ clock, toleranceMs: ANY_TIME_MS });
  const [a, b] = newProfiles(2);
  await fund([a], "10");
  const send = () => untilTold(lane.execute(movement({ from: a, to: b, amount: "1" })));
  const outcome = send();
  // The process sleeps: nothing has run between the arrival and the end of its time.
  clock.ahead = 10_000;
  expect(await outcome).toBe("Unavailable: not in time");
  clock.ahead = 0;
  expect(await availableUsd(db.database, [a, b])).toEqual(["10", "0"]);
  const inTime = send();
  // It sleeps for a part of that time.
  clock.ahead = 2_000;
  expect(await inTime).toBe("done");
});

test("a batch that completes after its deadline by the database's clock has no effect", async () => {
  const [a, b] = newProfiles(2);
  const patient = await startLane(db.another());
  await patient.fund([a, b], "10");
  await patient.lane.stop();
  // Time enough on a busy machine, and less than a batch waits for a lock.
  const { lane } = await start({ bounds: { deadlineMs: 1_500 } });
  const other = await openTransaction(db.owner);
  await other.query("select 1 from account where owner_id = $1 for update", [b]);
  // The lane knows the database's clock as exactly as it could measure it, which a busy machine makes less exact.
  const isOver = await passes(2_200);
  const outcome = untilTold(lane.execute(movement({ from: a, to: b, amount: "1" })));
  await untilBlocked(db);
  expect(await outcome).toBe("Unavailable: not in time");
  await until("the deadline is over by the database's clock, too", isOver);
  await other.query("commit");
  await other.end();
  // The next one is behind it in line, and its answer says that the first one is over.
  const next = movement({ from: a, to: b, amount: "2", claim: { customerId: newId(), refId: "next" } });
  await until("the next one is done", async () => (await untilTold(lane.execute(next))) === "done");
  expect(await availableUsd(db.database, [a, b])).toEqual(["8", "12"]);
  expect(ours.events[0]).toMatchObject({ kind: "batch_failed", error: { constraint: "too_late" } });
});

test("a process whose clock is an hour behind the database's has the same deadlines", async () => {
  const clock = new TestClock();
  clock.ahead = -3_600_000;
  const { fund } = await start({ clock, toleranceMs: ANY_TIME_MS });
  await fund([newProfile()], "10");
  expect(ours.events).toEqual([]);
});

/*
 * Found by a seed of the simulation, when the two clocks were compared but once: what has to be decided under lock was
 * too late for ever, and all else waited behind it.
 */
test("after a clock was set back, what is decided under lock is in time", async () => {
  const clock = new TestClock();
  const { lane, fund } = await start({ clock, toleranceMs: ANY_TIME_MS });
  const to = newProfile();
  await fund([to], "1");
  clock.ahead = -3_600_000;
  const send = () => untilTold(lane.execute(movement({ from: "world", to, amount: "1", turn: "house", lock: true })));
  expect(await send()).toBe("done");
  expect(await send()).toBe("done");
  expect(await availableUsd(db.database, [to])).toEqual(["3"]);
});

test("beyond its bound the lane rejects with 503 at once, except commands of the platform", async () => {
  const { lane } = await start({ bounds: { pending: 20, pendingPerCustomer: 10 } });
  const send = (turn: Parameters<typeof movement>[0]["turn"]): Promise<string> =>
    untilTold(lane.execute(movement({ from: "world", to: newProfile(), amount: "1", ...(turn && { turn }) })));
  const flooding = newId();
  const flood = Array.from({ length: 15 }, () => send(flooding));
  const others = Array.from({ length: 15 }, () => send(newId()));
  expect(lane.unavailableReason).toBe("the service is at capacity: too many requests are waiting");
  const house = Array.from({ length: 15 }, () => send("house"));
  const count = async (outcomes: Promise<string>[]): Promise<number> =>
    (await Promise.all(outcomes)).filter((received) => received === "done").length;
  expect([await count(flood), await count(others), await count(house)]).toEqual([10, 10, 15]);
  expect(await flood[14]).toBe("Unavailable: too much is waiting");
  expect(lane.unavailableReason).toBeUndefined();
});

test("a customer that floods the lane does not delay another", async () => {
  const { lane, fund } = await start({ bounds: { batch: 10 } });
  const [a, b, c] = newProfiles(3);
  await fund([a, b, c], "1000");
  const flooding = newId();
  const order: string[] = [];
  const flood = Array.from({ length: 500 }, () =>
    lane.execute(movement({ from: a, to: b, amount: "1", turn: flooding })).then(() => order.push("flood")),
  );
  const single = lane.execute(movement({ from: c, to: b, amount: "1" })).then(() => order.push("single"));
  await Promise.all([...flood, single]);
  expect(order.indexOf("single")).toBeLessThan(40);
});

test("a command that has to lock its rows is not starved by a steady stream of others", async () => {
  const { lane, fund } = await start({ bounds: { batch: 1 } });
  const [a, b, c] = newProfiles(3);
  await fund([a, b, c], "1000");
  let streamed = 0;
  let isLocked = false;
  const stream = Array.from({ length: 10 }, async () => {
    while (!isLocked && streamed < 500) {
      await lane.execute(movement({ from: a, to: b, amount: "1" }));
      streamed += 1;
    }
  });
  await until("the stream flows", () => streamed >= 20);
  const before = streamed;
  await lane.execute(movement({ from: c, to: b, amount: "1", lock: true }));
  isLocked = true;
  const passed = streamed - before;
  await Promise.all(stream);
  // Those of the batches under way, and of the round in which it was taken up.
  expect(passed).toBeLessThan(40);
});

test("commands of others are decided with those that have to lock their rows", async () => {
  const { lane, fund } = await start({});
  const [a, b, c] = newProfiles(3);
  await fund([a, b, c], "1000");
  const order: string[] = [];
  const locking = Array.from({ length: 100 }, () =>
    lane.execute(movement({ from: a, to: b, amount: "1", lock: true })).then(() => order.push("locking")),
  );
  const single = lane.execute(movement({ from: c, to: b, amount: "1" })).then(() => order.push("single"));
  let later = 0;
  for (; order.length < 100; later += 1) await lane.execute(movement({ from: c, to: b, amount: "1" }));
  await Promise.all([...locking, single]);
  // All of a batch are answered at once.
  expect(order.indexOf("single")).toBeLessThanOrEqual(LIMITS.locking);
  expect(later).toBeGreaterThan(3);
});

test.each([
  ["names no more rows and ref_ids than its bound, unless it is one command alone", {}, "3"],
  ["takes no more commands than they weigh", { weight: 5 }, "2"],
])("a batch %s", async (_, heavy, commands) => {
  const { lane, fund } = await start({ bounds: { batchRows: 10 } });
  const [from] = newProfiles(1);
  await fund([from], "100");
  // Three each: two accounts and a ref_id.
  const customerId = newId();
  const sent = Array.from({ length: 12 }, (_, i) =>
    lane.execute({
      ...movement({ from, to: newProfile(), amount: "1", claim: { customerId, refId: String(i) } }),
      ...heavy,
    }),
  );
  await Promise.all(sent);
  const [most] = await db.database.rows(
    `select max(commands) as commands
       from (select count(*) / 2 as commands from posting where journal_id in
               (select journal_id from posting where owner_id = $1 and amount < 0) group by slot, batch) as batches`,
    [from],
  );
  expect(most).toEqual({ commands });
});

test("what waits for locks, is queued or is being committed is reported", async () => {
  const { lane, fund } = await start({ bounds: { leaseMs: 600_000, leastLockWaitMs: BOUNDS.leastLockWaitMs } });
  const [a, b] = newProfiles(2);
  await fund([a, b], "100");
  const idle = { ...{ state: "running", slot: 1, depth: 0, toLock: 0, inFlight: 0 }, databaseAway: false };
  expect(lane.report()).toEqual({ ...idle, clockFault: undefined });
  const other = await openTransaction(db.owner);
  await other.query("select 1 from account where owner_id = $1 for update", [a]);
  const sent = Array.from({ length: 20 }, () => lane.execute(movement({ from: a, to: b, amount: "1", lock: true })));
  // One of them in line for the row, and the others behind it.
  await untilBlocked(db);
  await until("all wait", () => lane.report().toLock === 20 && lane.report().state === "running");
  expect(lane.report()).toEqual({ ...idle, depth: 20, toLock: 20, clockFault: undefined });
  await other.query("commit");
  await other.end();
  await Promise.all(sent);
});

/** By the statement, whichever connection it comes on. */
test("a batch waits for a while for each lock, and for 8 seconds in all, under lock and without; its locks wait for a second", async () => {
  // More than two commits take on a busy machine.
  const { lane, fund } = await start({ bounds: { leastLockWaitMs: 1_600 } });
  const [a, b] = newProfiles(2);
  await fund([a, b], "100");
  await db.owner.rows(
    `create function as_bounded() returns trigger language plpgsql as $$
     begin
       if current_setting('lock_timeout') <> '1600ms' or current_setting('statement_timeout') <> '8s' then
         raise exception 'it waits % and %', current_setting('lock_timeout'), current_setting('statement_timeout');
       end if;
       if current_setting('application_name') <> 'parbook lane' and current_setting('idle_in_transaction_session_timeout') <> '1s' then
         raise exception 'its locks wait for it for %', current_setting('idle_in_transaction_session_timeout');
       end if;
       return new;
     end $$`,
  );
  await db.owner.rows("create trigger as_bounded before insert on batch for each row execute function as_bounded()");
  for (const lock of [undefined, true] as const)
    expect(await untilTold(lane.execute(movement({ from: a, to: b, amount: "1", ...(lock && { lock }) })))).toBe(
      "done",
    );
  expect(ours.events).toEqual([]);
});

test("once commits take long, a batch waits for locks as long as two of them, under lock and without", async () => {
  const { lane, fund } = await start({ bounds: { leastLockWaitMs: BOUNDS.leastLockWaitMs } });
  const [a, b] = newProfiles(2);
  await fund([a, b], "100");
  await db.owner.rows("create table waits (place serial, application text, lock_timeout text)");
  await db.owner.rows("grant all on waits, waits_place_seq to public");
  await db.owner.rows(
    `create function slow() returns trigger language plpgsql as $$
     begin
       perform pg_sleep(0.25);
       insert into waits (application, lock_timeout)
         values (current_setting('application_name'), current_setting('lock_timeout'));
       return new;
     end $$`,
  );
  await db.owner.rows("create trigger slow before insert on batch for each row execute function slow()");
  const send = (lock?: true) =>
    untilTold(lane.execute(movement({ from: a, to: b, amount: "1", ...(lock && { lock }) })));
  const last = async () =>
    (await db.owner.rows("select application = 'parbook lane' as own, lock_timeout from waits order by place desc"))[0];
  expect(await send(true)).toBe("done");
  // Longer than 50 ms on a busy machine, here and below.
  expect(await last()).toEqual({ own: false, lock_timeout: expect.stringMatching(/^(50|100|200|400)ms$/) });
  // Those under lock count, too: all that concerns a row may be decided so.
  for (let i = 0; i < 9; i += 1) expect(await send(true)).toBe("done");
  const longer = expect.stringMatching(/^(800ms|1600ms|3s)$/);
  expect(await last()).toEqual({ own: false, lock_timeout: longer });
  expect(await send()).toBe("done");
  expect(await last()).toEqual({ own: true, lock_timeout: longer });
});

test("a command that other work gets in the way of again and again fails as unavailable after five attempts", async () => {
  const { lane, fund } = await start({});
  const [a, b] = newProfiles(2);
  await fund([a, b], "100");
  // As when another process is first each time. Its own sequence goes on although the statement fails.
  await db.owner.rows("create sequence attempts; grant usage on sequence attempts to public");
  await db.owner.rows(
    `create function in_the_way() returns trigger language plpgsql as $$
     begin
       perform nextval('attempts');
       raise exception 'in the way' using errcode = '40001';
     end $$`,
  );
  await db.owner.rows("create trigger in_the_way before insert on posting execute function in_the_way()");
  const outcome = await untilTold(lane.execute(movement({ from: a, to: b, amount: "1", lock: true })));
  expect(outcome).toBe("Unavailable: in the way");
  // Twice with the others that had to lock, and then alone.
  expect(await db.owner.rows("select last_value::integer as attempts from attempts")).toEqual([{ attempts: 7 }]);
  expect(ours.events).toEqual([]);
  await db.owner.rows("drop trigger in_the_way on posting");
  expect(await availableUsd(db.database, [a, b])).toEqual(["100", "100"]);
});

test("ref_ids of a customer that has repeated one are looked up first for ten seconds", async () => {
  const clock = new TestClock();
  const { lane, fund } = await start({ clock, toleranceMs: ANY_TIME_MS });
  const [a, b] = newProfiles(2);
  await fund([a, b], "1000");
  const customerId = newId();
  const asked = vi.spyOn(db.database.commits, "rows");
  const isLookedUp = async (refId: string): Promise<boolean> => {
    asked.mockClear();
    await lane.execute(movement({ from: a, to: b, amount: "1", claim: { customerId, refId } }));
    return asked.mock.calls.some(([text]) => text.includes("from claim"));
  };
  expect([await isLookedUp("1"), await isLookedUp("1"), await isLookedUp("2")]).toEqual([false, true, true]);
  clock.ahead = 10_000;
  await until("they are not looked up any more", async () => !(await isLookedUp(newId())));
  asked.mockRestore();
});

test("the database rejects an amount that it would have to round", async () => {
  ours = await startLane(db.database);
  const profile = newProfile();
  await ours.fund([profile], "1");
  const finer = "0.0000000000000000001";
  await expect(
    db.owner.rows("update account set available = available + $2::numeric where owner_id = $1", [profile, finer]),
  ).rejects.toMatchObject({ code: "23514" });
  await expect(
    db.owner.rows("update account set available = 1e29 where owner_id = $1", [profile]),
  ).rejects.toMatchObject({ code: "23514" });
});

test("an amount of 47 digits comes back as it was sent", async () => {
  const { fund } = await start({});
  const profile = newProfile();
  const amount = "99999999999999999999999999999.999999999999999999";
  await fund([profile], amount);
  expect(await availableUsd(db.database, [profile])).toEqual([amount]);
});
