/** A ref_id has one effect, however often and concurrently it is sent. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { Claim, Outcome, Released } from "../../src/ledger/decision.ts";
import type { Instant } from "../../src/std/clock.ts";
import type { Uuid } from "../../src/std/id.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import {
  availableUsd,
  type InsufficientFunds,
  movement,
  newId,
  newProfile,
  newProfiles,
  startLane,
  type TestLane,
} from "../support/movements.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";

let db: TestDatabase;
let first: TestLane;
let second: TestLane;
beforeAll(async () => {
  db = await testDatabase();
  first = await startLane(db.database);
  second = await startLane(db.another());
});
afterEach(() => expectBooksBalance(db.owner));
afterAll(async () => {
  await first.lane.stop();
  await second.lane.stop();
  await db.close();
});

function idsOf(outcomes: readonly Outcome<Uuid, InsufficientFunds, Claim>[], kind: "done" | "exists"): Uuid[] {
  return outcomes.flatMap((outcome) => {
    if (outcome.kind === "done" && kind === "done") return [outcome.value];
    return outcome.kind === "exists" && kind === "exists" ? [outcome.id] : [];
  });
}

test("fifty concurrent requests with one ref_id have one effect, and the others get the existing record", async () => {
  const [from, to] = newProfiles(2);
  await first.fund([from], "1000");
  const claim = { customerId: newId(), refId: "invoice 1" };
  const send = (): Promise<Outcome<Uuid, InsufficientFunds, Claim>> =>
    first.lane.execute(movement({ from, to, amount: "1", claim }));
  const outcomes = await Promise.all(Array.from({ length: 50 }, send));
  const [id, ...more] = idsOf(outcomes, "done");
  expect(more).toEqual([]);
  expect(idsOf(outcomes, "exists")).toEqual(Array(49).fill(id));
  expect(await availableUsd(db.database, [from, to])).toEqual(["999", "1"]);
});

test("one ref_id with fifty different bodies through two lanes has one effect", async () => {
  const [from, others] = [newProfile(), newProfiles(50)];
  await first.fund([from], "1000");
  const claim = { customerId: newId(), refId: "invoice 1" };
  const outcomes = await Promise.all(
    others.map((to, i) =>
      (i % 2 === 0 ? first : second).lane.execute(movement({ from, to, amount: `${i + 1}`, claim })),
    ),
  );
  const [id, ...more] = idsOf(outcomes, "done");
  expect(more).toEqual([]);
  expect(idsOf(outcomes, "exists")).toEqual(Array(49).fill(id));
  const received = (await availableUsd(db.database, others)).filter((amount) => amount !== "0");
  expect(received).toEqual([`${outcomes.findIndex(({ kind }) => kind === "done") + 1}`]);
});

test("ref_ids of different customers are independent", async () => {
  const [from, to] = newProfiles(2);
  await first.fund([from], "1000");
  const send = (): Promise<Outcome<Uuid, InsufficientFunds, Claim>> =>
    first.lane.execute(movement({ from, to, amount: "1", claim: { customerId: newId(), refId: "invoice 1" } }));
  expect((await Promise.all([send(), send()])).map(({ kind }) => kind)).toEqual(["done", "done"]);
});

test("the retry of a successful transfer returns it, even if the balance is now too low", async () => {
  const [from, to] = newProfiles(2);
  await first.fund([from], "5");
  const send = movement({ from, to, amount: "5", claim: { customerId: newId(), refId: "all of it" } });
  const done = await first.lane.execute(send);
  const retry = { ...send, claims: send.claims?.map((claim) => ({ ...claim, id: newId() })) };
  expect(done.kind).toBe("done");
  // Once by the lane that remembers the ref_id, once by one that never saw it.
  const exists = { kind: "exists", id: send.claims?.[0]?.id };
  expect(await first.lane.execute(retry)).toEqual(exists);
  expect(await second.lane.execute(retry)).toEqual(exists);
});

test("a rejected request does not use up its ref_id", async () => {
  const [from, to] = newProfiles(2);
  const claim = { customerId: newId(), refId: "when there is money" };
  const send = (): Promise<Outcome<Uuid, InsufficientFunds, Claim>> =>
    first.lane.execute(movement({ from, to, amount: "5", claim }));
  expect(await send()).toEqual({ kind: "rejected", rejection: { code: "insufficient_funds" } });
  await first.fund([from], "5");
  expect((await send()).kind).toBe("done");
});

test("a ref_id is claimed by the batch that commits in the end, after one that failed", async () => {
  const [from, to] = newProfiles(2);
  await first.fund([from], "10");
  // The first lane does not know of it.
  await second.lane.execute(movement({ from, to, amount: "1" }));
  const [claim, id, before] = [{ customerId: newId(), refId: "at last" }, newId(), first.events.length];
  const send = { from, to, amount: "2" };
  expect(await first.lane.execute(movement({ ...send, claim: { ...claim, id } }))).toEqual({ kind: "done", value: id });
  expect(first.events[before]).toMatchObject({ kind: "batch_failed", isContention: true });
  expect(await db.database.rows("select id from claim where customer_id = $1", [claim.customerId])).toEqual([{ id }]);
  for (const { lane } of [first, second])
    expect(await lane.execute(movement({ ...send, claim }))).toEqual({ kind: "exists", id });
  expect(await availableUsd(db.database, [from, to])).toEqual(["7", "3"]);
});

/** Stores an order that was closed two minutes ago. */
async function insertClosedOrder(customerId: Uuid, id: Uuid): Promise<void> {
  await db.owner.rows(
    `insert into orders (profile_id, id, customer_id, market, side, type, time_in_force, base_amount, price, taker_rate,
                         maker_rebate, created_at, status, cancel_reason, filled, filled_gross, held, is_triggered,
                         updated_at, closed_at, version, slot, batch)
     select $1, $2, $3, 'BTCUSD', 'BUY', 'LIMIT', 'GTC', 1, 1, 0, 0, at, 'CANCELLED', 'expired', 0, 0, 0,
            false, at, at, 1, 1, 1
       from (select now() - interval '2 minutes' as at) as times`,
    [newId(), id, customerId],
  );
}

