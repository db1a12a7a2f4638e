/** What a wrong clock can do to the ledger, and what the ledger makes of times that are in the future already. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadCatalogue } from "../../src/catalogue/catalogue.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createCustomers } from "../../src/customers/customers.ts";
import { createProfiles } from "../../src/customers/profiles/profiles.ts";
import { readBalances } from "../../src/ledger/balances.ts";
import { Lane } from "../../src/ledger/writer/lane.ts";
import { amountOf } from "../../src/money/amount.ts";
import { USD } from "../../src/money/asset.ts";
import { Database, type Transaction } from "../../src/postgres/database.ts";
import type { Clock, Instant } from "../../src/std/clock.ts";
import { IdSource, instantOf } from "../../src/std/id.ts";
import { pause } from "../../src/std/pause.ts";
import { createTransfers } from "../../src/transfers/transfers.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import {
  ANY_TIME_MS,
  availableUsd,
  ledgerClock,
  movement,
  newProfile,
  newProfiles,
  startLane,
  TESTER,
  type TestLane,
} from "../support/movements.ts";
import { openTransaction, terminate, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;
const MONTH_MS = 30 * 24 * HOUR_MS;

let db: TestDatabase;
let started: TestLane[];
/** By how much the process's time of day is ahead. */
let aheadMs: number;
const clock: Clock = { now: () => (Date.now() + aheadMs) as Instant };
beforeEach(async () => {
  aheadMs = 0;
  started = [];
  db = await testDatabase();
});
afterEach(async () => {
  for (const { lane } of started) await lane.stop();
  await expectBooksBalance(db.owner);
  await db.close();
});

async function start(...[options]: [options?: Parameters<typeof startLane>[1]]): Promise<TestLane> {
  const lane = await startLane(db.another(), { clock, ...options });
  started.push(lane);
  return lane;
}

async function untilTold(outcome: Promise<unknown>): Promise<string> {
  return outcome.then(
    () => "done",
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

const deposit = (to = newProfile(), amount = "1") => movement({ from: "world", to, amount, turn: "house" });

/** A fault as it is told, its seconds to the nearest ten: how far the clocks are apart is measured by slow answers too. */
const roughly = (fault: string | undefined): string | undefined =>
  fault?.replace(/[\d.]+(?= s (?:ahead of|behind) )/, (seconds) => String(10 * Math.round(Number(seconds) / 10)));

/** Of batches that are not void, by the database's clock. */
async function latestAheadMs(): Promise<number> {
  const [row] = await db.owner.rows<{ ahead: number }>(
    "select coalesce((extract(epoch from max(at) - clock_timestamp()) * 1000)::float8, 0) as ahead from batch where not void",
  );
  return row?.ahead ?? 0;
}

test.each([
  ["ahead of", MONTH_MS],
  ["behind", -MONTH_MS],
])(
  "a node whose clock is a month %s the database's changes nothing, says why, and works when it is set right",
  async (side, ms) => {
    aheadMs = ms;
    const { lane, events } = await start();
    const fault = `the clock of this node is 2592000 s ${side} the database's, and 2 s are allowed`;
    expect(roughly(await untilTold(lane.execute(deposit())))).toBe(`Unavailable: ${fault}`);
    expect(roughly(lane.unavailableReason)).toBe(fault);
    expect(roughly(lane.report().clockFault)).toBe(fault);
    await until("it is logged", () => events.length > 0);
    expect(await db.owner.rows("select 1 from batch where not void")).toEqual([]);
    aheadMs = 0;
    expect(await untilTold(lane.execute(deposit()))).toBe("done");
    expect(lane.unavailableReason).toBeUndefined();
    await until("that is logged too", () => events.length > 1);
    expect(events).toEqual([{ kind: "clock_wrong", fault: expect.any(String) }, { kind: "clock_right" }]);
    expect(events[0]).toSatisfy((event) => roughly(event.fault) === fault);
  },
);

test("while the clock is wrong pending commands are not decided; if it is corrected before their deadlines, all are", async () => {
  const { lane, fund } = await start();
  await fund([newProfile()], "1");
  const outcomes = newProfiles(20).map((to) => untilTold(lane.execute(deposit(to))));
  // Their rows are being read.
  aheadMs = 3 * HOUR_MS;
  setTimeout(() => {
    aheadMs = 0;
  }, 400);
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["done"]));
  expect(await latestAheadMs()).toBeLessThan(2_000);
});

