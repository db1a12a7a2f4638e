/** What a page of orders costs, in pages of the database that are touched, on a table of 100,000 orders of one customer. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import { ORDER_ANNOTATIONS } from "../../../src/exchange/order.ts";
import { listOrders, type OrderFilter } from "../../../src/exchange/orders/store.ts";
import type { Uuid } from "../../../src/std/id.ts";
import { costOf } from "../../support/cost.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { annotationsAs, casesByAnnotation, casesOf, expectCheap } from "../../support/depth-cases.ts";
import { copyOpenOrders } from "../../support/exchange/open-orders.ts";
import { fill } from "../../support/filling.ts";

const ROWS = 100_000;
const uuid = (kind: string, n: number): Uuid => `${kind}-0000-7000-8000-${n.toString(16).padStart(12, "0")}` as Uuid;
const BIG = uuid("11111111", 0) as string as CustomerId;

/** Of the order `n`. */
const ANNOTATED = annotationsAs(
  "case when old and n % 100 = 5 then 'rare' when n % 2 = 0 then 'main' end",
  ORDER_ANNOTATIONS,
);

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await fill(db.owner, ["orders"], async (filling) => {
    // One order in 20,000 of each status, market and account that is rare; all rare ones are old.
    await filling.rows(
      `insert into orders (profile_id, id, customer_id, market, side, type, time_in_force, base_amount, price, taker_rate,
                           maker_rebate, ref_id, identity_id, ${ANNOTATED.names}, created_at, status, sequence, priority, filled,
                            filled_gross, held, is_triggered, reject_reason, cancel_reason, updated_at, closed_at, version, slot, batch)
       select ('22222222-0000-7000-8000-' || lpad(to_hex(n % 10), 12, '0'))::uuid,
              ('33333333-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '${BIG}'::uuid,
              case when old and n % 100 = 3 then 'WIFUSD' when n % 3 = 0 then 'ETHUSD' else 'BTCUSD' end, 'BUY', 'LIMIT',
              'GTC', 1, 1, 0.0035, 0.0003, 'ref-' || n, 'i',
              ${ANNOTATED.texts}, at, status, n, n,
              case when status = 'FILLED' then 1 else 0 end, 0, case when status = 'OPEN' then 1 else 0 end, false,
              case when status = 'REJECTED' then 'no_liquidity'::reject_reason end,
              case when status = 'CANCELLED' then 'requested'::cancel_reason end, at,
              case when status <> 'OPEN' then at end, 3, 1, n / 100
         from (select n, n < 500 as old, timestamptz '2026-01-01' + n * interval '1 s' as at,
                      (case when n < 500 and n % 100 = 7 then 'OPEN' when n < 500 and n % 100 = 9 then 'REJECTED'
                            when n < 500 and n % 100 = 11 then 'FILLED' else 'CANCELLED' end)::order_status as status
                 from generate_series(1, ${ROWS}) n) as made`,
    );
    await copyOpenOrders(filling);
  });
});
afterAll(() => db.close());

const costOfPage = (filter: Partial<OrderFilter>) =>
  costOf(db.owner, (explaining) => listOrders(explaining, { customerId: BIG, order: "DESC", limit: 101, ...filter }));

const idOf = (n: number): Uuid => uuid("33333333", n);
const PROFILE = uuid("22222222", 3) as string;

const CASES = casesOf<OrderFilter>(101, {
  profileId: [["profile", { profileId: PROFILE }, 101]],
  status: [
    ["a status that is rare", { status: "OPEN" }, 5],
    ["a status that most have", { status: "CANCELLED" }, 101],
    ["a status that none has", { status: "PENDING_SUBMISSION" }, 0],
  ],
  market: [["a market that many have", { market: "BTCUSD" }, 101]],
  ...casesByAnnotation(ORDER_ANNOTATIONS, [
    ["a text that is rare", "rare", 5],
    ["a text that many have", "main", 101],
    ["a text that is not there, and a profile", "nobody", 0, { profileId: PROFILE }],
  ]),
  refIds: [
    ["ref_ids", { refIds: ["ref-3", "ref-77777"] }, 2],
    ["ref_ids that are not there, and a profile", { refIds: ["none"], profileId: PROFILE }, 0],
  ],
  ids: [["ids", { ids: [idOf(3), idOf(70_000)] }, 2]],
  from: [["the first time", { from: idOf(3) }, 101]],
  before: [["the last time", { before: idOf(70_000) }, 101]],
});

