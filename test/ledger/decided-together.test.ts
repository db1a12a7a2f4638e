/** While a batch locks its rows nothing else is decided: so whoever waits for a turn meanwhile is decided with it. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { CommandQueue } from "../../src/ledger/writer/command-queue.ts";
import type { Uuid } from "../../src/std/id.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { availableUsd, movement, newId, newProfiles, startLane, type TestLane } from "../support/movements.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";

let db: TestDatabase;
let ours: TestLane;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());
beforeEach(async () => {
  ours = await startLane(db.database, { bounds: { leastLockWaitMs: 1_000 } });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await ours.lane.stop();
  await expectBooksBalance(db.owner);
});

/** What a lane answers once a batch in flight, which waits for a row until this is called, has committed. */
async function blockLane(): Promise<() => Promise<void>> {
  const [held, other] = newProfiles(2);
  await ours.fund([held, other], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select from account where owner_id = $1 for update", [held]);
  const inFlight = ours.lane.execute(movement({ from: held, to: other, amount: "1" }));
  await untilBlocked(db);
  return async () => {
    await inTheWay.query("rollback");
    await inTheWay.end();
    expect((await inFlight).kind).toBe("done");
  };
}

/** A loop without an end would let no timer end the test. */
function endLoopOfTakes(): void {
  const take = CommandQueue.prototype.take;
  const spy = vi.spyOn(CommandQueue.prototype, "take").mockImplementation(function (this: CommandQueue, ...asked) {
    if (spy.mock.calls.length > 1_000) throw new Error("it takes from the queue without an end");
    return take.apply(this, asked);
  });
}

async function batchOf(
  journal: Promise<{ readonly kind: string; readonly value?: Uuid }>,
): Promise<string | undefined> {
  const { value } = await journal;
  const [posting] = await db.owner.rows<{ batch: string }>("select batch from posting where journal_id = $1", [value]);
  return posting?.batch;
}

test("who waits for a turn is decided in the batch of those whose rows are locked first", async () => {
  const [ann, bob, eve, joe] = newProfiles(4);
  await ours.fund([ann, bob, eve, joe], "10");
  const unblock = await blockLane();
  const locked = ours.lane.execute(movement({ from: ann, to: bob, amount: "1", lock: true }));
  const other = ours.lane.execute(movement({ from: eve, to: joe, amount: "2" }));
  await unblock();
  expect(await batchOf(other as never)).toBe(await batchOf(locked as never));
  expect(await availableUsd(db.database, [ann, bob, eve, joe])).toEqual(["9", "11", "8", "12"]);
});

test("if one of these has to wait for what another process claims, those whose rows were locked are decided without it", async () => {
  const [ann, bob, eve, joe] = newProfiles(4);
  await ours.fund([ann, bob, eve, joe], "10");
  const unblock = await blockLane();
  const claim = { customerId: newId(), refId: "held" };
  const claiming = await openTransaction(db.owner);
  await claiming.query("insert into claim (customer_id, kind, ref_id, id) values ($1, 'order', $2, $3)", [
    claim.customerId,
    claim.refId,
    newId(),
  ]);
  const locked = ours.lane.execute(movement({ from: ann, to: bob, amount: "1", lock: true }));
  const other = ours.lane.execute(movement({ from: eve, to: joe, amount: "2", claim }));
  await unblock();
  expect((await locked).kind).toBe("done");
  expect(await availableUsd(db.database, [ann, bob, eve, joe])).toEqual(["9", "11", "10", "10"]);
  await claiming.query("rollback");
  await claiming.end();
  expect((await other).kind).toBe("done");
  expect(await availableUsd(db.database, [eve, joe])).toEqual(["8", "12"]);
});

test("if those whose rows were locked have to wait for what another process claims, the others are decided without them", async () => {
  const [ann, bob, eve, joe] = newProfiles(4);
  await ours.fund([ann, bob, eve, joe], "10");
  const unblock = await blockLane();
  const claim = { customerId: newId(), refId: "held too" };
  const claiming = await openTransaction(db.owner);
  await claiming.query("insert into claim (customer_id, kind, ref_id, id) values ($1, 'order', $2, $3)", [
    claim.customerId,
    claim.refId,
    newId(),
  ]);
  const locked = ours.lane.execute(movement({ from: ann, to: bob, amount: "1", lock: true, claim }));
  const others = Array.from({ length: 3 }, () => ours.lane.execute(movement({ from: eve, to: joe, amount: "2" })));
  await unblock();
  expect((await Promise.all(others)).map(({ kind }) => kind)).toEqual(["done", "done", "done"]);
  expect(await availableUsd(db.database, [ann, bob, eve, joe])).toEqual(["10", "10", "4", "16"]);
  await claiming.query("rollback");
  await claiming.end();
  expect((await locked).kind).toBe("done");
  expect(await availableUsd(db.database, [ann, bob])).toEqual(["9", "11"]);
});

test("what is heavy waits, without turning in circles, for what is heavy and in flight", async () => {
  const [ann, bob] = newProfiles(2);
  await ours.fund([ann, bob], "10");
  endLoopOfTakes();
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select from account where owner_id = $1 for update", [ann]);
  const heavy = () => ours.lane.execute({ ...movement({ from: ann, to: bob, amount: "1" }), weight: 300 });
  const first = heavy();
  await untilBlocked(db);
  const second = heavy();
  await untilBlocked(db);
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect([(await first).kind, (await second).kind]).toEqual(["done", "done"]);
  expect(await availableUsd(db.database, [ann, bob])).toEqual(["8", "12"]);
});
