/**
 * Whoever can write to the tables as their owner can change anything. Each kind of change is made once, and what
 * `verify` says about it is compared word for word: the first finding of every check that found something.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAll } from "../../src/verify/verify.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { LEDGER_TAMPERINGS } from "./ledger-tamperings.ts";
import { RECORD_TAMPERINGS } from "./record-tamperings.ts";
import { makeSmallBooks, type SmallBooks } from "./small-books.ts";

let db: TestDatabase;
let books: SmallBooks;

/** Everything that is tampered with: first what refers to others. */
const TABLES =
  "account, batch, claim, conversion, execution, market_head, fee_tier, fee_schedule, market, orders, posting, profile, traded_day, transfer".split(
    ", ",
  );

beforeAll(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  await db.owner.rows("create schema untouched");
  for (const table of TABLES) await db.owner.rows(`create table untouched.${table} as table ${table}`);
});
afterAll(async () => {
  await books.close();
  await db.close();
});

test.each([...LEDGER_TAMPERINGS, ...RECORD_TAMPERINGS])("$title", async ({ sql, findings }) => {
  // Far quicker than truncating: the tables have few rows and many indexes.
  await db.owner.rows(TABLES.map((table) => `delete from ${table}`).join(";"));
  await db.owner.rows(
    TABLES.toReversed()
      .map((table) => `insert into ${table} table untouched.${table}`)
      .join(";"),
  );
  await db.owner.rows(withIds(sql));
  const { checks, sound } = await verifyAll(db.database);
  const found = checks.flatMap(({ first }) => first ?? []);
  expect(found.map(({ check, record, message }) => withNames(`${check}: ${record} ${message}`))).toEqual(findings);
  expect(sound).toBe(false);
});

function withIds(sql: string): string {
  const ids = new Map([...books.names].map(([id, name]) => [name, id]));
  return sql.replace(/:([a-z]+(?:\+1)?)/g, (_, name: string) => `'${ids.get(name)}'`);
}

function withNames(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{15,}/g, (id) => books.names.get(id) ?? id)
    .replace(/\b\d{4}-\d\d-\d\d\b/g, "today");
}
