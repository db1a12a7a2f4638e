/** What a page of transfer records costs, in pages of the database that are touched, on a table of 100,000 rows. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import type { Instant } from "../../../src/std/clock.ts";
import type { Uuid } from "../../../src/std/id.ts";
import { listTransfers, type RecordPosition, type TransferFilter } from "../../../src/transfers/store.ts";
import { costOf } from "../../support/cost.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { casesOf } from "../../support/depth-cases.ts";
import { fill } from "../../support/filling.ts";

const ROWS = 100_000;
const uuid = <Id extends string>(kind: string, n: number): Id =>
  `${kind}-0000-7000-8000-${n.toString(16).padStart(12, "0")}` as Id;
const idOf = (n: number) => uuid<Uuid>("00000000", 2 * n);
/**
 * As the rows below are made: a big customer sends between its profiles, some of which it uses often; only of old it was
 * paid by another, used the profile 1, and named the account "old". The small customer is paid by the big one.
 */
const BIG = uuid<Uuid>("11111111", 0) as Uuid as CustomerId;
const SMALL = uuid<Uuid>("11111111", 1) as Uuid as CustomerId;

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  const [customer, profile] = ["11111111", "22222222"].map(
    (kind) => (n: string) => `('${kind}-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`,
  ) as [(n: string) => string, (n: string) => string];
  await fill(db.owner, ["transfer", "external_transfer"], async (filling) => {
    await filling.rows(
      `insert into transfer (customer_id, id, type, from_profile_id, from_identity_id, from_account_id, to_profile_id,
                             to_customer_id, to_identity_id, to_account_id, asset, amount, ref_id, created_at, slot, batch)
       select ${customer("sender")}, ('00000000-0000-7000-8000-' || lpad(to_hex(2 * n), 12, '0'))::uuid,
              case when sender = receiver then 'INTERNAL_TRANSFER'::transfer_type else 'PLATFORM_TRANSFER' end,
              ${profile("100 * sender + case when n < 1000 then 1 else 2 + n % 7 end")},
              case when n % 3 = 0 then 'identity-' || (n % 100) end, case when n < 500 then 'old' else 'account-' || (n % 50) end,
              ${profile("100 * receiver + 10 + n % 7")}, ${customer("receiver")},
              case when n % 3 = 0 then 'identity-' || (n % 90) end, case when n % 3 = 0 then 'account-' || (n % 60) end,
              'USD', 1, 'ref-' || n, timestamptz '2026-01-01' + n * interval '1 s', 1, n / 100
         from (select n, case when n < 300 then 1 else 0 end as sender, case when n % 10 = 9 then 1 else 0 end as receiver
                 from generate_series(1, ${ROWS}) n) as made`,
    );
    // Every hundredth transfer stands for one with steps, whichever type it has. Failed are a few old ones only.
    await filling.rows(
      `alter table transfer drop constraint steps_only_across_the_border, drop constraint chain_details_of_crypto_only,
                            drop constraint network_of_transaction`,
    );
    await filling.rows("update transfer set has_steps = true where ref_id like '%00'");
    await filling.rows(
      `insert into external_transfer (customer_id, id, status, updated_at, reason, version, slot, batch)
       select customer_id, id, case when created_at < timestamptz '2026-01-01 01:00' then 'failed' else 'completed' end::external_transfer_status,
              created_at + interval '1 day', case when created_at < timestamptz '2026-01-01 01:00' then 'no such bank' end, 4, 1, 1
         from transfer where has_steps`,
    );
    // As of transactions on a chain: one that every tenth names, and one that steps have named.
    await filling.rows("update transfer set crypto_tx_hash = '0xa11' where ref_id like '%5'");
    await filling.rows("update external_transfer set crypto_tx_hash = '0x57e9' where status = 'completed'");
  });
});
afterAll(() => db.close());

const costOfPage = (filter: Partial<TransferFilter>) =>
  costOf(db.owner, (explaining) =>
    listTransfers(explaining, { customerId: BIG, order: "DESC", limit: 101, ...filter }),
  );

const timeOf = (n: number) => (Date.UTC(2026, 0, 1) + n * 1_000) as Instant;
const positionOf = (n: number): RecordPosition => ({ id: idOf(n), updatedAt: timeOf(n) });
const SHALLOW = positionOf(ROWS);
const MIDDLE = positionOf(ROWS / 2);
const DEEP = positionOf(5_000);
const [OFTEN, RARELY] = [uuid<Uuid>("22222222", 4), uuid<Uuid>("22222222", 1)];

/**
 * With the rows that are read: a row is one or two records, so one more than the page may be. Only the customer's own
 * profiles are ever asked for: the route sees to that.
 */
