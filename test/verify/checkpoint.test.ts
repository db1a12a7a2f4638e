/** Books that were made again as a whole, or cut off, are sound in themselves: only what was noted outside tells. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { readHeads } from "../../src/ledger/stored-batches.ts";
import { systemClock } from "../../src/std/clock.ts";
import type { Checkpoint } from "../../src/verify/signed-checkpoint.ts";
import { findMissingHead, takeCheckpoint } from "../../src/verify/take-checkpoint.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { CHECKPOINT_TAMPERINGS } from "./checkpoint-tamperings.ts";
import { remakeChains } from "./recomputed-chains.ts";
import { makeSmallBooks, type SmallBooks } from "./small-ledger.ts";
import { findingsOf, tamper } from "./tampering.ts";
import { keepUntouched, restoreUntouched } from "./untouched.ts";

let db: TestDatabase;
let books: SmallBooks;
let checkpoint: Checkpoint;

beforeAll(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  await books.transfer("3");
  checkpoint = await takeCheckpoint(db.database, systemClock.now());
  await keepUntouched(db.owner);
});
afterAll(async () => {
  await books.close();
  await db.close();
});

test("the ledger contains its checkpoint, also after further batches", async () => {
  await books.transfer("4");
  expect(await findingsOf(db.database, books, { checkpoint: checkpoint.heads })).toEqual([]);
  expect(await findMissingHead(db.database, checkpoint.heads)).toBeUndefined();
});

test("recomputing the chains changes nothing if nothing was tampered with", async () => {
  await restoreUntouched(db.owner);
  await remakeChains(db.owner);
  expect(await readHeads(db.database)).toEqual(checkpoint.heads);
});

test.each(CHECKPOINT_TAMPERINGS)("$title", async ({ sql, remade, findings }) => {
  await restoreUntouched(db.owner);
  await tamper(db.owner, books, sql);
  if (remade) await remakeChains(db.owner);
  expect(await findingsOf(db.database, books)).toEqual([]);
  expect(await findingsOf(db.database, books, { checkpoint: checkpoint.heads })).toEqual(findings);
  // So a new checkpoint is not made over it either.
  expect(await findMissingHead(db.database, checkpoint.heads)).toEqual({ slot: 1, n: 44n });
});

test("an empty checkpoint is always contained", async () => {
  expect(await findMissingHead(db.database, [])).toBeUndefined();
});