const released: Released = { table: "orders", closedBefore: (Date.now() - 60_000) as Instant };

test("of fifty concurrent requests exactly one takes over a released ref_id", async () => {
  const [from, to] = newProfiles(2);
  await first.fund([from], "1000");
  const claim = { customerId: newId(), refId: "order 7" };
  const before = await first.lane.execute(movement({ from, to, amount: "1", claim }));
  await insertClosedOrder(claim.customerId, idsOf([before], "done")[0] as Uuid);
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      (i % 2 === 0 ? first : second).lane.execute(movement({ from, to, amount: "1", claim: { ...claim, released } })),
    ),
  );
  const [id, ...more] = idsOf(outcomes, "done");
  expect(more).toEqual([]);
  expect(idsOf(outcomes, "exists")).toEqual(Array(49).fill(id));
  expect(await availableUsd(db.database, [from, to])).toEqual(["998", "2"]);
  expect(await db.database.rows("select id from claim where customer_id = $1", [claim.customerId])).toEqual([{ id }]);
});

test("of two lanes that both take over a released ref_id, one succeeds", async () => {
  const [from, to, otherFrom, otherTo] = newProfiles(4);
  await first.fund([from, otherFrom], "100");
  const claim = { customerId: newId(), refId: "order 8" };
  const before = await first.lane.execute(movement({ from, to, amount: "1", claim }));
  await insertClosedOrder(claim.customerId, idsOf([before], "done")[0] as Uuid);
  const session = await openTransaction(db.another());
  await session.query("lock table orders");
  const both = [
    first.lane.execute(movement({ from, to, amount: "1", claim: { ...claim, released } })),
    second.lane.execute(movement({ from: otherFrom, to: otherTo, amount: "1", claim: { ...claim, released } })),
  ];
  await untilBlocked(db, 2);
  await session.end();
  const outcomes = await Promise.all(both);
  const [id, ...more] = idsOf(outcomes, "done");
  expect([more, idsOf(outcomes, "exists")]).toEqual([[], [id]]);
  expect((await availableUsd(db.database, [to, otherTo])).map(Number).reduce((sum, one) => sum + one)).toBe(2);
});

