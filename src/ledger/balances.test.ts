import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { amountOf } from "../money/amount.ts";
import { type AssetCode, USD } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import { IdSource, type Uuid } from "../std/id.ts";
import type { ProfileId } from "./accounts.ts";
import { type Balance, readBalances } from "./balances.ts";

const BTC = "BTC" as AssetCode;
const EUR = "EUR" as AssetCode;
const START = Date.UTC(2026, 0, 1) as Instant;
const POSTINGS = 100_000;

const after = (milliseconds: number): Instant => (START + milliseconds) as Instant;

let db: TestDatabase;
const ids = new IdSource();
const profile = ids.next() as Uuid as ProfileId;

/** Adds `postings` postings of 1; posting n is made `millisOf` ms after the start, an SQL expression of n. */
async function fill(asset: AssetCode, postings: number, millisOf: string): Promise<void> {
  const at = `$3::timestamptz + ${millisOf} * interval '1 millisecond'`;
  const values = [profile, asset, new Date(START)];
  await db.owner.rows(
    `insert into posting (owner_id, asset, version, journal_id, cause, part, amount, available, trading, pending, at, slot, batch)
     select $1, $2, n, $1, 'deposit', 'available', 1, n, n % 7, n % 3, ${at}, 1, 1 from generate_series(1, ${postings}) as n`,
    values,
  );
  await db.owner.rows(
    `insert into account (owner_id, asset, available, trading, pending, at, last_deactivation, version)
     select $1, $2, n, n % 7, n % 3, ${at}, 0, n from (values (${postings})) as k(n)`,
    values,
  );
}

beforeAll(async () => {
  db = await testDatabase();
  await fill(USD, POSTINGS, "n");
  // Ten at a time, and then nothing for ten milliseconds.
  await fill(BTC, 95, "10 * (n / 10)");
  await db.owner.rows("analyze posting, account");
});
afterAll(() => db.close());

function balance(asset: AssetCode, version: number): Balance {
  const [trading, pending] = [version % 7, version % 3].map(String).map(amountOf);
  return {
    asset,
    available: amountOf(`${version}`),
    trading: trading as Balance["trading"],
    pending: pending as Balance["pending"],
  };
}

test("balances are returned in the requested order, and an account that was never opened is zero", async () => {
  expect(await readBalances(db.database, profile, [EUR, USD, BTC])).toEqual([
    balance(EUR, 0),
    balance(USD, POSTINGS),
    balance(BTC, 95),
  ]);
  expect(await readBalances(db.database, profile, [])).toEqual([]);
  expect(await readBalances(db.database, ids.next() as Uuid as ProfileId, [USD])).toEqual([balance(USD, 0)]);
});

test("a balance at a time is that of the last posting up to and including that millisecond", async () => {
  for (const millis of [1, 2, 3, 49_999, 50_000, 99_999, POSTINGS]) {
    expect(await readBalances(db.database, profile, [USD], after(millis))).toEqual([balance(USD, millis)]);
  }
});

test("of several postings in one millisecond the last counts", async () => {
  for (const [millis, version] of [
    [0, 9],
    [9, 9],
    [10, 19],
    [19, 19],
    [80, 89],
    [89, 89],
    [90, 95],
  ] as const) {
    expect(await readBalances(db.database, profile, [BTC], after(millis))).toEqual([balance(BTC, version)]);
  }
});

test("a balance is zero before the first posting, and the current one after the last posting", async () => {
  const assets = [USD, BTC, EUR];
  expect(await readBalances(db.database, profile, assets, after(-1))).toEqual(assets.map((asset) => balance(asset, 0)));
  const now = await readBalances(db.database, profile, assets);
  expect(await readBalances(db.database, profile, assets, after(10 * POSTINGS))).toEqual(now);
});

test("a balance at a time takes a logarithmic number of lookups", async () => {
  const plans: { readonly Plan: { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number } }[] =
    [];
  const explaining: Queryable = {
    rows: async <Row>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
      const [row] = await db.database.rows<{ "QUERY PLAN": typeof plans }>(
        `explain (analyze, buffers, format json) ${text}`,
        values,
      );
      plans.push(...(row?.["QUERY PLAN"] ?? []));
      return [];
    },
  };
  await readBalances(explaining, profile, [USD], after(12_345));
  const blocks = plans.map(({ Plan }) => Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"]);
  // 17 probes of 4 blocks each, the account, and the posting itself; a scan of the history would read 1,500.
  expect(blocks[0]).toBeGreaterThan(40);
  expect(blocks[0]).toBeLessThan(100);
});
