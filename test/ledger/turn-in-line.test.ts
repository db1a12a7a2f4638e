/** What has waited in line for a row that another process held is decided when it has it, whatever else was changed meanwhile. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { BOUNDS } from "../../src/ledger/writer/lane-options.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { availableUsd, movement, newProfiles, startLane, type TestLane } from "../support/movements.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";

const HOLD = "select from account where owner_id = $1 for update";

let db: TestDatabase;
let ours: TestLane;
let theirs: TestLane;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());
beforeEach(async () => {
  const bounds = { leastLockWaitMs: BOUNDS.leastLockWaitMs };
  ours = await startLane(db.database, { holder: "ours", bounds });
  theirs = await startLane(db.another(), { holder: "theirs", bounds });
});
afterEach(async () => {
  await ours.lane.stop();
  await theirs.lane.stop();
  await expectBooksBalance(db.owner);
});

test("its turn is not lost to a row that another process changed while it waited, and that is in memory as it was", async () => {
  const [held, changed, other] = newProfiles(3);
  await ours.fund([held, changed, other], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query(HOLD, [held]);
  const waiting = ours.lane.execute(movement({ from: held, to: changed, amount: "1" }));
  await untilBlocked(db);
  // It has given up deciding on what is in memory when it waits in line. Another command knows the other row again then.
  await ours.lane.execute(movement({ from: other, to: changed, amount: "1" }));
  await theirs.fund([changed], "5");
  const behind = await openTransaction(db.owner);
  const isBehind = behind.query(HOLD, [held]);
  await untilBlocked(db, 2);
  await inTheWay.query("rollback");
  // Who waits for the row behind it finds what the turn made of it. Given up, the row would be as it was.
  await isBehind;
  const { rows } = await behind.query("select available from account where owner_id = $1", [held]);
  expect(rows).toEqual([{ available: "9" }]);
  await behind.query("rollback");
  expect((await waiting).kind).toBe("done");
  for (const session of [behind, inTheWay]) await session.end();
  expect(await availableUsd(db.database, [held, changed, other])).toEqual(["9", "17", "9"]);
});
