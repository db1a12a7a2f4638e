/** What a transaction reports, and what of it is stored. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Queryable } from "../../src/postgres/database.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

const add = (transaction: Queryable, name: string): Promise<unknown> =>
  transaction.rows("insert into lease (name, holder, fence, expires_at) values ($1, 'test', 1, now())", [name]);
const isStored = async (name: string): Promise<boolean> =>
  (await db.database.rows("select 1 from lease where name = $1", [name])).length === 1;

test("a transaction returns what its work does, and is stored", async () => {
  const value = await db.database.transaction(async (transaction) => {
    await add(transaction, "done");
    return 7;
  });
  expect([value, await isStored("done")]).toEqual([7, true]);
});

test("work that fails fails the transaction, and nothing is stored", async () => {
  const failed = db.database.transaction(async (transaction) => {
    await add(transaction, "failed");
    throw new RangeError("too long");
  });
  await expect(failed).rejects.toThrow("too long");
  expect(await isStored("failed")).toBe(false);
});

test("a failed statement that the work ignores makes a rollback of the commit, which is not reported as success", async () => {
  const ignoring = db.database.transaction(async (transaction) => {
    await add(transaction, "ignored");
    await transaction.rows("select 1 / 0").catch(() => undefined);
  });
  await expect(ignoring).rejects.toThrow("a transaction ends with COMMIT, but here it ended with ROLLBACK");
  expect(await isStored("ignored")).toBe(false);
});

test("once it is cut off, a database runs no statement and opens no connection any more", async () => {
  const dying = db.another();
  await add(dying, "before");
  const under = dying.transaction(async (transaction) => {
    await add(transaction, "under way");
    dying.cutOff();
  });
  await expect(under).rejects.toThrow();
  const tried = [
    () => add(dying, "after"),
    () => add(dying.commits, "after"),
    () => dying.transaction((transaction) => add(transaction, "after")),
    () => dying.connect({}),
  ];
  for (const attempt of tried)
    await expect(attempt()).rejects.toThrow("this process has closed its database connections");
  expect(await Promise.all(["before", "under way", "after"].map(isStored))).toEqual([true, false, false]);
});
