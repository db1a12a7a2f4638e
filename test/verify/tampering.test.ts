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
import { allFindingsOf, findingsOf, tamper } from "./tampering.ts";
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

const OTHER_SIDE = "executions: execution treasury/match+1 does not match its counterpart";
const OTHER_ORDER =
  "executions: execution treasury/match+1 differs from its order in market, side, customer or annotations";

/** Two records share more fields than one tampering changes: here each alone. */
test.each([
  ["the amount of one side", "update execution set amount = amount + 1 where id = :match+1", OTHER_SIDE],
  ["the price of one side", "update execution set price = price + 1 where id = :match+1", OTHER_SIDE],
  ["the side of one side", "update execution set side = 'SELL' where id = :match+1", OTHER_SIDE],
  [
    "the time of one side",
    "update execution set executed_at = executed_at + interval '1 ms' where id = :match+1",
    OTHER_SIDE,
  ],
  ["the batch of one side", "update execution set batch = batch - 1 where id = :match+1", OTHER_SIDE],
  ["the slot of one side", "update execution set slot = 2 where id = :match+1", OTHER_SIDE],
  ["the market of both sides", "update execution set market = 'ETHUSD'", OTHER_ORDER],
  [
    "the sides of both",
    "update execution set side = case side when 'BUY' then 'SELL' else cast('BUY' as order_side) end",
    OTHER_ORDER,
  ],
  ["the customer of one side", "update execution set customer_id = gen_random_uuid() where id = :match+1", OTHER_ORDER],
  ["the account of one side", "update execution set account_id = 'other' where id = :match+1", OTHER_ORDER],
  [
    "a ref_id's order, for one that was placed while the first was open",
    `update orders set closed_at = created_at + interval '2 seconds' where id = :bid;
     update orders set ref_id = 'bid', created_at = (select created_at + interval '1 second' from orders where id = :bid)
      where id = :low;
     update claim set id = :low where ref_id = 'bid'`,
    'claims: order treasury/bid has the ref_id "bid", which another record holds',
  ],
  [
    "the legal hold of a ref_id",
    "update claim set id = :unblocked where kind = 'legal_hold' and ref_id = 'blocked'",
    'claims: claim acme/legal_hold/"blocked" refers to a record that is missing',
  ],
])("%s is exchanged", async (_name, sql, finding) => {
  await restoreUntouched(db.owner);
  await tamper(db.owner, books, sql);
  expect(await allFindingsOf(db.database, books)).toContain(finding);
});

/** Each is compared with the one before it, which may be on the page before. */
test.each([
  [
    "transfers of a customer have one ref_id",
    `drop index if exists transfer_ref_id_already_used;
     update transfer set ref_id = 'same' where customer_id = (select customer_id from transfer where id = :rent)`,
    "select cast(count(*) as integer) as records from transfer where ref_id = 'same'",
    /^claims: transfer .* has the ref_id "same", which transfer .* has too$/,
  ],
  [
    "postings of an account are earlier than the ones before",
    "update posting set at = at - version * interval '1 day' where owner_id = :treasury and asset = 'USD'",
    "select cast(max(version) as integer) as records from account where owner_id = :treasury and asset = 'USD'",
    /^accounts: posting treasury\/USD\/[0-9]+ is earlier than the posting before it$/,
  ],
])("%s: all but the first are found", async (_name, sql, counting, finding) => {
  await restoreUntouched(db.owner);
  await tamper(db.owner, books, sql);
  const [counted] = (await tamper(db.owner, books, counting)) as { readonly records: number }[];
  // More than fit on one page.
  expect(counted?.records).toBeGreaterThan(4);
  const found = (await allFindingsOf(db.database, books)).filter((text) => finding.test(text));
  expect(found).toHaveLength((counted?.records ?? 0) - 1);
});
