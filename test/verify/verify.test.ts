import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { makeSmallBooks, type SmallBooks } from "./small-ledger.ts";

let db: TestDatabase;
let books: SmallBooks;

beforeAll(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  await books.publish();
});
afterAll(async () => {
  await books.close();
  await db.close();
});

test("an untampered ledger is sound in every check", async () => {
  const report = await verifyAll(db.database);
  expect(report.checks.flatMap(({ first }) => first ?? [])).toEqual([]);
  // A check that has looked at nothing has proved nothing.
  expect(report.checks.filter(({ examined }) => examined === 0)).toEqual([]);
  await expectBooksBalance(db.database);
});

// The slower the machine, the more has been moved when a round begins: so it has time.
test("verify finds nothing while money moves at full speed", async () => {
  let moving = true;
  let moved = 0;
  const move = async (step: () => Promise<void>): Promise<void> => {
    while (moving) {
      await step();
      moved += 1;
    }
  };
  const movers = [
    ...Array.from({ length: 40 }, () => move(() => books.transfer("0.01"))),
    ...Array.from({ length: 20 }, () => move(() => books.convert())),
  ];
  for (let round = 0; round < 3; round += 1) {
    const before = moved;
    const { checks } = await verifyAll(db.database);
    expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
    expect(moved - before).toBeGreaterThan(10);
  }
  moving = false;
  await Promise.all(movers);
  await expectBooksBalance(db.database);
});
