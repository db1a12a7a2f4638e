import { afterAll, beforeAll, expect, test } from "vitest";
import { Database, type Queryable } from "../../src/postgres/database.ts";
import type { Instant } from "../../src/std/clock.ts";
import { lowestId } from "../../src/std/id.ts";
import { examine } from "../../src/verify/check.ts";
import { reserveExamination } from "../../src/verify/ledger/reserve.ts";
import { findTimesAhead } from "../../src/verify/times-ahead.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";
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

test("the sums over all accounts may take longer than a response is waited for elsewhere", async () => {
  const database = new Database({
    connection: db.connection,
    maxConnections: 1,
    onIdleError: () => undefined,
    responseMs: 300,
  });
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("lock table account");
  const verified = examine(database, [reserveExamination]);
  await untilBlocked(db);
  await until("it has waited for longer", async () => {
    const [row] = await db.owner.rows<{ is_longer: boolean }>(
      `select clock_timestamp() - query_start > interval '500 milliseconds' as is_longer
         from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'`,
      [db.connection.database],
    );
    return row?.is_longer ?? true;
  });
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect(await verified).toMatchObject([{ check: "reserve", broken: 0 }]);
  await database.close();
  await expectBooksBalance(db.database);
});

test("times that are more than two minutes ahead are noted", async () => {
  const undone = new Error("nothing of this stays");
  const trying = db.owner.transaction(async (transaction) => {
    const notes = async (seconds: number) => {
      await transaction.rows(
        "update account set at = now() + $1 * interval '1 s' where (owner_id, asset) = (select owner_id, asset from account limit 1)",
        [seconds],
      );
      await transaction.rows(
        `insert into conversion (profile_id, id, customer_id, source_asset, target_asset, amount, status, created_at,
                                 updated_at, version, slot, batch)
         select gen_random_uuid(), $1, id, 'USD', 'USDG', 1, 'CREATED', now(), now(), 1, 1, 1 from customer limit 1`,
        [lowestId((Date.now() + seconds * 1_000) as Instant)],
      );
      return findTimesAhead(transaction as Queryable as Database);
    };
    expect(await notes(90)).toEqual([]);
    const ahead = (what: string) =>
      expect.stringMatching(`^${what} times in the future, up to \\S+Z, 1\\.0 h from now: `);
    expect(await notes(3_600)).toEqual(["1 accounts have", "conversions have"].map(ahead));
    throw undone;
  });
  await expect(trying).rejects.toMatchObject({ cause: undone });
});
