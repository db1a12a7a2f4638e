import { afterAll, beforeAll, expect, test } from "vitest";
import { accountKey, entry, journal, postingTable } from "../../src/ledger/accounts.ts";
import { accept, type Command } from "../../src/ledger/decision.ts";
import { PAGE } from "../../src/ledger/tables.ts";
import { amountOf, negative } from "../../src/money/amount.ts";
import { USD } from "../../src/money/asset.ts";
import { examine } from "../../src/verify/check.ts";
import { eventsExamination } from "../../src/verify/events/events.ts";
import { executionsExamination } from "../../src/verify/exchange/executions.ts";
import { tradingExamination } from "../../src/verify/exchange/orders.ts";
import { accountsExamination } from "../../src/verify/ledger/accounts.ts";
import { chainExamination } from "../../src/verify/ledger/chain.ts";
import { incomingCountExamination } from "../../src/verify/ledger/incoming-counts.ts";
import { journalCheck } from "../../src/verify/ledger/journals.ts";
import { recordsExamination } from "../../src/verify/ledger/rows-without-batch.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId, newProfile, startLane, TESTER } from "../support/movements.ts";
import { watchStatements } from "../support/statements.ts";

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

test("the counterpart of each execution is found by an index, however many there are", async () => {
  const pairs = 4_000;
  await db.owner.rows(
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select $1, n, $1, $1, 'BTCUSD', (case n % 2 when 0 then 'BUY' else 'SELL' end)::order_side, 1, 1, 0, 0, now(), 1, 1
       from generate_series(2, $2::bigint) as n`,
    [newProfile(), 2 * pairs + 1],
  );
  await db.owner.rows("analyze execution");
  const plans: string[] = [];
  const end = watchStatements(db.database, async (database, text, values) => {
    plans.push(JSON.stringify(await database.rows(`explain ${text}`, values)));
  });
  const [examined] = await examine(db.database, [executionsExamination]);
  end();
  expect(plans).not.toEqual([]);
  expect(examined).toMatchObject({ check: "executions", examined: 2 * pairs });
  for (const plan of plans) {
    const used = [...plan.matchAll(/using (execution\w*)/g)].map(([, index]) => index);
    expect(new Set(used)).toEqual(new Set(["execution_pkey", "execution_maker", "execution_match"]));
    expect(plan).not.toContain("Scan on execution ");
  }
});

test("no statement reads all events, nor does one look for open orders among all that ever were", async () => {
  await db.owner.rows(
    `insert into event (customer_id, first_number, cut, at, object_id, count, entries)
     select $1, n, 1, now(), null, 1, json_build_array(repeat('x', 500)) from generate_series(1, 20000) n`,
    [newProfile()],
  );
  await db.owner.rows("analyze event");
  const plans: string[] = [];
  const end = watchStatements(db.database, async (database, text, values) => {
    if (text.startsWith("set ")) return;
    plans.push(JSON.stringify(await database.rows(`explain ${text}`, values)));
  });
  await examine(db.database, [eventsExamination, tradingExamination, incomingCountExamination]);
  end();
  expect(plans.filter((plan) => plan.includes("Tid Range Scan on event")).length).toBeGreaterThan(1);
  expect(
    plans.filter((plan) => /Seq Scan on (event|orders)\b|Index Scan using event_pkey on event"/.test(plan)),
  ).toEqual([]);
});
