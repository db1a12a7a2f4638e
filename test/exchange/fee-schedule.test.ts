/** Fee changes by operators: what is accepted, what is rejected, and what the tables' constraints reject for any writer. */

import fc from "fast-check";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { agreeFees, endAgreement, setFeeTiers } from "../../src/catalogue/fee-schedule/fee-schedule.ts";
import { listAgreements, readSchedules, readTiers } from "../../src/catalogue/fee-schedule/store.ts";
import { checkTiers, type FeeRates, type FeeTier, highestRebate, MAX_TIERS } from "../../src/catalogue/fee-tiers.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { readMarkets } from "../../src/catalogue/store.ts";
import { amountOf, formatAmount } from "../../src/money/amount.ts";
import { serverError } from "../../src/postgres/database.ts";
import { must } from "../../src/std/assert.ts";
import type { Uuid } from "../../src/std/id.ts";
import { PASSED, reject } from "../../src/std/result.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { TESTER } from "../support/movements.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";

const MARKET = "BTCUSD" as MarketCode;
const BASE = "0:0.0035:0.0003";

let db: TestDatabase;
let customers: Uuid[];
beforeAll(async () => {
  db = await testDatabase();
  const rows = await db.owner.rows<{ id: Uuid }>(
    "insert into customer select gen_random_uuid(), gen_random_uuid(), now() from generate_series(1, 2) returning id",
  );
  customers = rows.map(({ id }) => id).toSorted();
});
beforeEach(async () => {
  await db.owner.rows("delete from fee_agreement");
  expect(await set(BASE)).toEqual(PASSED);
});
afterAll(() => db.close());

/** "0:0.0035:0.0003 1000:0.002:0.0003" */
function tiersOf(text: string): FeeTier[] {
  return text.split(" ").map((tier) => {
    const [minimumGross, takerRate, makerRebate] = tier.split(":").map(amountOf);
    return { minimumGross, takerRate, makerRebate } as FeeTier;
  });
}

const tierText = (tier: FeeTier): string =>
  [tier.minimumGross, tier.takerRate, tier.makerRebate].map(formatAmount).join(":");

const set = (text: string, market = MARKET) => setFeeTiers(db.database, market, tiersOf(text), TESTER);

const agree = (customer: number, takerRate: string, makerRebate: string, market = MARKET) =>
  agreeFees(
    db.database,
    market,
    {
      customerId: customers[customer] as Uuid,
      takerRate: amountOf(takerRate),
      makerRebate: amountOf(makerRebate),
    },
    TESTER,
  );

/** All that the market has: tiers, then agreements with the first and the second customer. */
async function stored(): Promise<string> {
  const tiers = (await readTiers(db.database, MARKET)).map(tierText);
  const agreed = (await listAgreements(db.database, MARKET, 10)).map(
    ({ customerId, takerRate, makerRebate }) =>
      `${customers.indexOf(customerId)}=${formatAmount(takerRate)}:${formatAmount(makerRebate)}`,
  );
  return [...tiers, ...agreed].join(" ");
}

const above = (makerRebate: string, takerRate: string) => ({
  code: "rebate_above_commission",
  makerRebate: amountOf(makerRebate),
  takerRate: amountOf(takerRate),
});

test("new tiers replace the old ones, in the order of their minimums", async () => {
  expect(await set("1000000:0.0005:0.0005 0:0.004:0 50000:0.002:0")).toEqual(PASSED);
  const inOrder = ["0:0.004:0", "50000:0.002:0", "1000000:0.0005:0.0005"];
  expect(await stored()).toBe(inOrder.join(" "));
  // As the engines have them, which look for the last tier that a volume reaches.
  const inCatalogue = (await readMarkets(db.database)).find(({ code }) => code === MARKET);
  expect(inCatalogue?.feeTiers.map(tierText)).toEqual(inOrder);
  expect(await set("0:0:0 0.000000000000000001:0.1:0")).toEqual(PASSED);
  expect(await stored()).toBe("0:0:0 0.000000000000000001:0.1:0");
});

