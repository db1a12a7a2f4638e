/** What a page of executions costs, in pages of the database that are touched, on a table of 200,000 rows. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import { EXECUTION_ANNOTATIONS } from "../../../src/exchange/execution.ts";
import { executedAtOf, NO_EXECUTION } from "../../../src/exchange/execution-id.ts";
import { type ExecutionFilter, listExecutions } from "../../../src/exchange/executions/store.ts";
import type { Instant } from "../../../src/std/clock.ts";
import { costOf } from "../../support/cost.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { annotationsAs, casesByAnnotation, casesOf } from "../../support/depth-cases.ts";
import { fill } from "../../support/filling.ts";

const ROWS = 200_000;
const uuid = (kind: string, n: number): string => `${kind}-0000-7000-8000-${n.toString(16).padStart(12, "0")}`;
/** As the rows below are made: a big customer with nine of ten executions, in ten profiles of very different sizes. */
const BIG = uuid("11111111", 0) as unknown as CustomerId;
const SMALL = uuid("11111111", 1) as unknown as CustomerId;

/** Of the execution `n`. */
const ANNOTATED = annotationsAs("case when n % 3 = 0 then 'text-' || (n % 1000) end", EXECUTION_ANNOTATIONS);

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await fill(db.owner, ["execution"], async (filling) => {
    await filling.rows(
      `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                              ${ANNOTATED.names}, executed_at, slot, batch)
       select ('22222222-0000-7000-8000-' || lpad(to_hex(profile), 12, '0'))::uuid, n,
              ('11111111-0000-7000-8000-' || lpad(to_hex(profile / 10), 12, '0'))::uuid,
              ('33333333-0000-7000-8000-' || lpad(to_hex(n / 4), 12, '0'))::uuid,
              'BTCUSD', 'BUY', 1, 1, 0, 0, ${ANNOTATED.texts},
              timestamptz '2026-01-01' + n * interval '1 s', 1, n / 100
         from (select n, case when n % 10 = 9 then 10 when n < 1000 then 1 else (n % 9) * (n % 2) end as profile
                 from generate_series(1, ${ROWS}) n) as made`,
    );
  });
});
afterAll(() => db.close());

const costOfPage = (filter: Partial<ExecutionFilter>) =>
  costOf(db.owner, (explaining) =>
    listExecutions(explaining, { customerId: BIG, order: "DESC", limit: 101, ...filter }),
  );

const SHALLOW = BigInt(ROWS);
const DEEP = 5_000n;

const profile = (n: number): string => uuid("22222222", n);
const ORDER = uuid("33333333", 1200);

/** Only the customer's own profiles are ever asked for: the routes see to that. */
const CASES = casesOf<ExecutionFilter>(101, {
  profileId: [
    ["profile", { profileId: profile(3) }, 101],
    ["profile whose executions are all old", { profileId: profile(1) }, 101],
    ["profile without any", { profileId: profile(77) }, 0],
    ["profile that is all that its customer has", { customerId: SMALL, profileId: profile(10) }, 101],
  ],
  ...casesByAnnotation(EXECUTION_ANNOTATIONS, [
    ["a text", "text-3", 67],
    ["a text of a small customer", "text-9", 67, { customerId: SMALL }],
    ["a text that is not there", "nobody", 0],
    ["a text and a profile", "text-3", 22, { profileId: profile(3) }],
  ]),
  orderId: [
    ["order", { orderId: ORDER }, 4],
    ["order of somebody else", { customerId: SMALL, orderId: ORDER }, 0],
    ["order and profile", { orderId: ORDER, profileId: profile(3) }, 0],
    ["order and account", { orderId: ORDER, accountId: "text-3" }, 0],
  ],
  since: [["an id", { since: SHALLOW - 1_000n }, 101]],
  from: [["a time", { from: executedAtOf(NO_EXECUTION) }, 101]],
  before: [["a time", { before: Date.parse("2026-01-01") as Instant }, 101]],
});
// A row may lie on a page of its own; the index is a few pages deep, and an account has up to 200 executions.
const MOST_PAGES = 330;

test.each([...CASES, ["a small customer", { customerId: SMALL }, 101] as const])(
  "a deep page by %s costs as little as the first",
  async (_by, query, found) => {
    expect((await costOfPage(query)).rows).toBe(found);
    for (const after of [SHALLOW, DEEP]) {
      const { pages } = await costOfPage({ ...query, after });
      expect(pages, `behind ${after}`).toBeLessThan(MOST_PAGES);
    }
  },
);

test("the measurement detects a scan: the same page read without an index costs many times more", async () => {
  await db.owner.rows("drop index execution_account");
  const { pages } = await costOfPage({ accountId: "nobody" });
  expect(pages).toBeGreaterThan(10 * MOST_PAGES);
});
