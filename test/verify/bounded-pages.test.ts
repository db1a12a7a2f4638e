import { afterAll, beforeAll, expect, test } from "vitest";
import { accountKey, entry, journal, postingTable } from "../../src/ledger/accounts.ts";
import { accept, type Command } from "../../src/ledger/decision.ts";
import { PAGE } from "../../src/ledger/tables.ts";
import { amountOf, negative } from "../../src/money/amount.ts";
import { USD } from "../../src/money/asset.ts";
import { examine } from "../../src/verify/check.ts";
import { accountsExamination } from "../../src/verify/ledger/accounts.ts";
import { chainExamination } from "../../src/verify/ledger/chain.ts";
import { journalCheck } from "../../src/verify/ledger/journals.ts";
import { recordsExamination } from "../../src/verify/ledger/rows-without-batch.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId, newProfile, startLane, TESTER } from "../support/movements.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

/** One journal of so many postings to one account, and as many to the world's. */
function manyPostings(count: number): Command<undefined, never> {
  const [profile, amount] = [newProfile(), amountOf("1")];
  const entries = Array.from({ length: count }, () => [
    entry("world", USD, negative(amount)),
    entry(profile, USD, amount),
  ]);
  return {
    queueKey: "house",
    caller: TESTER,
    dependsOn: [accountKey("world", USD), accountKey(profile, USD)],
    decide: () => accept(undefined, { journals: [journal(newId(), "deposit", entries.flat())] }),
  };
}

test("no page of a scan grows with the ledger, nor with one account's history", async () => {
  const { lane } = await startLane(db.database);
  // After many small batches large ones come unexpected.
  for (let i = 0; i < 60; i += 1) await lane.execute(manyPostings(1));
  for (let i = 0; i < 20; i += 1) await lane.execute(manyPostings(500));
  await lane.stop();
  const pages: number[] = [];
  const rows = db.database.rows.bind(db.database);
  db.database.rows = async <Row>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
    const page = await rows<Row>(text, values);
    pages.push(page.length);
    return page;
  };
  const examinations = [
    chainExamination({ records: [postingTable], states: [] }, [journalCheck()]),
    recordsExamination([postingTable]),
    accountsExamination,
  ];
  const results = await examine(db.database, examinations);
  db.database.rows = rows;
  expect(results).toEqual([
    { check: "chain", examined: 81, broken: 0, first: undefined },
    { check: "journals", examined: 80, broken: 0, first: undefined },
    { check: "append-only rows", examined: 20_120, broken: 0, first: undefined },
    { check: "accounts", examined: 81, broken: 0, first: undefined },
  ]);
  expect(Math.max(...pages)).toBeLessThanOrEqual(2 * PAGE);
  await expectBooksBalance(db.database);
});