test("an agreement replaces the previous one, and can be ended", async () => {
  expect(await agree(0, "0.001", "0.0005")).toEqual(PASSED);
  expect(await agree(1, "0.002", "0")).toEqual(PASSED);
  expect(await agree(0, "0.0004", "0.0004")).toEqual(PASSED);
  expect(await stored()).toBe(`${BASE} 0=0.0004:0.0004 1=0.002:0`);
  expect((await readSchedules(db.database, customers[0] as Uuid)).get(MARKET)).toEqual({
    tiers: await readTiers(db.database, MARKET),
    agreed: { takerRate: amountOf("0.0004"), makerRebate: amountOf("0.0004") },
  });
  const elsewhere = "ETHUSD" as MarketCode;
  expect(await agree(0, "0.001", "0", elsewhere)).toEqual(PASSED);
  expect(await endAgreement(db.database, MARKET, customers[0] as Uuid, TESTER)).toBe(true);
  expect(await endAgreement(db.database, MARKET, customers[0] as Uuid, TESTER)).toBe(false);
  expect(await stored()).toBe(`${BASE} 1=0.002:0`);
  const schedules = [...(await readSchedules(db.database, customers[0] as Uuid))];
  expect(schedules.flatMap(([market, { agreed }]) => (agreed === undefined ? [] : market))).toEqual([elsewhere]);
});

const tooMany = Array.from({ length: MAX_TIERS + 1 }, (_, i) => `${i}:0.1:0`).join(" ");
test("the end of an agreement that is being replaced ends the one that takes its place", async () => {
  const customer = customers[0] as Uuid;
  expect(await agree(0, "0.003", "0.0002")).toEqual(PASSED);
  const session = await openTransaction(db.database);
  await session.query("select from fee_schedule where market = $1 for update", [MARKET]);
  await session.query("delete from fee_agreement where customer_id = $1", [customer]);
  await session.query(
    `insert into fee_agreement (customer_id, market, taker_rate, maker_rebate, rebate_ceiling)
     select $1, market, 0.0025, 0.0002, rebate_ceiling from fee_schedule where market = $2`,
    [customer, MARKET],
  );
  const ending = endAgreement(db.database, MARKET, customer, TESTER);
  await untilBlocked(db);
  await session.query("commit");
  await session.end();
  expect(await ending).toBe(true);
  expect(await db.owner.rows("select from fee_agreement")).toEqual([]);
});

test.each([
  ["a rate with 5 decimals", "0:0.00351:0.0003", { code: "not_a_rate", rate: amountOf("0.00351") }],
  ["a rebate with 5 decimals", "0:0.0035:0.00031", { code: "not_a_rate", rate: amountOf("0.00031") }],
  ["a commission below zero", "0:-0.0001:-0.0001", { code: "not_a_rate", rate: amountOf("-0.0001") }],
  ["a rebate below zero", "0:0.0035:-0.0001", { code: "not_a_rate", rate: amountOf("-0.0001") }],
  ["a commission of all that is traded", "0:1:0", { code: "not_a_rate", rate: amountOf("1") }],
  ["a rebate above the commission of its tier", "0:0.0003:0.0004", above("0.0004", "0.0003")],
  ["a rebate above the commission of another tier", "0:0.0035:0.0003 5:0.0002:0", above("0.0003", "0.0002")],
  ["a tier below zero", "0:0.1:0 -1:0.1:0", { code: "tier_below_zero", minimumGross: amountOf("-1") }],
  ["no tier from zero", "1:0.0035:0.0003", { code: "no_tier_from_zero" }],
  [
    "two tiers from the same gross",
    "0:0.1:0 5:0.1:0 5.0:0.2:0",
    { code: "tier_given_twice", minimumGross: amountOf("5") },
  ],
  ["too many tiers", tooMany, { code: "too_many_tiers", most: 50 }],
])("%s is rejected, and nothing is changed", async (_name, text, rejection) => {
  expect(await set(text)).toEqual(reject(rejection));
  expect(await stored()).toBe(BASE);
});

