import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAll } from "../../src/verify/verify.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { makeSmallBooks } from "./small-books.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

test("books that were set back as a whole are sound in themselves: only heads that were kept outside tell", async () => {
  const books = await makeSmallBooks(db.database);
  await books.transfer("3");
  const { heads, hadCheckpoint } = await verifyAll(db.database);
  await books.close();
  const last = heads[0];
  expect(hadCheckpoint).toBe(false);
  expect(await verifyAll(db.database, { checkpoint: heads })).toMatchObject({ sound: true, hadCheckpoint: true });

  await db.owner.rows(
    `update account a set available = p.available, at = p.at, seq = p.seq
       from posting p join posting gone on gone.batch = ${last?.n}
         and gone.owner_id = p.owner_id and gone.asset = p.asset and gone.seq = p.seq + 1
      where a.owner_id = p.owner_id and a.asset = p.asset;
     delete from posting where batch = ${last?.n};
     delete from transfer where batch = ${last?.n};
     delete from batch where n = ${last?.n}`,
  );
  expect(await verifyAll(db.database)).toMatchObject({ sound: true });
  const { checks, sound } = await verifyAll(db.database, { checkpoint: heads });
  expect(sound).toBe(false);
  expect(checks.flatMap(({ first }) => first ?? [])).toEqual([
    { check: "chain", record: `batch 1/${last?.n}`, message: "is missing: the checkpoint has it" },
  ]);

  await db.owner.rows(
    `insert into batch (slot, n, hash, at, void, states, states_expected, refs, refs_expected, predecessor, in_time)
     select slot, n + 1, sha256(hash || convert_to('1/' || (n + 1) || '/void', 'UTF8')), at, true, 0, 0, 0, 0, 1, true
       from batch order by n desc limit 1`,
  );
  expect(await verifyAll(db.database)).toMatchObject({ sound: true });
  const rewritten = await verifyAll(db.database, { checkpoint: heads });
  expect(rewritten.checks.flatMap(({ first }) => first ?? [])).toEqual([
    { check: "chain", record: `batch 1/${last?.n}`, message: "is not the batch that the checkpoint has" },
  ]);
});
