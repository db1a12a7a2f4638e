/** Lanes whose cache cannot hold the rows of one batch: rows are read again, and each command takes effect once. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { must } from "../../src/std/assert.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { availableUsd, movement, newId, newProfiles, startLane } from "../support/movements.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

test.each([
  ["some fifty rows", 50_000],
  ["not even one row", 1],
])("a lane that caches %s serves a thousand accounts", async (_, cachedBytes) => {
  const { lane, fund } = await startLane(db.database, { bounds: { cachedBytes, cachedRefIds: 50 } });
  const profiles = newProfiles(1_000);
  await fund(profiles, "10");
  const sends = profiles.map((from, i) => {
    const to = must(profiles[(i + 1) % profiles.length], "a profile each");
    return lane.execute(movement({ from, to, amount: "4", claim: { customerId: newId(), refId: "once" } }));
  });
  const outcomes = await Promise.all(sends);
  expect(outcomes.filter(({ kind }) => kind !== "done")).toEqual([]);
  expect(new Set(await availableUsd(db.database, profiles))).toEqual(new Set(["10"]));
  await lane.stop();
  await expectBooksBalance(db.owner);
});

test("commands whose rows do not fit take effect once, although their batch was refused twice", async () => {
  const theirs = await startLane(db.another(), { holder: "theirs" });
  const database = db.another();
  const ours = await startLane(database, { holder: "ours", bounds: { cachedBytes: 22_000 } });
  const customerId = newId();
  const claim = (i: number) => ({ customerId, refId: `ref ${i}` });
  // Rows are read in the order of their ids.
  const pairs = Array.from({ length: 16 }, () => newProfiles(2));
  const [senders, receivers] = [pairs.map(([from]) => from), pairs.map(([, to]) => to)];
  await theirs.fund(senders, "10");
  const take = (i: number) => movement({ from: "world", to: newProfiles(1)[0], amount: "1", claim: claim(i) });
  const [early, late] = [take(14), take(15)];
  // The batch is refused for what they took before. Under lock it is refused for what they take behind our look-up; and
  // they open the receivers' accounts meanwhile, so that its rows fit no more.
  await theirs.lane.execute(early);
  const locking = vi.spyOn(database, "transaction").mockImplementationOnce((work) =>
    database.transaction(async (transaction) => {
      const value = await work(transaction);
      await theirs.lane.execute(late);
      await theirs.fund(receivers, "1");
      return value;
    }),
  );

  const outcomes = await Promise.all(
    pairs.map(([from, to], i) => ours.lane.execute(movement({ from, to, amount: "4", claim: claim(i) }))),
  );
  await until("the lane is through", () => ours.events.length > 1);
  expect(ours.events.map(({ kind }) => kind)).toEqual(["batch_failed", "recovered"]);
  expect(locking, "the transaction, itself again within it, and the second one").toHaveBeenCalledTimes(3);
  expect(outcomes.slice(14)).toEqual([early, late].map(({ claims }) => ({ kind: "exists", id: claims?.[0]?.id })));
  expect(outcomes.slice(0, 14).map(({ kind }) => kind)).toEqual(Array(14).fill("done"));
  expect(await availableUsd(db.database, senders)).toEqual([...Array(14).fill("6"), "10", "10"]);
  expect(await availableUsd(db.database, receivers)).toEqual([...Array(14).fill("5"), "1", "1"]);
  await Promise.all([ours.lane.stop(), theirs.lane.stop()]);
  await expectBooksBalance(db.owner);
});
