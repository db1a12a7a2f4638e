import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { must } from "../std/assert.ts";
import { APPEND_ONLY } from "../verify/lane-tables.ts";
import { Database } from "./database.ts";
import { findExcessPrivileges } from "./excess-privileges.ts";

const ROLE = `parbook_excess_${process.pid}`;
const OTHER = `${ROLE}_other`;
let db: TestDatabase;
let database: Database;
let name: string;

beforeAll(async () => {
  db = await testDatabase();
  name = must(db.ownerConnection.database, "a database");
});
afterAll(() => db.close());

/** A role with the service's privileges, and one more that it may become. */
beforeEach(async () => {
  await db.owner.rows(`create role ${ROLE} login password '${ROLE}'`);
  await db.owner.rows(`create role ${OTHER}`);
  await db.owner.rows(`grant ${inject("serviceRole")} to ${ROLE}`);
  const connection = { ...db.ownerConnection, user: ROLE, password: ROLE };
  database = new Database({ connection, maxConnections: 1, onIdleError: () => undefined });
});
afterEach(async () => {
  await database.close();
  await db.owner.rows(`alter database ${name} owner to ${inject("owner").user}`);
  for (const role of [ROLE, OTHER]) {
    await db.owner.rows(`reassign owned by ${role} to current_user`);
    await db.owner.rows(`drop owned by ${role}`);
    await db.owner.rows(`drop role ${role}`);
  }
});

const tables = (how: string): string[] =>
  APPEND_ONLY.map((table) => `the service's role can change or remove rows of ${table}: it ${how}`);
const posting = (how: string): string[] => tables(how).filter((line) => line.includes(" posting:"));
const ledger = (how: string): string => `the service's role can change the ledger: ${how}`;
const removes = (what: string): string =>
  `the service's role can remove every table: it owns the ${what} or can become its owner`;
const CREATES =
  "the service's role can create objects among the tables: revoke create on schema public from it and public";

test("the service's own privileges are not too many", async () => {
  expect(await findExcessPrivileges(database, APPEND_ONLY)).toEqual([]);
});

test.each([
  ["a column of a table", [`grant update (amount) on posting to ${ROLE}`], posting("was granted update")],
  ["rows of a table", [`grant delete, truncate on posting to ${ROLE}`], posting("was granted delete, truncate")],
  ["triggers", [`grant trigger on posting to ${ROLE}`], posting("was granted trigger")],
  [
    "a role that has to be become first",
    [`grant update on posting to ${OTHER}`, `alter role ${ROLE} noinherit`, `grant ${OTHER} to ${ROLE}`],
    posting("was granted update"),
  ],
  [
    "the owner of a table",
    [`alter table posting owner to ${OTHER}`, `grant ${OTHER} to ${ROLE}`],
    posting("owns the table or can become its owner"),
  ],
  ["writes to all data", [`grant pg_write_all_data to ${ROLE}`], tables("was granted delete, update")],
  ["CREATEROLE", [`alter role ${ROLE} createrole`], [ledger("it has CREATEROLE")]],
  [
    "CREATEROLE of another role",
    [`alter role ${OTHER} createrole`, `grant ${OTHER} to ${ROLE}`],
    [ledger(`it is a member of ${OTHER}, which has CREATEROLE`)],
  ],
  ...["pg_execute_server_program", "pg_write_server_files"].map((role): [string, string[], string[]] => [
    role,
    [`grant ${role} to ${ROLE}`],
    [ledger(`it is a member of ${role}, which has access to the server's programs or files`)],
  ]),
  ["the schema", [`grant create on schema public to ${OTHER}`, `grant ${OTHER} to ${ROLE}`], [CREATES]],
])("what is too much is named: %s", async (_, statements, findings) => {
  for (const statement of statements) await db.owner.rows(statement);
  expect(await findExcessPrivileges(database, APPEND_ONLY)).toEqual(findings);
});

test("an excess privilege is named: the database, whose owner owns the schema", async () => {
  await db.owner.rows(`alter database ${name} owner to ${ROLE}`);
  expect(await findExcessPrivileges(database, APPEND_ONLY)).toEqual([removes("database"), removes("schema public")]);
});

test("what is too much is named: another role that is a superuser", async () => {
  await db.owner.rows(`alter role ${OTHER} superuser`);
  await db.owner.rows(`grant ${OTHER} to ${ROLE}`);
  expect(await findExcessPrivileges(database, APPEND_ONLY)).toContain(
    ledger(`it is a member of ${OTHER}, which has SUPERUSER`),
  );
});
