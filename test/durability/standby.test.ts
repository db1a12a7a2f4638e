/**
 * With a synchronous standby an answer means that the standby has it. PostgreSQL commits a transaction whose wait for the
 * standby is interrupted, and says so in a warning at most: such a commit is not answered before a later one has reached
 * the standby.
 */
import { afterAll, beforeEach, expect, test } from "vitest";
import { cancel } from "../../src/exchange/orders/orders.ts";
import type { Claim } from "../../src/ledger/decision.ts";
import { renewLease, takeLease } from "../../src/postgres/leases.ts";
import { must } from "../../src/std/assert.ts";
import { systemClock } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { eventsOf } from "../support/events.ts";
import { availableUsd, movement, newId, newProfiles, startLane } from "../support/movements.ts";
import { openTransaction } from "../support/postgres/rows-in-the-way.ts";
import { BATCH, FAULTS, LOOK_UP, needsStandby, type Pair, startPair } from "../support/postgres/standby.ts";
import { until } from "../support/until.ts";
import { FINDINGS, openOrder, publishEvent } from "./findings.ts";

let pair: Pair;
let isStarted = false;
beforeEach(async (context) => {
  await needsStandby(context);
  if (!isStarted) pair = await startPair();
  isStarted = true;
  await pair.startStandby();
});
afterAll(async () => {
  if (isStarted) await pair.close();
});

/** What a promise has come to by now. */
function watched<Value>(promise: Promise<Value>) {
  const seen: { value?: Value; error?: unknown; isOver: boolean } = {
    isOver: false,
  };
  promise.then(
    (value) => Object.assign(seen, { value, isOver: true }),
    (error: unknown) => Object.assign(seen, { error, isOver: true }),
  );
  return seen;
}

/** Waits until something was answered, or a look-up waits for the standby before it can be. */
function untilLookedUp(seen: { readonly isOver: boolean }): Promise<void> {
  return until(
    "it is answered, or waits for the standby",
    async () => seen.isOver || (await pair.waiting(LOOK_UP)).length > 0,
  );
}

async function fundedLane() {
  const { lane, fund, events } = await startLane(pair.primary.database);
  const [from, to] = newProfiles(2);
  await fund([from, to], "10");
  return { lane, events, from, to };
}

const someClaim = (): Pick<Claim, "customerId" | "refId"> => ({
  customerId: newId(),
  refId: "1",
});

const ON_MEMORY = { way: "decided on memory" };
const UNDER_LOCK = { way: "decided under lock", lock: true } as const;
test.each(FAULTS.flatMap((fault) => [ON_MEMORY, UNDER_LOCK].map((way) => ({ fault, ...way }))))(
  "a batch, $way, that the standby lacks after a $fault is answered when the standby has it",
  async (received) => {
    const { fault, way: _, ...lock } = received;
    const { lane, from, to } = await fundedLane();
    await pair.stopStandby();
    const outcome = lane.execute(movement({ from, to, amount: "4", claim: someClaim(), ...lock }));
    const seen = watched(outcome);
    await pair.untilWaiting(BATCH);
    await pair.inject(fault);
    await untilLookedUp(seen);
    expect(seen).toEqual({ isOver: false });
    await pair.startStandby();
    expect(await outcome).toMatchObject({ kind: "done" });
    await pair.untilReplayed();
    expect(await availableUsd(pair.owner("standby"), [from, to])).toEqual(["6", "14"]);
    await lane.stop();
    await expectBooksBalance(pair.primary.owner);
  },
);

test("of two batches under way a warning about the first leaves both unanswered until the standby has them", async () => {
  const { lane, events, from, to } = await fundedLane();
  await pair.stopStandby();
  const first = lane.execute(movement({ from, to, amount: "1" }));
  await pair.untilWaiting(BATCH);
  const second = lane.execute(movement({ from: to, to: from, amount: "2" }));
  await until("both are under way", () => lane.report().inFlight === 2);
  const seen = watched(Promise.race([first, second]));
  await pair.inject("cancel");
  await untilLookedUp(seen);
  expect(seen).toEqual({ isOver: false });
  expect(events).toEqual([
    {
      kind: "warned",
      slot: expect.any(Number),
      warning: expect.stringContaining("synchronous replication"),
    },
  ]);
  await pair.startStandby();
  expect([(await first).kind, (await second).kind]).toEqual(["done", "done"]);
  await pair.untilReplayed();
  expect(await availableUsd(pair.owner("standby"), [from, to])).toEqual(["11", "9"]);
  await lane.stop();
  await expectBooksBalance(pair.primary.owner);
});

/*
 * The void row that keeps a lost batch from committing later is a commit like others: here the standby lacks it, so it is
 * not known to be there, and the next attempt finds the number taken.
 */
test("a void number whose own commit is interrupted does not stop the lane, and the batch takes effect once", async () => {
  const { lane, from, to } = await fundedLane();
  const inTheWay = await openTransaction(pair.primary.owner);
  await inTheWay.query("select 1 from account where owner_id = $1 for update", [to]);
  const outcome = lane.execute(movement({ from, to, amount: "4", claim: someClaim() }));
  await until("the batch waits for the row", async () => (await pair.blocked()) === 1);
  await pair.stopStandby();
  await pair.terminateLanes();
  await pair.untilWaiting(BATCH);
  await pair.inject("cancel");
  await pair.untilWaiting(LOOK_UP);
  await pair.startStandby();
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect(await outcome).toMatchObject({ kind: "done" });
  await pair.untilReplayed();
  expect(await availableUsd(pair.owner("standby"), [from, to])).toEqual(["6", "14"]);
  await lane.stop();
  await expectBooksBalance(pair.primary.owner);
});

