/**
 * The owner of the tables can change anything in them. Each kind of change is made once, and what
 * `verify` says about it is compared word for word: the first finding of every check that found something. Pages of
 * two rows stand for the large ones of real books: a walk that ends after its first page finds nothing here.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { FURTHER_TAMPERINGS } from "./further-tamperings.ts";
import { LEDGER_TAMPERINGS } from "./ledger-tamperings.ts";
import { RECORD_TAMPERINGS } from "./record-tamperings.ts";
import { makeSmallBooks, type SmallBooks } from "./small-ledger.ts";
import { findingsOf, tamper } from "./tampering.ts";
import { keepUntouched, restoreUntouched } from "./untouched.ts";

vi.mock("../../src/ledger/tables.ts", async (original) => ({ ...(await original<object>()), PAGE: 2 }));

let db: TestDatabase;
let books: SmallBooks;

beforeAll(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  await keepUntouched(db.owner);
});
afterAll(async () => {
  await books.close();
  await db.close();
});

test.each([...LEDGER_TAMPERINGS, ...RECORD_TAMPERINGS, ...FURTHER_TAMPERINGS])("$title", async ({ sql, findings }) => {
  await restoreUntouched(db.owner);
  await tamper(db.owner, books, sql);
  expect(await findingsOf(db.database, books)).toEqual(findings);
  expect(findings).not.toEqual([]);
});
