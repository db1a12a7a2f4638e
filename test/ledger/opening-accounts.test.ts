/** Two lanes that open the same account. */
import { expect, onTestFinished, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { testDatabase } from "../support/database.ts";
import { availableUsd, movement, newProfiles, startLane } from "../support/movements.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";

test("of two lanes that open one account at once the second is refused for it, goes on, and finds it there", async () => {
  const db = await testDatabase();
  onTestFinished(() => db.close());
  const ours = await startLane(db.database, { holder: "ours" });
  const theirs = await startLane(db.another(), { holder: "theirs" });
  const [to] = newProfiles(1);
  const inTheWay = await openTransaction(db.owner);
  // Accounts can be read, and nothing can be written to them yet.
  await inTheWay.query("lock table account in share mode");
  const lanes = [ours, theirs];
  const outcomes = lanes.map(({ lane }) => lane.execute(movement({ from: "world", to, amount: "1" })));
  await untilBlocked(db, 2);
  await inTheWay.query("commit");
  await inTheWay.end();
  expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(["done", "done"]);
  const told = () => lanes.flatMap(({ events }) => events);
  await until("it has recovered", () => told().some(({ kind }) => kind === "recovered"));
  expect(told()).toMatchObject([
    { kind: "batch_failed", isContention: true, error: { constraint: "rows_changed_meanwhile" } },
    { kind: "recovered", committed: 0, again: 1, voided: 0 },
  ]);
  expect(await availableUsd(db.database, [to])).toEqual(["2"]);
  for (const { lane } of lanes) await lane.stop();
  await expectBooksBalance(db.owner);
});
