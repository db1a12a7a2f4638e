/**
 * The owner of the tables can change anything in them. Each kind of change is made once, and what
 * `verify` says about it is compared word for word: the first finding of every check that found something. Pages of
 * two rows stand for the large ones of real books: a walk that ends after its first page finds nothing here.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { verifyAll } from "../../src/verify/verify.ts";
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

/** Pages that overlap would count rows twice, those with gaps would leave some out. */
test("of sound books every row is examined once, page by page", async () => {
  await restoreUntouched(db.owner);
  const { checks } = await verifyAll(db.database);
  const [counted] = await db.owner.rows<Record<string, number>>(
    `select (select count(*) from account)::integer as accounts,
            (select count(*) from account where house is null)::integer as pending,
            (select count(*) from account where house is null)::integer as trading,
            (select count(*) from orders)::integer as orders,
            (select count(*) from execution)::integer as executions,
            (select count(*) from customer_volume)::integer as "customer volumes",
            (select count(*) from profile)::integer as "incoming counts",
            (select count(ref_id) from transfer)::integer + (select count(ref_id) from conversion)::integer +
              (select count(ref_id) from orders)::integer + (select count(ref_id) from legal_hold)::integer as claims`,
  );
  const examined = checks.map(({ check, examined: rows }) => [check, rows] as const);
  expect(Object.fromEntries(examined.filter(([check]) => counted?.[check] !== undefined))).toEqual(counted);
});

const OTHER_SIDE = "executions: execution treasury/match+1 does not match its counterpart";
const OTHER_ORDER =
  "executions: execution treasury/match+1 differs from its order in market, side, customer or annotations";
const UNCOUNTED = "executions: execution treasury/match+1 is not counted in its customer's volume";
const UNPAID =
  "matches: match match requires -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1072.5 USD to available of treasury, 20006 USD to available of vault, but its journal posts -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20006 USD to available of vault";
