/** What a transaction reports, and what of it is stored. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Database, type Queryable } from "../../src/postgres/database.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

const ADD = "insert into lease (name, holder, fence, expires_at) values ($1, 'test', 1, now())";
const add = (transaction: Queryable, name: string): Promise<unknown> => transaction.rows(ADD, [name]);
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

test("with the statement that a transaction is committed with all is stored, or nothing", async () => {
  const withLast = (first: string) =>
    db.database.transaction(async (transaction) => {
      transaction.commitWith(ADD, ["last"]);
      await add(transaction, first);
    });
  await withLast("one");
  await expect(withLast("two")).rejects.toMatchObject({ code: "23505", constraint: "lease_pkey" });
  expect(await Promise.all(["one", "last", "two"].map(isStored))).toEqual([true, true, false]);
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

test("a transaction that may take any time is ended by no time-out, and any other by each", async () => {
  const database = new Database({ ...poolOf(1), responseMs: 100 });
  const slow = (transaction: Queryable) =>
    transaction.rows("select current_setting('statement_timeout') as timeout from pg_sleep(0.4)");
  expect(await database.transaction(slow, "any time")).toEqual([{ timeout: "0" }]);
  await expect(database.transaction(slow)).rejects.toThrow("the database cannot be reached");
  await expect(database.rows("select pg_sleep(0.4)")).rejects.toThrow();
  await database.close();
});

const poolOf = (maxConnections: number, name = "a pool") => ({
  connection: { ...db.connection, application_name: name },
  maxConnections,
  onIdleError: () => undefined,
});

test("connections of both kinds are reported, and none is left when the database is closed", async () => {
  const name = "both kinds";
  const database = new Database(poolOf(1, name));
  expect(database.report()).toEqual({ open: 0, idle: 0, waiting: 0 });
  let late: Promise<unknown> | undefined;
  await database.transaction(async (transaction) => {
    await transaction.rows("select 1");
    late = database.rows("select 1");
    await database.commits.rows("select 1");
    expect(database.report()).toEqual({ open: 2, idle: 1, waiting: 1 });
  });
  await late;
  expect(database.report()).toEqual({ open: 2, idle: 2, waiting: 0 });
  await database.close();
  const sessions = "select from pg_stat_activity where application_name = $1";
  await until("no session is left", async () => (await db.owner.rows(sessions, [name])).length === 0);
});

test("statements that commit have six connections of their own, so that reads are left the others", async () => {
  const database = new Database(poolOf(20));
  const commits = Array.from({ length: 8 }, () => database.commits.rows("select pg_sleep(0.3)"));
  await until("six are open", () => database.report().open === 6 && database.report().waiting === 2);
  expect(await database.rows("select 1 as one")).toEqual([{ one: 1 }]);
  expect(database.report()).toEqual({ open: 7, idle: 1, waiting: 2 });
  await Promise.all(commits);
  await database.close();
});
