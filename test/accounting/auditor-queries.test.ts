/** docs/accounting.md tells auditors what to ask in SQL. Each query is run as it stands there. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { must } from "../../src/std/assert.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { makeSmallBooks, type SmallBooks } from "../verify/small-ledger.ts";
import { tamper } from "../verify/tampering.ts";
import { keepUntouched, restoreUntouched } from "../verify/untouched.ts";

const PAGE = new URL("../../docs/accounting.md", import.meta.url);

/** What each query answers on a sound ledger, and the rows that it answers besides when there is something to find. */
const QUERIES = [
  {
    title: "The trial balance.",
    sound: [
      "BTC | profiles | 9 | 1 | 0",
      "BTC | world | -10 | 0 | 0",
      "PYUSD | issuance | -500 | 0 | 0",
      "PYUSD | profiles | 450 | 0 | 50",
      "USD | fees | 64 | 0 | 0",
      "USD | profiles | 93284.75 | 7526.25 | 18",
      "USD | reserve | 600 | 0 | 0",
      "USD | world | -101493 | 0 | 0",
      "USDP | issuance | -100 | 0 | 0",
      "USDP | profiles | 100 | 0 | 0",
    ],
    tampering: "update account set available = available + 1 where owner_id = :shop",
    found: ["USD | profiles | 93285.75 | 7526.25 | 18"],
  },
  {
    title: "Journals that do not sum to zero.",
    sound: [],
    tampering: "update posting set amount = 26 where journal_id = :rent and amount > 0",
    found: ["rent | USD | 1"],
  },
  {
    title: "Accounts that are not the sum of their postings.",
    sound: [],
    tampering: "delete from posting where owner_id = :shop",
    found: ["shop | USD | 25 | 0 | 0 | null | null | null"],
  },
  {
    title: "Is every coin backed?",
    sound: ["PYUSD | 500 | 500 | 500", "USDP | 100 | 100 | 100"],
    tampering: "update account set available = available + 1 where house = 'issuance' and asset = 'USDP'",
    found: ["USDP | 99 | 100 | 100"],
  },
  {
    title: "Holds without what they are for.",
    sound: [],
    tampering: "update conversion set status = 'CANCELLED', cancelled_at = now(), version = 2 where id = :redeem",
    found: ["treasury | PYUSD | 0 | 50 | null | null"],
  },
  {
    title: "Transfers that were not posted as they say.",
    sound: [],
    tampering: "update transfer set amount = 26 where id = :rent",
    found: ["rent | treasury | -26 | USD", "rent | shop | 26 | USD"],
  },
  {
    title: "Deposits and withdrawals that have steps, and were not posted as they say.",
    sound: [],
    tampering: `update external_transfer set status = 'completed', reason = null where id = :returned;
                update external_transfer set status = 'requested', version = 1 where id = :arrived`,
    found: ["returned | completed | 6 | USD | null | null", "arrived | requested | 8 | USD | deposit | 8"],
  },
  {
    title: "Fees that no match explains.",
    sound: [],
    tampering: "update execution set commission = commission + 1 where commission > 0",
    found: ["USD | 64 | 65"],
  },
  {
    title: "What crossed the border",
    sound: [
      "today | WIRE_DEPOSIT | BTC | 1 | 10",
      "today | WIRE_DEPOSIT | PYUSD | 1 | 500",
      "today | WIRE_DEPOSIT | USD | 3 | 101008",
      "today | WIRE_WITHDRAWAL | USD | 2 | 15",
    ],
    tampering: "update transfer set amount = 9 where id = :payout",
    found: ["today | WIRE_WITHDRAWAL | USD | 2 | 14"],
  },
  {
    title: "What profiles had at some time",
    sound: [
      "Acme | treasury | treasury | BTC | 1 | 0 | 0",
      "Acme | treasury | treasury | PYUSD | 450 | 0 | 50",
      "Acme | treasury | treasury | USD | 72268.75 | 7526.25 | 0",
      "Acme | treasury | treasury | USDP | 100 | 0 | 0",
      "Acme | shop | shop | USD | 25 | 0 | 0",
      "Acme | desk | desk | BTC | 8 | 1 | 0",
      "Acme | vault | vault | USD | 20006 | 0 | 0",
      "Acme | depot | depot | USD | 985 | 0 | 18",
    ],
    tampering: "update posting set available = 26 where journal_id = :rent and owner_id = :shop",
    found: ["Acme | shop | shop | USD | 26 | 0 | 0"],
  },
] as const;

let db: TestDatabase;
let books: SmallBooks;
let queries: ReadonlyMap<string, string>;

beforeAll(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  await keepUntouched(db.owner);
  const page = await readFile(PAGE, "utf8");
  queries = new Map(
    [...page.matchAll(/\n\*\*(.*?)\*\*[^`]*(?:`[^`]+`[^`]*)*?\n```sql\n(.*?)```/gs)].map(([, title = "", sql = ""]) => [
      title,
      sql,
    ]),
  );
});
afterAll(async () => {
  await books.close();
  await db.close();
});

/** What the query that the page has under this title answers, with names for ids. */
async function answer(title: string): Promise<string[]> {
  const rows = await db.database.rows<object>(must(queries.get(title), `the page has a query "${title}"`));
  return rows.map((row) => Object.values(row).map(named).join(" | "));
}

function named(value: unknown): string {
  const text = String(value);
  return books.names.get(text) ?? text.replace(/^\d{4}-\d\d-\d\d$/, "today");
}

test("there is an expectation for every query of the page", () => {
  expect([...queries.keys()]).toEqual(QUERIES.map(({ title }) => title));
});

test.each(QUERIES)("$title", async ({ title, sound, tampering, found }) => {
  await restoreUntouched(db.owner);
  expect(await answer(title)).toEqual(sound);
  await tamper(db.owner, books, tampering);
  const changed = await answer(title);
  expect(changed.filter((row) => !(sound as readonly string[]).includes(row))).toEqual(found);
});
