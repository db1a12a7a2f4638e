/** What a page of conversions costs, in pages of the database that are touched, on a table of 100,000 of one customer. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConversionFilter, listConversions } from "../../../src/conversions/store.ts";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import type { Instant } from "../../../src/std/clock.ts";
import type { Uuid } from "../../../src/std/id.ts";
import { costOf } from "../../support/cost.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { casesOf, expectCheap } from "../../support/depth-cases.ts";
import { fill } from "../../support/filling.ts";

const ROWS = 100_000;
const uuid = (kind: string, n: number): Uuid => `${kind}-0000-7000-8000-${n.toString(16).padStart(12, "0")}` as Uuid;
const BIG = uuid("11111111", 0) as string as CustomerId;
const profile = (n: number): Uuid => uuid("22222222", n);
const idOf = (n: number): Uuid => uuid("33333333", n);
const FIRST = Date.parse("2026-01-01T00:00:00Z");
const timeOf = (n: number): Instant => (FIRST + n * 1_000) as Instant;

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await fill(db.owner, ["conversion", "claim"], async (filling) => {
    // One in a hundred of the first 500 is CREATED, and another CANCELLED. Profile 9 has old ones only.
    await filling.rows(
      `insert into conversion (profile_id, id, customer_id, source_asset, target_asset, amount, ref_id, status, created_at,
                               updated_at, settled_at, cancelled_at, version, slot, batch)
       select ('22222222-0000-7000-8000-' || lpad(to_hex(case when n < 500 then 9 else n % 9 end), 12, '0'))::uuid,
              ('33333333-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '${BIG}'::uuid, 'USD', 'USDG', 1, 'ref-' || n,
              status, at, at, case when status = 'SETTLED' then at end, case when status = 'CANCELLED' then at end,
              case when status = 'CREATED' then 1 else 2 end, 1, n / 100
         from (select n, to_timestamp(${FIRST / 1_000}) + n * interval '1 s' as at,
                      (case when n < 500 and n % 100 = 7 then 'CREATED' when n < 500 and n % 100 = 9 then 'CANCELLED'
                            else 'SETTLED' end)::conversion_status as status
                 from generate_series(1, ${ROWS}) n) as made`,
    );
    await filling.rows(
      `insert into claim (customer_id, kind, ref_id, id)
       select customer_id, 'conversion', ref_id, id from conversion`,
    );
  });
});
afterAll(() => db.close());

const costOfPage = (filter: Partial<ConversionFilter>) =>
  costOf(db.owner, (explaining) =>
    listConversions(explaining, { customerId: BIG, order: "DESC", limit: 101, ...filter }),
  );

const CASES = casesOf<ConversionFilter>(101, {
  profileId: [
    ["profile", { profileId: profile(3) }, 101],
    ["a profile whose conversions are all old", { profileId: profile(9) }, 101],
    ["a profile without any", { profileId: profile(77) }, 0],
  ],
  refId: [
    ["a ref_id", { refId: "ref-77" }, 1],
    ["a ref_id that is not there", { refId: "none" }, 0],
  ],
  status: [["a status that most have", { status: "SETTLED" }, 101]],
  updatedFrom: [["a time of update that most are after", { updatedFrom: timeOf(1_000) }, 101]],
  updatedBefore: [["a time of update that most are before", { updatedBefore: timeOf(ROWS) }, 101]],
  from: [["the first time", { from: idOf(3) }, 101]],
  before: [["the last time", { before: idOf(70_000) }, 101]],
});

/** A row may lie on a page of its own; an index is a few pages deep. */
const MOST_PAGES = 330;

test.each(CASES)("a deep page by %s costs as little as the first", (_by, filter, found) =>
  expectCheap(costOfPage, filter, { found, after: idOf(ROWS / 2), mostPages: MOST_PAGES }),
);

/** They have no index: every conversion would pay for it twice in its life. */
const WALKS: readonly (readonly [string, Partial<ConversionFilter>, number])[] = [
  ["a status that is rare", { status: "CANCELLED" }, 5],
  ["a time of update that few are before", { updatedBefore: timeOf(3) }, 2],
];

test.each(WALKS)(
  "a page by %s walks through all conversions of the customer, which the measure sees",
  async (_by, filter, found) => {
    const { pages, rows } = await costOfPage(filter);
    expect(rows).toBe(found);
    expect(pages).toBeGreaterThan(2 * MOST_PAGES);
  },
);