const MISCOUNTED = "incoming counts: profile shop counts 1 incoming orders and conversions, but there are 0";

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
  [
    "a ref_id's claim, for one that is of another customer",
    "update claim set customer_id = :shop where ref_id = 'redeem'",
    'claims: conversion treasury/redeem has the ref_id "redeem", which is not claimed',
  ],
  [
    "a ref_id's claim, for one of another kind",
    "update claim set kind = 'order' where ref_id = 'redeem'",
    'claims: conversion treasury/redeem has the ref_id "redeem", which is not claimed',
  ],
  [
    "a ref_id's order, for one that was placed before, while another was placed after",
    "update claim set id = :offer where ref_id = 'bid'",
    'claims: order treasury/bid has the ref_id "bid", which another record holds',
  ],
  [
    "a ref_id's order, for a later one of another customer",
    "update claim set id = :low where ref_id = 'bid'; update orders set customer_id = :shop where id = :low",
    'claims: order treasury/bid has the ref_id "bid", which another record holds',
  ],
  [
    "a ref_id's order, for one that was placed in the moment in which the first was closed",
    `update claim set id = :low where ref_id = 'bid';
     update orders set created_at = (select closed_at from orders where id = :bid) where id = :low`,
    'claims: order treasury/bid has the ref_id "bid", which another record holds',
  ],
  [
    "the conversion of a ref_id",
    "update claim set id = :mint where ref_id = 'redeem'",
    'claims: claim acme/conversion/"redeem" refers to a record that is missing',
  ],
  [
    "the customer of a conversion with a ref_id",
    "update conversion set customer_id = :shop where id = :redeem",
    'claims: claim acme/conversion/"redeem" refers to a record that is missing',
  ],
  [
    "the order of a ref_id",
    "update claim set id = :low where ref_id = 'bid'",
    'claims: claim acme/order/"bid" refers to a record that is missing',
  ],
  [
    "the customer of an order with a ref_id",
    "update orders set customer_id = :shop where id = :bid",
    'claims: claim acme/order/"bid" refers to a record that is missing',
  ],
  [
    "the customer of a legal hold with a ref_id",
    "update legal_hold set customer_id = :shop where id = :blocked",
    'claims: claim acme/legal_hold/"blocked" refers to a record that is missing',
  ],
  [
    "the customer of a nickname",
    "update claim set customer_id = :vault where kind = 'nickname' and id = :shop",
    'claims: claim vault/nickname/"shop" refers to a record that is missing',
  ],
  [
    "the transfer of an opening",
    "insert into claim select customer_id, 'opening', 'first', :mint from claim where ref_id = 'redeem'",
    'claims: claim acme/opening/"first" refers to a record that is missing',
  ],
  [
    "the customer of an opening",
    "insert into claim values (:shop, 'opening', 'first', :rent)",
    'claims: claim shop/opening/"first" refers to a record that is missing',
  ],
  ["the customer of a volume", "update customer_volume set customer_id = :shop", UNCOUNTED],
  ["the market of a volume", "update customer_volume set market = 'ETHUSD'", UNCOUNTED],
  [
    "the profile of one side",
    "update execution set profile_id = :shop where id = :match+1",
    "executions: execution shop/match+1 has no order",
  ],
  [
    "the market of one side",
    "update execution set market = 'ETHUSD' where id = :match",
    "executions: execution treasury/match+1 has no counterpart",
  ],
  [
    "who pays and who is paid, of both sides,",
    `alter table execution drop constraint if exists rebate_of_maker_only, drop constraint if exists commission_of_taker_only;
     update execution set commission = case id when :match then 7 else 0 end, rebate = case id when :match then 0 else 6 end`,
    "executions: execution treasury/match+1 has a rebate of 6, but 0 is due",
  ],
  [
    "a customer without executions, for one with a volume,",
    "insert into customer_volume select :shop, day, market, gross, version, slot, batch from customer_volume",
    "customer volumes: customer volume shop/today/BTCUSD is 40000, but its executions sum to 0",
  ],
  [
    "a day without executions, for one with a volume,",
    "insert into customer_volume select customer_id, day - 1, market, gross, version, slot, batch from customer_volume",
    "customer volumes: customer volume acme/today/BTCUSD is 40000, but its executions sum to 0",
  ],
  [
    "a market without executions, for one with a volume,",
    "insert into customer_volume select customer_id, day, 'ETHUSD', gross, version, slot, batch from customer_volume",
    "customer volumes: customer volume acme/today/ETHUSD is 40000, but its executions sum to 0",
  ],
  [
    "the market in which an order is on the book",
    "update booked_order set market = 'ETHUSD' where id = :offer",
    "orders: order desk/offer is OPEN, but has no row in the table of such orders",
  ],
  [
    "the order that is on the book",
    "update booked_order set id = :acme where id = :offer",
    "orders: order desk/offer is OPEN, but has no row in the table of such orders",
  ],
  [
    "the order that is on the book, for none,",
    "update booked_order set id = :acme where id = :offer",
    "orders: booked_order BTCUSD/acme has no order of such a status",
  ],
  [
    "the profile of an order on the book",
    "update booked_order set profile_id = :shop where id = :offer",
    "orders: booked_order BTCUSD/offer has no order of such a status",
  ],
  [
    "the hold of an account, for that of a closed order,",
    `alter table orders drop constraint if exists closed_has_time_and_holds_nothing;
     update orders set held = 5 where id = :bid;
     update account set trading = trading + 5, available = available - 5 where owner_id = :treasury and asset = 'USD'`,
    "trading: account treasury/USD has 7531.25 trading, but 7526.25 is held",
  ],
  [
    "the customer of a withdrawal that is sent",
    "update transfer set customer_id = :shop where id = :sent",
    "pending: account depot/USD has 18 pending, but 11 is held",
  ],
  [
    "the slot of a journal",
    "update posting set slot = 2 where journal_id = :rent",
    "append-only rows: posting has 2 rows of batch 2/10, which does not exist",
  ],
  [
    "a profile's count, for that of a closed order,",
    `update orders set recipient_profile_id = :shop where id = :bid;
     update profile set incoming_count = 1 where id = :shop`,
    MISCOUNTED,
  ],
  [
    "a profile's count, for that of its own order,",
    `update orders set profile_id = :shop, recipient_profile_id = :shop where id = :low;
     update profile set incoming_count = 1 where id = :shop`,
    MISCOUNTED,
  ],
  [
    "a profile's count, for that of a closed conversion,",
    `update conversion set recipient_profile_id = :shop where id = :mint;
     update profile set incoming_count = 1 where id = :shop`,
    MISCOUNTED,
  ],
  [
    "a profile's count, for that of its own conversion,",
    `update conversion set profile_id = :shop, recipient_profile_id = :shop where id = :redeem;
     update profile set incoming_count = 1 where id = :shop`,
    MISCOUNTED,
  ],
  [
    "the commission, in a ledger in which the profile of the maker has another execution,",
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select profile_id, 2, customer_id, order_id, market, side, 1, 1, 0, 0, executed_at, slot, batch - 1
       from execution where id = :match;
     update execution set commission = 1 where id = :match+1`,
    UNPAID,
  ],
  [
    "the commission, in a ledger in which another profile has an execution of the maker's id,",
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select :treasury, id, customer_id, :low, market, side, 1, 1, 0, 0, executed_at, slot, batch - 1
       from execution where id = :match;
     update execution set commission = 1 where id = :match+1`,
    UNPAID,
  ],
])("%s is exchanged", async (_name, sql, finding) => {
  await restoreUntouched(db.owner);
  await tamper(db.owner, books, sql);
  expect(await allFindingsOf(db.database, books)).toContain(finding);
});

