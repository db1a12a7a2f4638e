/** What a page of profiles costs, in pages of the database that are touched, for a customer with 50,000, nearly all INACTIVE. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import { listProfiles, type ProfileFilter } from "../../../src/customers/profiles/profiles.ts";
import type { Instant } from "../../../src/std/clock.ts";
import type { Uuid } from "../../../src/std/id.ts";
import { costOf } from "../../support/cost.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { casesOf, expectCheap } from "../../support/depth-cases.ts";
import { fill } from "../../support/filling.ts";

const ROWS = 50_000;
/** Of the first, and of the last. */
const ACTIVE = 10;
const uuid = (kind: string, n: number): Uuid => `${kind}-0000-7000-8000-${n.toString(16).padStart(12, "0")}` as Uuid;
const BIG = uuid("11111111", 0) as string as CustomerId;
const idOf = (n: number): Uuid => uuid("22222222", n);
const FIRST = Date.parse("2026-01-01T00:00:00Z");
const timeOf = (n: number): Instant => (FIRST + n * 1_000) as Instant;
const placeOf = (n: number) => ({ createdAt: timeOf(n), id: idOf(n) });

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Big', now())", [BIG]);
  await fill(db.owner, ["profile"], (filling) =>
    filling.rows(
      `insert into profile (id, customer_id, kind, nickname, status, incoming_count, last_deactivation, created_at, updated_at,
                            version, slot, batch)
       select ('22222222-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '${BIG}'::uuid, 'NORMAL', 'Profile ' || n,
              (case when is_active then 'ACTIVE' else 'INACTIVE' end)::profile_status, 0,
              case when is_active then 0 else 2 end, at, at, case when is_active then 1 else 2 end, 1, n / 100
         from (select n, n <= ${ACTIVE} or n > ${ROWS - ACTIVE} as is_active,
                      to_timestamp(${FIRST / 1_000}) + n * interval '1 s' as at
                 from generate_series(1, ${ROWS}) n) as made`,
    ),
  );
});
afterAll(() => db.close());

const costOfPage = (filter: Partial<ProfileFilter>) =>
  costOf(db.owner, (explaining) => listProfiles(explaining, { customerId: BIG, order: "ASC", limit: 101, ...filter }));

const CASES = casesOf<ProfileFilter>(101, {
  ids: [
    ["an id", { ids: [idOf(77)] }, 1],
    ["an id that is not there", { ids: [idOf(ROWS + 1)] }, 0],
  ],
  onlyActive: [["those that are ACTIVE", { onlyActive: true }, 2 * ACTIVE]],
  nicknamePrefix: [["a nickname and an id", { nicknamePrefix: "profile", ids: [idOf(77)] }, 1]],
  createdFrom: [["the first time", { createdFrom: timeOf(3) }, 101]],
  createdBefore: [["the last time", { createdBefore: timeOf(ROWS - ACTIVE) }, 101]],
});

/** A row may lie on a page of its own; an index is a few pages deep. */
const MOST_PAGES = 120;

test.each(CASES)("a deep page by %s costs as little as the first", (_by, filter, found) =>
  expectCheap(costOfPage, filter, { found, after: placeOf(ROWS / 2), mostPages: MOST_PAGES }),
);

test("a page by a nickname that none has walks through all profiles of the customer, which the measure sees", async () => {
  const { pages, rows } = await costOfPage({ nicknamePrefix: "none" });
  expect(rows).toBe(0);
  expect(pages).toBeGreaterThan(2 * MOST_PAGES);
});
