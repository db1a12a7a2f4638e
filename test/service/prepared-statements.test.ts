/** Statements that are planned once are prepared on the connections of the pool. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Database } from "../../src/postgres/database.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const LOOK_UP = "select holder from lease where name = $1";

let db: TestDatabase;
let database: Database;
beforeAll(async () => {
  db = await testDatabase();
  database = new Database({ connection: db.connection, maxConnections: 1, onIdleError: () => undefined });
});
afterAll(async () => {
  await database.close();
  await db.close();
});

const prepared = () => database.rows("select statement, generic_plans, custom_plans from pg_prepared_statements");

test("a look-up is prepared once, and planned for any values after a few runs", async () => {
  await database.rows("insert into lease (name, holder, fence, expires_at) values ('one', 'test', 1, now())");
  for (let run = 0; run < 8; run += 1)
    expect(await database.rows(LOOK_UP, ["one"], "once")).toEqual([{ holder: "test" }]);
  expect(await prepared()).toEqual([{ statement: LOOK_UP, generic_plans: "3", custom_plans: "5" }]);
});

test("what is planned each time is not kept by the connection", async () => {
  await database.rows("select fence from lease where name = $1", ["one"]);
  expect(await prepared()).toHaveLength(1);
});

test("a look-up goes on when a migration adds a column to its table", async () => {
  await db.owner.rows("alter table lease add column note text");
  expect(await database.rows(LOOK_UP, ["one"], "once")).toEqual([{ holder: "test" }]);
});