test("tiers are checked against agreements, and agreements against tiers and each other", async () => {
  expect(await agree(0, "0.0035", "0.0004")).toEqual(PASSED);
  expect(await set("0:0.0035:0.0003 1000:0.0003:0.0003")).toEqual(reject(above("0.0004", "0.0003")));
  expect(await agree(1, "0.0003", "0")).toEqual(reject(above("0.0004", "0.0003")));
  expect(await agree(1, "0.01", "0.0036")).toEqual(reject(above("0.0036", "0.0035")));
  expect(await agree(1, "0.01", "0.00001")).toEqual(reject({ code: "not_a_rate", rate: amountOf("0.00001") }));
  expect(await stored()).toBe(`${BASE} 0=0.0035:0.0004`);
  // What one's own agreement was does not count against the next.
  expect(await agree(0, "0.0003", "0")).toEqual(PASSED);
});

test("of all agreements of a market the lowest commission and the highest rebate count, and none of another's", async () => {
  expect(await agree(0, "0.001", "0", "ETHUSD" as MarketCode)).toEqual(PASSED);
  expect(await set("0:0.0035:0.002")).toEqual(PASSED);
  expect(await agree(0, "0.0035", "0.0004")).toEqual(PASSED);
  expect(await agree(1, "0.003", "0")).toEqual(PASSED);
  expect(await set("0:0.0035:0.0031")).toEqual(reject(above("0.0031", "0.003")));
  expect(await set("0:0.0003:0")).toEqual(reject(above("0.0004", "0.0003")));
  expect(await stored()).toBe("0:0.0035:0.002 0=0.0035:0.0004 1=0.003:0");
  const listed = await listAgreements(db.database, MARKET, 1);
  expect(listed.map(({ customerId }) => customerId)).toEqual([customers[0]]);
});

test("an unknown market has no fees", async () => {
  const nowhere = "NOPEUSD" as MarketCode;
  expect(await set(BASE, nowhere)).toEqual(reject({ code: "market_not_found" }));
  expect(await agree(0, "0.1", "0", nowhere)).toEqual(reject({ code: "market_not_found" }));
});

test("of two concurrent changes that would break the rule together, one is rejected", async () => {
  for (let round = 0; round < 20; round += 1) {
    await endAgreement(db.database, MARKET, customers[0] as Uuid, TESTER);
    await set(BASE);
    const outcomes = await Promise.all([set("0:0.0035:0.0003 1000:0.0004:0"), agree(0, "0.0035", "0.0005")]);
    expect(outcomes).toContainEqual(PASSED);
    expect(outcomes).toContainEqual(reject(expect.objectContaining({ code: "rebate_above_commission" })));
  }
});

/** Two sessions with the rights of the owner, who go around the commands. */
async function sessions(work: (a: pg.Client, b: pg.Client) => Promise<void>): Promise<void> {
  const [a, b] = await Promise.all([db.owner.connect({}), db.owner.connect({})]);
  try {
    await Promise.all([a.query("begin"), b.query("begin")]);
    await work(a, b);
  } finally {
    await Promise.all([a.end(), b.end()]);
  }
}

const failure = (query: Promise<unknown>): Promise<unknown> =>
  query.then(
    () => "done",
    (error: unknown) => serverError(error)?.constraint,
  );

const insert = (minimum: number, takerRate: string, makerRebate: string, ceiling: string): string =>
  `insert into fee_tier values ('${MARKET}', ${minimum}, ${takerRate}, ${makerRebate}, ${ceiling})`;