test("a lost batch is not decided again while the clock is wrong", async () => {
  const { lane, fund } = await start();
  const [from, to] = newProfiles(2);
  await fund([from, to], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select 1 from account where owner_id = $1 for update", [to]);
  const outcome = untilTold(lane.execute(movement({ from, to, amount: "1" })));
  await untilBlocked(db);
  aheadMs = 3 * HOUR_MS;
  await terminate(db, "parbook lane");
  await inTheWay.query("rollback");
  await inTheWay.end();
  await until("it is known to be lost", async () => (await db.owner.rows("select from batch where void")).length === 2);
  // Enough time to decide it again.
  await pause(300);
  const [before] = await db.owner.rows<{ now: Instant }>("select clock_timestamp() as now");
  aheadMs = 0;
  expect(await outcome).toBe("done");
  expect(await availableUsd(db.database, [from, to])).toEqual(["9", "11"]);
  const [last] = await db.owner.rows<{ at: Instant }>("select max(at) as at from batch where not void");
  expect(last?.at).toBeGreaterThanOrEqual(before?.now as Instant);
});

test("after a clock was briefly ahead, stored times are of the present", async () => {
  const { lane } = await start();
  const [a, b] = newProfiles(2);
  expect(await untilTold(lane.execute(deposit(a, "10")))).toBe("done");
  aheadMs = 3 * HOUR_MS;
  expect(await untilTold(lane.execute(movement({ from: a, to: b, amount: "1" })))).toMatch(/^Unavailable: the clock/);
  aheadMs = 0;
  expect(await untilTold(lane.execute(movement({ from: a, to: b, amount: "1" })))).toBe("done");
  expect(await latestAheadMs()).toBeLessThan(2_000);
  expect(await readBalances(db.database, b, [USD], Date.now() as Instant)).toMatchObject([{ available: 10n ** 18n }]);
});

/** A way to the database that asks a function of the test's for the time, so that the test can set the clock. */
class OtherClock extends Database {
  /** Whether the clocks can be compared while the lane runs. */
  tellsTime = true;
  /** How often the comparison has failed. */
  asked = 0;

  override rows<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    if (!this.tellsTime && text.includes("extract(epoch")) {
      this.asked += 1;
      return Promise.reject(new Error("nobody tells the time"));
    }
    return super.rows(otherClock(text), values);
  }

  override transaction<Value>(
    work: (transaction: Transaction) => Promise<Value>,
    ...how: ["seconds"?, "at once"?]
  ): Promise<Value> {
    return super.transaction(
      ({ rows, commitWith }) =>
        work({
          rows: (text, values) => rows(otherClock(text), values),
          commitWith: (text, values) => commitWith(otherClock(text), values),
        }),
      ...how,
    );
  }

  override async connect(...settings: Parameters<Database["connect"]>): ReturnType<Database["connect"]> {
    const client = await super.connect(...settings);
    const query = client.query.bind(client) as (config: { text: string }) => unknown;
    const asked = (config: { text: string }) => query({ ...config, text: otherClock(config.text) });
    return Object.assign(client, { query: asked });
  }
}

const otherClock = (text: string): string =>
  text.replaceAll(/(?<!\.)clock_timestamp\(\)/g, "shifted.clock_timestamp()");

async function setDatabaseClock(ms: number): Promise<void> {
  await db.owner.rows("create schema if not exists shifted");
  await db.owner.rows("grant usage on schema shifted to public");
  await db.owner.rows(
    `create or replace function shifted.clock_timestamp() returns timestamptz volatile language sql
     return pg_catalog.clock_timestamp() + ${ms} * interval '1 millisecond'`,
  );
}

test("when it is the database's clock that is set back, its CHECK stops the batch, and the node takes no more", async () => {
  await setDatabaseClock(0);
  const database = new OtherClock({ connection: db.connection, maxConnections: 5, onIdleError: () => undefined });
  const { lane, events } = await startLane(database, { clock });
  const to = newProfile();
  expect(await untilTold(lane.execute(deposit(to)))).toBe("done");
  database.tellsTime = false;
  await setDatabaseClock(-HOUR_MS);
  const outcome = untilTold(lane.execute(deposit(to)));
  await until("the batch has failed", () => events.some(({ kind }) => kind === "batch_failed"));
  expect(events[0]).toMatchObject({ kind: "batch_failed", error: { constraint: "clock_ahead" } });
  await until("it is known why", () => lane.unavailableReason !== undefined);
  expect(roughly(lane.unavailableReason)).toBe(
    "the clock of this node is 3600 s ahead of the database's, and 2 s are allowed",
  );
  database.tellsTime = true;
  aheadMs = -HOUR_MS;
  expect(await outcome).toBe("done");
  expect(await availableUsd(db.database, [to])).toEqual(["2"]);
  await lane.stop();
  await database.close();
});

