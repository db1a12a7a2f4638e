import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { makeSmallBooks, type SmallBooks } from "./small-books.ts";

let db: TestDatabase;
let books: SmallBooks;

beforeAll(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
});
afterAll(async () => {
  await books.close();
  await db.close();
});

test("books that nobody touched are sound in every check", async () => {
  const report = await verifyAll(db.database);
  expect(report.checks.flatMap(({ first }) => first ?? [])).toEqual([]);
  // A check that has looked at nothing has proved nothing.
  expect(report.checks.filter(({ examined }) => examined === 0)).toEqual([]);
  await expectBooksBalance(db.database);
});