/** A row may lie on a page of its own; an index is a few pages deep. */
const MOST_PAGES = 330;

test.each(CASES)("a deep page by %s costs as little as the first", (_name, filter, found) =>
  expectCheap(costOfPage, filter, { found, after: idOf(ROWS / 2), mostPages: MOST_PAGES }),
);

test("a page of 20,000 open orders reads no more of them than it has", async () => {
  const { customerId, profileId } = { customerId: uuid("11111111", 1) as string as CustomerId, profileId: PROFILE };
  const otherProfile = uuid("22222222", 4) as string;
  await fill(db.owner, ["orders", "booked_order"], async (filling) => {
    await filling.rows(
      `insert into orders (profile_id, id, customer_id, market, side, type, time_in_force, base_amount, price, taker_rate,
                           maker_rebate, identity_id, identity_account_id, ref_id, created_at, status, sequence, priority, filled,
                           filled_gross, held, is_triggered, updated_at, version, slot, batch)
       select (case when n = 1 then '${otherProfile}' else '${profileId}' end)::uuid,
              ('44444444-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '${customerId}',
              case when n % 3 = 0 then 'ETHUSD' else 'BTCUSD' end, 'BUY', 'LIMIT', 'GTC', 1, 1, 0.0035, 0.0003, 'i',
              case when n = 2 then 'other' else 'rare' end, case when n = 3 then 'old' end,
              at, 'OPEN', n, n, 0, 0, 1, false, at, 3, 1, 1
         from (select n, timestamptz '2026-01-01' + n * interval '1 s' as at from generate_series(1, 20000) n) as made`,
    );
    await copyOpenOrders(filling);
  });
  const id = (n: number): Uuid => uuid("44444444", n);
  for (const filter of [
    {},
    { market: "BTCUSD" },
    { profileId },
    { from: id(5), before: id(19_000) },
    { after: id(10_000) },
    { after: id(10_000), order: "ASC" },
  ] as const) {
    const { pages, rows } = await costOfPage({ customerId, status: "OPEN", ...filter });
    expect(rows, JSON.stringify(filter)).toBe(101);
    // Each of them is looked up by its id, which PostgreSQL 15 does one by one.
    expect(pages, JSON.stringify(filter)).toBeLessThan(MOST_PAGES);
  }
  expect((await costOfPage({ customerId, status: "OPEN", after: id(20) })).rows).toBe(19);
  expect((await costOfPage({ customerId, status: "OPEN", identityAccountId: "rare" })).rows).toBe(101);
  // Named ones are not looked for among all.
  for (const [filter, found] of [
    [{ ids: [id(7), id(8)] }, 2],
    [{ refIds: ["old"] }, 1],
    [{ refIds: ["old"], identityAccountId: "rare" }, 1],
  ] as const) {
    const { pages, rows } = await costOfPage({ customerId, status: "OPEN", ...filter });
    expect(rows, JSON.stringify(filter)).toBe(found);
    expect(pages, JSON.stringify(filter)).toBeLessThan(20);
  }
  // What only the oldest have is found behind all others.
  for (const filter of [{ profileId: otherProfile }, { identityAccountId: "other" }])
    expect((await costOfPage({ customerId, status: "OPEN", ...filter })).rows, JSON.stringify(filter)).toBe(1);
});

/** They have no index: every order would pay for it three times in its life. */
const WALKS: readonly (readonly [string, Partial<OrderFilter>, number])[] = [
  ["a status of closed orders that is rare", { status: "FILLED" }, 5],
  ["a market that is rare", { market: "WIFUSD" }, 5],
  ["a market that none has, and a status that most have", { market: "ARBUSD", status: "CANCELLED" }, 0],
];

test.each(WALKS)(
  "a page by %s walks through all orders of the customer, which the measure sees",
  async (_name, filter, found) => {
    const { pages, rows } = await costOfPage(filter);
    expect(rows).toBe(found);
    expect(pages).toBeGreaterThan(5 * MOST_PAGES);
  },
);