test("when a batch under row locks fails on the database's clock, the clocks are compared again", async () => {
  await setDatabaseClock(0);
  const database = new OtherClock({ connection: db.connection, maxConnections: 5, onIdleError: () => undefined });
  const { lane } = await startLane(database, { clock });
  const to = newProfile();
  expect(await untilTold(lane.execute(deposit(to)))).toBe("done");
  // From here on only a new connection of the lane compares the clocks.
  database.tellsTime = false;
  await setDatabaseClock(-HOUR_MS);
  const outcome = untilTold(lane.execute({ ...deposit(to), lock: true }));
  await until("it is known why", () => lane.unavailableReason !== undefined);
  expect(roughly(lane.unavailableReason)).toBe(
    "the clock of this node is 3600 s ahead of the database's, and 2 s are allowed",
  );
  expect(await outcome).toMatch(/^Unavailable: /);
  database.tellsTime = true;
  aheadMs = -HOUR_MS;
  expect(await untilTold(lane.execute({ ...deposit(to), lock: true }))).toBe("done");
  expect(await availableUsd(db.database, [to])).toEqual(["2"]);
  await lane.stop();
  await database.close();
});

test("a failed comparison of the clocks is repeated", async () => {
  await setDatabaseClock(0);
  const database = new OtherClock({ connection: db.connection, maxConnections: 5, onIdleError: () => undefined });
  const { lane } = await startLane(database, { clock });
  database.tellsTime = false;
  await until("one has failed", () => database.asked > 0);
  database.tellsTime = true;
  aheadMs = -HOUR_MS;
  await setDatabaseClock(-HOUR_MS);
  await until("the clocks are known to agree", () => lane.unavailableReason === undefined);
  expect(await untilTold(lane.execute(deposit()))).toBe("done");
  await lane.stop();
  await database.close();
});

test("after both clocks were ahead and were set back, batches have the present time", async () => {
  await setDatabaseClock(HOUR_MS);
  aheadMs = HOUR_MS;
  const database = new OtherClock({ connection: db.connection, maxConnections: 5, onIdleError: () => undefined });
  const { lane } = await startLane(database, { clock });
  expect(await untilTold(lane.execute(deposit()))).toBe("done");
  aheadMs = 0;
  await setDatabaseClock(0);
  await until("the clocks are known to agree", () => lane.unavailableReason === undefined);
  expect(await untilTold(lane.execute(deposit()))).toBe("done");
  const [last] = await db.owner.rows<{ at: Instant }>("select at from batch where not void order by n desc limit 1");
  expect(Math.abs((last?.at ?? 0) - Date.now())).toBeLessThan(10_000);
  await lane.stop();
  await database.close();
});

test("once the database's clock is right again new records have its time, even if ids are seventy years ahead", async () => {
  const YEARS_MS = 70 * 365 * 24 * HOUR_MS;
  await setDatabaseClock(0);
  const database = new OtherClock({ connection: db.connection, maxConnections: 5, onIdleError: () => undefined });
  const held = ledgerClock();
  const lane = new Lane({ database, clock: held, holder: "node", log: () => undefined });
  await lane.start();
  const ids = new IdSource(held);
  await setDatabaseClock(YEARS_MS);
  await until("the clock is known to be wrong", () => held.fault !== undefined);
  // Such as that of a request, which is rejected.
  expect(instantOf(ids.next())).toBeGreaterThan(Date.now() + YEARS_MS / 2);
  await setDatabaseClock(0);
  await until("the clock is right", () => held.fault === undefined);
  const catalogue = await loadCatalogue(db.database);
  const customerId = ids.next() as CustomerId;
  await createCustomers({ database, lane, ids, clock: held }).ensure(customerId, "Acme", TESTER);
  const profiles = createProfiles({ database, lane, ids, clock: held });
  const made = await profiles.create({ customerId, nickname: "desk", description: undefined }, TESTER);
  if (made.kind !== "done") throw new Error("a profile is made");
  const transfers = createTransfers({ database, lane, catalogue, ids });
  const crossed = await transfers.recordExternal(
    {
      customerId,
      profileId: made.value.id,
      asset: "USD",
      amount: amountOf("1"),
      direction: "CREDIT",
      type: "WIRE_DEPOSIT",
      details: {},
    },
    TESTER,
  );
  if (crossed.kind !== "done") throw new Error("a deposit is made");
  for (const at of [made.value.createdAt, crossed.value.createdAt]) {
    expect(Math.abs(at - Date.now())).toBeLessThan(10_000);
  }
  await lane.stop();
  catalogue.close();
  await database.close();
});