const raise = (ceiling: string): string =>
  `update fee_schedule set rebate_ceiling = ${ceiling} where market = '${MARKET}'`;

test("a higher rebate waits for an uncommitted lower commission, and is then rejected", () =>
  sessions(async (a, b) => {
    await a.query(insert(1000, "0.0004", "0", "0.0003"));
    const raising = failure(b.query(raise("0.0005")));
    await untilBlocked(db);
    await a.query("commit");
    expect(await raising).toBe("rebate_within_commission");
  }));

test("a lower commission waits for an uncommitted higher rebate, and is then rejected", () =>
  sessions(async (a, b) => {
    await b.query(raise("0.0005"));
    await b.query(insert(1000, "0.0035", "0.0005", "0.0005"));
    const lowering = failure(a.query(insert(2000, "0.0004", "0", "0.0003")));
    await untilBlocked(db);
    await b.query("commit");
    expect(await lowering).toBe("has_ceiling_of_market");
  }));

test.each([
  ["a rebate above the ceiling", insert(5, "0.1", "0.0004", "0.0003"), "rebate_within_commission"],
  ["a commission below it", insert(5, "0.0002", "0", "0.0003"), "rebate_within_commission"],
  ["another ceiling", insert(5, "0.1", "0.0004", "0.0004"), "has_ceiling_of_market"],
  ["5 decimals", insert(5, "0.00351", "0", "0.0003"), "from_zero_below_one_with_4_decimals"],
  ["a rate below zero", insert(5, "0.1", "-0.0001", "0.0003"), "from_zero_below_one_with_4_decimals"],
  ["a minimum below zero", insert(-1, "0.1", "0", "0.0003"), "minimum_not_negative"],
  ["a second tier from zero", insert(0, "0.1", "0", "0.0003"), "fee_tier_pkey"],
  ["no tier from zero", `delete from fee_tier where market = '${MARKET}'`, "tier_from_zero"],
  ["a ceiling above a commission", raise("0.0036"), "rebate_within_commission"],
  ["a schedule without a market", "insert into fee_schedule values ('NOPEUSD', 0)", "market_exists"],
  [
    "a market without a schedule",
    "insert into market select 'NOPEUSD', 200, base, quote, price_decimals, base_decimals, tick, min_base_amount, max_base_amount, min_quote_amount, max_quote_amount, max_notional_value, status, 1 from market where code = 'BTCUSD'",
    "fees_are_scheduled",
  ],
])("the tables' constraints reject %s", async (_name, sql, constraint) => {
  expect(await failure(db.owner.rows(sql))).toBe(constraint);
});

const rate = fc.integer({ min: 0, max: 12 }).map((n) => amountOf(`0.${String(n).padStart(4, "0")}`));
const rates: fc.Arbitrary<FeeRates> = fc.record({ takerRate: rate, makerRebate: rate });
const tierSets = fc
  .array(rates, { minLength: 1, maxLength: 4 })
  .map((all) => all.map((one, i) => ({ ...one, minimumGross: amountOf(`${i * 10}`) })));

test("for any tiers, the rule and the tables' constraints agree", async () => {
  await fc.assert(
    fc.asyncProperty(tierSets, async (tiers) => {
      const check = checkTiers(tiers);
      const ceiling = formatAmount(highestRebate(tiers));
      const outcome = await failure(
        db.owner.transaction(async (transaction) => {
          await transaction.rows("delete from fee_tier where market = $1", [MARKET]);
          await transaction.rows(raise(ceiling));
          for (const tier of tiers) {
            const [minimum, ...both] = [tier.minimumGross, tier.takerRate, tier.makerRebate].map(formatAmount);
            await transaction.rows(insert(Number(minimum), must(both[0], "a rate"), must(both[1], "a rate"), ceiling));
          }
        }),
      );
      expect(outcome).toBe(check.kind === "done" ? "done" : "rebate_within_commission");
    }),
    { numRuns: 60 },
  );
});