test("a command that loses the race for a ref_id again, under lock, returns the existing record", async () => {
  const { lane, fund, events } = await startLane(db.another(), { bounds: { deadlineMs: 60_000 } });
  const [from, to] = newProfiles(2);
  await fund([from, to], "100");
  const customerId = newId();
  const theirs = await Promise.all(["a", "b", "c"].map((refId) => claimed(customerId, refId)));
  // All are decided under lock, in one batch. It fails for the first, again for the second, and then the third alone for its own.
  const outcomes = theirs.map(({ refId }) =>
    lane.execute(movement({ from, to, amount: "1", lock: true, claim: { customerId, refId } })),
  );
  for (const [i, { id, session }] of theirs.entries()) {
    await untilBlocked(db);
    await session.query("commit");
    await session.end();
    expect(await outcomes[i]).toEqual({ kind: "exists", id });
  }
  expect(events).toEqual([]);
  expect(await availableUsd(db.database, [from, to])).toEqual(["100", "100"]);
  await lane.stop();
});

test("under lock, a ref_id that another process was first with costs its batch one attempt more, not one for each command", async () => {
  const { lane, fund } = await startLane(db.another());
  const [from, to] = newProfiles(2);
  await fund([from, to], "100");
  const customerId = newId();
  const theirs = await claimed(customerId, "1");
  const batches = async (): Promise<number> =>
    Number((await db.owner.rows<{ count: string }>("select count(*) from batch where not void"))[0]?.count);
  const before = await batches();
  const outcomes = Array.from({ length: 10 }, (_, i) =>
    lane.execute(movement({ from, to, amount: "1", lock: true, claim: { customerId, refId: String(i) } })),
  );
  await untilBlocked(db);
  await theirs.session.query("commit");
  await theirs.session.end();
  expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(
    Array.from({ length: 10 }, (_, i) => (i === 1 ? "exists" : "done")),
  );
  expect((await batches()) - before).toBe(1);
  expect(await availableUsd(db.database, [from, to])).toEqual(["91", "109"]);
  await lane.stop();
});

/** A session that has claimed a ref_id and not committed yet. */
async function claimed(customerId: Uuid, refId: string) {
  const [id, session] = [newId(), await openTransaction(db.owner)];
  await session.query("insert into claim (customer_id, kind, ref_id, id) values ($1, 'order', $2, $3)", [
    customerId,
    refId,
    id,
  ]);
  return { id, refId, session };
}

test("a client that resends many old ref_ids fails one batch, not one per ref_id", async () => {
  const [from, to] = newProfiles(2);
  await first.fund([from], "100");
  const customerId = newId();
  const send = ({ lane }: TestLane, i: number): Promise<Outcome<Uuid, InsufficientFunds, Claim>> =>
    lane.execute(movement({ from, to, amount: "1", claim: { customerId, refId: `${i}` } }));
  for (let i = 0; i < 20; i += 1) await send(first, i);
  const fresh = await startLane(db.another());
  for (let i = 0; i < 20; i += 1) expect((await send(fresh, i)).kind).toBe("exists");
  expect(fresh.events.filter(({ kind }) => kind === "batch_failed")).toHaveLength(1);
  // A client that repeats itself can still send something new.
  expect((await send(fresh, 20)).kind).toBe("done");
  await fresh.lane.stop();
  expect(await availableUsd(db.database, [from, to])).toEqual(["79", "21"]);
});

test("ref_ids of a client that has repeated one are looked up together, not one by one", async () => {
  const [from, to] = newProfiles(2);
  await first.fund([from], "1000");
  const customerId = newId();
  const send = (refId: string): Promise<Outcome<Uuid, InsufficientFunds, Claim>> =>
    first.lane.execute(movement({ from, to, amount: "1", claim: { customerId, refId } }));
  await send("0");
  const again = await send("0");
  const asked = vi.spyOn(db.database.commits, "rows");
  const outcomes = await Promise.all(Array.from({ length: 50 }, (_, i) => send(String(i + 1))));
  const lookUps = asked.mock.calls.filter(([text]) => text.includes("from claim"));
  asked.mockRestore();
  expect(again.kind).toBe("exists");
  expect(outcomes.map(({ kind }) => kind)).toEqual(Array(50).fill("done"));
  expect(lookUps).toHaveLength(1);
});