test("with a configured offset of a year batches have the offset time, and a clock without it is reported as behind", async () => {
  const YEAR_MS = 365 * 24 * HOUR_MS;
  aheadMs = YEAR_MS;
  const { lane } = await start({ businessOffsetMs: YEAR_MS });
  expect(await untilTold(lane.execute(deposit()))).toBe("done");
  expect(Math.abs((await latestAheadMs()) - YEAR_MS)).toBeLessThan(2_000);
  aheadMs = 0;
  expect(lane.unavailableReason).toContain("behind the database's");
});

// Times that are in the future already --------------------------------------------------------------------------------

/** What a node has done whose clock was ahead, and which did not compare it. */
async function aheadOnce(ms: number, ...of: ReturnType<typeof newProfile>[]): Promise<void> {
  aheadMs = ms;
  const { lane } = await start({ toleranceMs: ANY_TIME_MS });
  for (const to of of) expect(await untilTold(lane.execute(deposit(to, "10")))).toBe("done");
  await lane.stop();
  aheadMs = 0;
}

test("a future time of an account is passed on to its counterparty unchanged, and to no other account", async () => {
  const [a, b, c, d] = newProfiles(4);
  // So that the other one, whose house accounts are of its slot, has another slot.
  const { lane, fund } = await start();
  await aheadOnce(MONTH_MS, a);
  const [first] = await db.owner.rows<{ at: Instant }>("select max(at) as at from batch where not void");
  await fund([c, d], "10");
  expect(await untilTold(lane.execute(movement({ from: a, to: b, amount: "1" })))).toBe("done");
  expect(await untilTold(lane.execute(movement({ from: b, to: a, amount: "1" })))).toBe("done");
  expect(await untilTold(lane.execute(movement({ from: c, to: d, amount: "1" })))).toBe("done");
  const rows = await db.owner.rows<{ owner_id: string; at: Instant }>(
    "select owner_id, at from account where house is null",
  );
  const times = new Map(rows.map(({ owner_id, at }) => [owner_id, at]));
  expect([times.get(a), times.get(b)]).toEqual([first?.at, first?.at]);
  for (const profile of [c, d]) expect(times.get(profile)).toBeLessThan(Date.now() + 2_000);
});

test("a house account with a future time passes it on to no other account, and keeps its own order", async () => {
  const [a, b] = newProfiles(2);
  await aheadOnce(MONTH_MS, a);
  const { fund } = await start();
  await fund([b], "10");
  const rows = await db.owner.rows<{ whose: string; version: string; ahead: number }>(
    `select coalesce(a.house::text, 'profile') as whose, p.version, round(extract(epoch from p.at - now()) / 86400)::int as ahead
       from posting p join account a using (owner_id, asset) order by p.slot, p.batch, 1`,
  );
  expect(rows.map(({ whose, version, ahead }) => `${whose} ${version}: ${ahead} days ahead`)).toEqual([
    ...["profile 1: 30 days ahead", "world 1: 30 days ahead"],
    ...["profile 1: 0 days ahead", "world 2: 30 days ahead"],
  ]);
  expect(await readBalances(db.database, b, [USD], (Date.now() + 1_000) as Instant)).toMatchObject([
    { available: 10n * 10n ** 18n },
  ]);
});

test("a rule receives the current time, even after an account with a future time", async () => {
  const [a, b] = newProfiles(2);
  await aheadOnce(MONTH_MS, a);
  const { lane } = await start();
  const received: Instant[] = [];
  const asked = movement({ from: a, to: b, amount: "1" });
  for (let i = 0; i < 2; i += 1) {
    const decide: typeof asked.decide = (state, now) => {
      received.push(now);
      return movement({ from: a, to: b, amount: "1" }).decide(state, now);
    };
    expect(await untilTold(lane.execute({ ...asked, decide }))).toBe("done");
  }
  for (const at of received) expect(Math.abs(at - Date.now())).toBeLessThan(10_000);
});