test("a ref_id may belong to an order that was placed after the first was closed", async () => {
  await restoreUntouched(db.owner);
  await tamper(
    db.owner,
    books,
    "update orders set ref_id = 'bid' where id = :low; update claim set id = :low where ref_id = 'bid'",
  );
  const found = await allFindingsOf(db.database, books);
  expect(found.filter((finding) => finding.startsWith("claims:"))).toEqual([]);
});

test("what one batch has from a later version excuses no other batch", async () => {
  await restoreUntouched(db.owner);
  await db.owner.rows("alter table transfer add column later text");
  await tamper(
    db.owner,
    books,
    `update transfer set later = 'x', asset = 'EUR' where id = :rent;
     update transfer set later = 'x', slot = 2, batch = 9 where id = :coins;
     update transfer set asset = 'EUR' where id = :payout`,
  );
  const found = await allFindingsOf(db.database, books);
  await db.owner.rows("alter table transfer drop column later");
  expect(found.filter((finding) => /^(chain|known columns): batch/.test(finding))).toEqual([
    "chain: batch 1/7 does not match its hash: the batch, its rows or its predecessor were changed",
    "chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed",
    "known columns: batch 1/10 holds transfer.later, which this version does not know: if a later version added it, verify with that version; otherwise it was added by hand",
  ]);
});

test("what a changing row has from a later version excuses that row, and no other", async () => {
  await restoreUntouched(db.owner);
  await db.owner.rows("alter table profile add column later text");
  await tamper(
    db.owner,
    books,
    `update profile set later = 'x', incoming_count = 1 where id = :shop;
     update profile set incoming_count = 0 where id = :vault`,
  );
  const found = await allFindingsOf(db.database, books);
  await db.owner.rows("alter table profile drop column later");
  expect(found.filter((finding) => /^(changing rows|known columns): profile/.test(finding))).toEqual([
    "known columns: profile has values in later, which this version does not know: if a later version added it, verify with that version; otherwise it was added by hand",
    "changing rows: profile vault does not match batch 1/16, which it refers to",
  ]);
});

test("a column that was dropped is none, and a table of another schema is not the ledger's", async () => {
  await restoreUntouched(db.owner);
  await db.owner.rows("alter table transfer add column later text");
  await db.owner.rows("alter table transfer drop column later");
  await db.owner.rows("create schema elsewhere create table note (batch bigint)");
  expect(await allFindingsOf(db.database, books)).toEqual([]);
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
