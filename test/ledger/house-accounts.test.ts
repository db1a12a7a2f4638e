/** The database alone forbids what a house account may not be, whatever the program says. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ChartOfAccounts, readChartOfAccounts } from "../../src/accounting/chart-of-accounts.ts";
import { HOUSE_KINDS, houseOwnerId, readHouseKinds, reserveOf } from "../../src/ledger/house-accounts.ts";
import { amountOf, negative } from "../../src/money/amount.ts";
import type { AssetCode } from "../../src/money/asset.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newProfile } from "../support/movements.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
  await db.owner.rows(
    "insert into house_kind (kind, may_be_negative, account_class) values ('seized', false, 'Liabilities')",
  );
});
afterAll(() => db.close());

const HOUSE = "ffffffff-0000-8000-8000-000000000001";

/** The error that the service's own role gets when it opens this account. */
async function opened(columns: Readonly<Record<string, unknown>>): Promise<unknown> {
  const row = {
    asset: "USD",
    available: 0,
    trading: 0,
    pending: 0,
    at: "2026-11-22",
    last_deactivation: 0,
    version: 1,
    ...columns,
  };
  const names = Object.keys(row);
  const text = `insert into account (${names}) values (${names.map((_, i) => `$${i + 1}`)})`;
  try {
    await db.database.rows(text, Object.values(row));
    return "opened";
  } catch (error) {
    return (
      (error as { cause?: { constraint?: string } }).cause?.constraint ?? (error as { constraint?: string }).constraint
    );
  }
}

test.each([
  ["a kind that is no row", { house: "transit", may_be_negative: true }, "house_kind_exists_with_this_sign"],
  ["fees that may be negative", { house: "fees", may_be_negative: true }, "house_kind_exists_with_this_sign"],
  ["fees below zero", { house: "fees", may_be_negative: false, available: -1 }, "not_overdrawn"],
  ["a kind without its sign", { house: "world" }, "house_has_sign"],
  ["a sign without a kind", { may_be_negative: true }, "house_has_sign"],
  ["money held", { house: "world", may_be_negative: true, trading: 1 }, "house_has_one_part"],
  [
    "a custodian with a colon",
    { house: "reserve", may_be_negative: true, custodian: "a:b" },
    "custodian_of_2_to_16_letters",
  ],
  ["a kind that was added, below zero", { house: "seized", may_be_negative: false, available: -1 }, "not_overdrawn"],
  ["a kind that was added", { house: "seized", may_be_negative: false, coin: "USDG", available: 1 }, "opened"],
])("a house account of %s", async (_what, columns, outcome) => {
  expect(await opened({ owner_id: HOUSE, ...columns })).toBe(outcome);
});

test.each([
  ["overdrawn", { available: -1 }, "not_overdrawn"],
  [
    "marked as a house account",
    { house: "world", may_be_negative: true, available: -1 },
    "owner_is_house_from_ffffffff",
  ],
  ["with a house account's id", { owner_id: houseOwnerId("world", 1) }, "owner_is_house_from_ffffffff"],
  ["with a coin", { coin: "USDG" }, "coin_and_custodian_of_house"],
  ["as it should be", {}, "opened"],
])("an account of a profile %s", async (_what, columns, outcome) => {
  expect(await opened({ owner_id: newProfile(), ...columns })).toBe(outcome);
});

test("the kinds of the schema are those of the program, and may be negative alike", async () => {
  const stored = (await readHouseKinds(db.database)).filter(({ kind }) => kind !== "seized");
  const known = Object.entries(HOUSE_KINDS).map(([kind, { mayBeNegative }]) => ({ kind, mayBeNegative }));
  expect(stored.map(({ kind, mayBeNegative }) => ({ kind, mayBeNegative }))).toEqual(
    known.sort((a, b) => (a.kind < b.kind ? -1 : 1)),
  );
});

test("a kind that was added has its place in the chart of accounts", async () => {
  await opened({ owner_id: HOUSE, house: "seized", may_be_negative: false, coin: "USDG" });
  const chart: ChartOfAccounts = await readChartOfAccounts(db.database);
  const one = amountOf("1");
  expect(chart.entriesOf(HOUSE as never, "available", one)).toEqual([
    { account: "Liabilities:Seized:USDG:Slot-1", amount: negative(one) },
  ]);
  const coin = "USDG" as AssetCode;
  const [reserve, house] = [houseOwnerId(reserveOf(coin), 10), { house: "reserve", coin, custodian: "default" }];
  const kinds = await readHouseKinds(db.database);
  expect(
    new ChartOfAccounts(db.database, new Map([[reserve, house]]), kinds).entriesOf(reserve, "available", one),
  ).toEqual([
    { account: "Assets:Reserve:USDG:Default:Slot-10", amount: one },
    { account: "Assets:Custody:Reserved:USDG:Default:Slot-10", amount: negative(one) },
    { account: "Equity:Backing:USDG:Default:Slot-10", amount: negative(one) },
  ]);
});