const CASES = casesOf<TransferFilter>(102, {
  profileIds: [
    ["profile", { profileIds: [OFTEN] }, 101],
    ["profile whose transfers are all old", { profileIds: [RARELY] }, 101],
    ["several profiles", { profileIds: [OFTEN, RARELY] }, 102],
    ["profile without any", { profileIds: [uuid<Uuid>("22222222", 77)] }, 0],
  ],
  accountIds: [
    ["account", { accountIds: ["account-3"] }, 102],
    ["account whose transfers are all old", { accountIds: ["old"] }, 101],
    ["account that is not there", { accountIds: ["nobody"] }, 0],
    ["account of what was received", { customerId: SMALL, accountIds: ["account-9"] }, 101],
    ["account and profile", { accountIds: ["account-3"], profileIds: [OFTEN] }, 101],
  ],
  identityIds: [
    ["identity", { identityIds: ["identity-3"] }, 102],
    ["identity that is not there", { identityIds: ["nobody"] }, 0],
  ],
  refIds: [
    ["ref_id", { refIds: ["ref-5000"] }, 1],
    ["ref_id of another customer", { customerId: SMALL, refIds: ["ref-5000"] }, 0],
  ],
  cryptoTxHashes: [
    ["transaction that many have", { cryptoTxHashes: ["A11"] }, 102],
    ["transaction that steps have named", { cryptoTxHashes: ["0x57E9"] }, 102],
    ["transaction that is not there", { cryptoTxHashes: ["0xfff"] }, 0],
    ["transaction of another customer", { customerId: SMALL, cryptoTxHashes: ["0x57e9"] }, 0],
    ["more transactions than have branches", { cryptoTxHashes: [..."0123456789"].map((n) => `0xa${n}1`) }, 102],
  ],
  ids: [["id", { ids: [idOf(700)] }, 1]],
  types: [["type that most have", { types: ["INTERNAL_TRANSFER_DEBIT"] }, 102]],
  statuses: [
    ["status that most have", { statuses: ["COMPLETED"] }, 102],
    ["status that few have", { statuses: ["FAILED"] }, 33],
    ["status that none has", { statuses: ["PENDING"] }, 0],
  ],
  orderBy: [["the last change, as the order", { orderBy: "UPDATED_AT" }, 102]],
  updatedFrom: [["the first change", { updatedFrom: timeOf(3) }, 101]],
  updatedBefore: [["the last change", { updatedBefore: timeOf(90_000) }, 102]],
  from: [["the first time", { from: idOf(3) }, 102]],
  before: [["the last time", { before: idOf(70_000) }, 102]],
});

// A row may lie on a page of its own, one of each side is read, and the index is a few pages deep.
const MOST_PAGES = 800;

test.each([...CASES, ["customer that is only paid", { customerId: SMALL }, 102] as const])(
  "a deep page by %s costs as little as the first",
  async (_by, query, found) => {
    expect((await costOfPage(query)).rows).toBe(found);
    for (const after of [SHALLOW, MIDDLE, DEEP]) {
      for (const order of ["ASC", "DESC"] as const) {
        const { pages } = await costOfPage({ ...query, after, order });
        expect(pages, `${order} behind ${after.id}`).toBeLessThan(MOST_PAGES);
      }
    }
  },
);

/** As many values as a filter may have. */
const many = <Value>(nth: (n: number) => Value): Value[] => Array.from({ length: 100 }, (_, n) => nth(n));
const MANY = {
  profileIds: many((n) => uuid<Uuid>("22222222", n)),
  accountIds: many((n) => `account-${n}`),
  identityIds: many((n) => `identity-${n}`),
};

test.each(Object.keys(MANY) as (keyof typeof MANY)[])("a page by a hundred %s is that of each, merged", async (by) => {
  const page = (wanted: Partial<TransferFilter>, order: "ASC" | "DESC") =>
    listTransfers(db.owner, { customerId: BIG, limit: 20, after: MIDDLE, order, ...wanted });
  for (const order of ["ASC", "DESC"] as const) {
    const each = await Promise.all(MANY[by].map((value) => page({ [by]: [value] }, order)));
    const byId = new Map(each.flat().map((record) => [record.id, record]));
    const sorted = [...byId.values()].sort((a, b) => (a.id < b.id === (order === "ASC") ? -1 : 1));
    expect(await page({ [by]: MANY[by] }, order)).toEqual(sorted.slice(0, 20));
  }
});

test("hundreds of values make one short statement, with each list in it once", async () => {
  const sent: { text: string; values: readonly unknown[] }[] = [];
  const noting = {
    rows: async (text: string, values: readonly unknown[] = []) => {
      sent.push({ text, values });
      return [];
    },
  };
  await listTransfers(noting, { customerId: BIG, order: "ASC", limit: 101, ...MANY });
  expect(sent).toHaveLength(1);
  expect(sent[0]?.text.length).toBeLessThan(6_000);
  const texts = sent[0]?.values.flat() ?? [];
  for (const values of Object.values(MANY)) expect(texts.filter((text) => text === values[7])).toHaveLength(1);
});

test("the measurement detects a scan: the same page read without an index costs several times more", async () => {
  await db.owner.rows("drop index transfer_from_account");
  const { pages } = await costOfPage({ accountIds: ["nobody"] });
  expect(pages).toBeGreaterThan(2 * MOST_PAGES);
});