test("a taken ref_id that the standby lacks is reported once the standby has it", async () => {
  const { lane, from, to } = await fundedLane();
  const { lane: other } = await startLane(pair.primary.database);
  await pair.stopStandby();
  const claim = someClaim();
  const first = lane.execute(movement({ from, to, amount: "4", claim }));
  await pair.untilWaiting(BATCH);
  await pair.inject("cancel");
  const recovery = await pair.untilWaiting(LOOK_UP);
  // Such a command is looked up first, and nothing of it is written.
  const again = { ...claim, likelyTaken: true, id: newId() } as const;
  const seen = watched(other.execute(movement({ from, to, amount: "4", claim: again })));
  await until("it is answered, or waits its turn to be", async () => seen.isOver || (await pair.blocked()) === 1);
  expect(seen).toEqual({ isOver: false });
  expect(await pair.waiting(LOOK_UP)).toEqual(recovery);
  await pair.startStandby();
  const done = await first;
  await until("it is answered", () => seen.isOver);
  expect(seen).toEqual({
    isOver: true,
    value: { kind: "exists", id: (done as { value: string }).value },
  });
  await lane.stop();
  await other.stop();
  await expectBooksBalance(pair.primary.owner);
});

test.each(FINDINGS)("$what is reported once the standby has it", async ({ prepare, answer }) => {
  const find = await prepare(pair);
  expect(await find(pair.primary.database)).toEqual(answer);
  await pair.stopStandby();
  const cancelled = find(pair.primary.database).catch((error: Error) => error.name);
  await untilLookedUp(watched(cancelled));
  await pair.inject("cancel");
  expect(await cancelled).toBe("OutcomeUnknown");
  const seen = watched(find(pair.primary.database));
  await untilLookedUp(seen);
  expect(seen).toEqual({ isOver: false });
  await pair.startStandby();
  await until("it is answered", () => seen.isOver);
  expect(seen).toEqual({ isOver: true, value: answer });
});

test("events are not told by a server that has become a standby: it may have some that it committed alone", async () => {
  const customerId = await publishEvent(pair);
  await pair.untilReplayed();
  const events = eventsOf(pair.database("standby"));
  await expect(events.list({ customerId, after: 0n, limit: 1 })).rejects.toThrow("the database is read-only");
  await expect(events.bounds(customerId)).rejects.toThrow("the database is read-only");
});

test("any change whose commit is interrupted has an unknown outcome", async () => {
  const { database } = pair.primary;
  const insert = "insert into customer (id, name, created_at) values ($1, 'Acme ' || gen_random_uuid(), now())";
  const ways: readonly (() => Promise<unknown>)[] = [
    () => database.rows(insert, [newId()]),
    () => database.transaction((transaction) => transaction.rows(insert, [newId()])),
  ];
  await pair.stopStandby();
  for (const fault of ["cancel", "terminate"] as const) {
    for (const change of ways) {
      const received = change().catch((error: Error) => error.name);
      await pair.untilWaiting(/insert into customer|^commit$/);
      await pair.inject(fault);
      expect(await received).toBe("OutcomeUnknown");
    }
  }
  // What fails before it is committed has had no effect.
  const rejected = database.transaction((transaction) => transaction.rows("select 1 / 0"));
  await expect(rejected).rejects.toMatchObject({ name: "error", code: "22012" });
});

/*
 * Seen red: renewals that wait for the standby (the lease ended while its holder lived), and a try that locks the lease's
 * row before it finds it held (one connection of each process that stands by waited for the standby).
 */
test("while the standby is away leases are kept, and processes that stand by for them wait for nothing", async () => {
  const { database } = pair.primary;
  const lease = must(await takeLease(database, "market/KEPT", "holder", 2_000), "nobody has it");
  await pair.stopStandby();
  const expiry = async (): Promise<number> => {
    const [row] = await database.rows<{ at: number }>("select expires_at as at from lease where name = 'market/KEPT'");
    return Number(row?.at);
  };
  const before = await expiry();
  expect(await renewLease(database, lease, 60_000)).toBe(true);
  expect(await expiry()).toBeGreaterThan(before);
  expect(await takeLease(database, "market/KEPT", "another", 60_000)).toBeUndefined();
  expect(await pair.waiting(/lease/)).toEqual([]);
});

/*
 * Seen red: `requestCancel` on the connections that all share. The read was answered "the database cannot be reached".
 */
test("while the standby is away reads find connections, however many cancels wait for it", async () => {
  const { database } = pair.primary;
  const { id, customerId, profileId, caller } = await openOrder(pair);
  await pair.stopStandby();
  const cancels = Array.from({ length: 20 }, () =>
    cancel({ database, clock: systemClock }, customerId, profileId, id, caller).catch((error: Error) => error.name),
  );
  await pair.untilWaiting(/order_cancel/);
  expect(await database.rows("select 1 as one")).toEqual([{ one: 1 }]);
  await pair.startStandby();
  expect(new Set((await Promise.all(cancels)).map((outcome) => JSON.stringify(outcome)))).toEqual(
    new Set([JSON.stringify({ kind: "done", value: "BTCUSD" })]),
  );
});
