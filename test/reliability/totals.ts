/**
 * The sums of the bank test: what exists of each asset, in all accounts. Read in one statement, so in one snapshot, as
 * an operator would; and over HTTP, where a sum over several requests means something.
 */
import { deepStrictEqual } from "node:assert/strict";
import { type Amount, amountOf, formatAmount } from "../../src/money/amount.ts";
import type { Queryable } from "../../src/postgres/database.ts";
import { assert } from "../../src/std/assert.ts";
import type { Client } from "./client.ts";
import { COINS, DOLLARS } from "./requests-at-random.ts";

/** By "what asset", in canonical text; what is not there is zero. */
type Totals = ReadonlyMap<string, string>;

const LIST_OF_DOLLARS = DOLLARS.map((asset) => `'${asset}'`).join(", ");

const TOTALS = `
  with owned as (select asset::text as asset, sum(available + trading + pending) as amount,
                        sum(trading) as trading, sum(pending) as pending
                   from account where house is null group by 1),
       houses as (select house, asset::text as asset, sum(available) as amount
                    from account where house is not null group by 1, 2)
  select what, asset, trim_scale(sum(amount))::text as amount from (
    select 'all' as what, asset, amount from owned
    union all select 'all', asset, amount from houses
    union all select 'owned', asset, amount from owned
    union all select house, asset, amount from houses where house <> 'reserve'
    union all select 'issued', asset, -amount from houses where house = 'issuance'
    union all select 'in trading', asset, trading from owned
    union all select 'in pending', asset, pending from owned
    union all select 'reserve', coin, sum(available) from account where house = 'reserve' and asset = 'USD' group by coin
    union all select 'dollars', 'USD', amount from owned where asset in (${LIST_OF_DOLLARS})
    union all select 'dollars', 'USD', amount from houses where house = 'fees' and asset = 'USD'
    union all select 'held by orders', case o.side when 'BUY' then m.quote else m.base end::text, o.held
                from orders o join market m on m.code = o.market where o.closed_at is null
    union all select 'held by conversions', source_asset::text, amount from conversion where status = 'CREATED'
  ) as t group by 1, 2`;

export async function readTotals(database: Queryable): Promise<Totals> {
  const rows = await database.rows<{ what: string; asset: string; amount: string }>(TOTALS);
  return new Map(rows.map(({ what, asset, amount }) => [`${what} ${asset}`, amount]));
}

/** What may move between those who have it, and never changes in sum; what `before` is to the totals of the opening. */
export function expectTotals(now: Totals, before: Totals): void {
  const of = (totals: Totals, what: string, asset: string): string => totals.get(`${what} ${asset}`) ?? "0";
  const equal = (asset: string, what: string, other: string): void =>
    assert(
      of(now, what, asset) === of(now, other, asset),
      `${what} ${asset} is ${of(now, what, asset)}, but ${other} is ${of(now, other, asset)}`,
    );
  const same = (asset: string, what: string): void =>
    assert(
      of(now, what, asset) === of(before, what, asset),
      `${what} ${asset} is ${of(now, what, asset)}, but was ${of(before, what, asset)}`,
    );
  for (const asset of [...DOLLARS, ...COINS]) {
    assert(of(now, "all", asset) === "0", `everything in ${asset} comes to ${of(now, "all", asset)}, not to 0`);
    same(asset, "world");
    equal(asset, "in trading", "held by orders");
    equal(asset, "in pending", "held by conversions");
    if (asset !== "USD" && asset !== "ETH" && asset !== "LTC") equal(asset, "owned", "issued");
    if (asset !== "USD" && asset !== "ETH" && asset !== "LTC") equal(asset, "reserve", "issued");
  }
  for (const asset of COINS) same(asset, "owned");
  same("USD", "dollars");
}

/**
 * The same over HTTP. What nobody converts and no fee touches is the same at every moment that has passed, `moments`;
 * dollars are, with what was paid in fees, when no conversion is under way.
 */
export async function expectTotalsOverHttp(
  clients: readonly Client[],
  opening: Readonly<Record<string, string>>,
  moments: readonly string[],
): Promise<void> {
  const profiles = clients.reduce((count, { profileIds }) => count + profileIds.length, 0);
  const inAll = (asset: string): Amount => (amountOf(opening[asset] ?? "0") * BigInt(profiles)) as Amount;
  for (const at of [undefined, ...moments]) {
    const sums = await sumBalances(clients, COINS, at);
    const expected = COINS.map((asset) => [asset, formatAmount(inAll(asset))]);
    deepStrictEqual(
      [...sums].map(([asset, sum]) => [asset, formatAmount(sum as Amount)]),
      expected,
      `at ${at}`,
    );
  }
  let dollars = [...(await sumBalances(clients, DOLLARS, undefined)).values()].reduce((sum, one) => sum + one, 0n);
  for (const client of clients) {
    for (const { commission, rebate } of await client.listExecutions()) {
      dollars += amountOf(commission) - amountOf(rebate);
    }
  }
  const expected = DOLLARS.reduce((sum, asset) => sum + inAll(asset), 0n);
  deepStrictEqual(formatAmount(dollars as Amount), formatAmount(expected as Amount), "dollars over HTTP");
}

async function sumBalances(
  clients: readonly Client[],
  assets: readonly string[],
  at: string | undefined,
): Promise<Map<string, bigint>> {
  const sums = new Map(assets.map((asset) => [asset, 0n]));
  for (const client of clients) {
    for (const { asset, available, trading } of await client.listBalances(assets, at)) {
      sums.set(asset, (sums.get(asset) ?? 0n) + amountOf(available) + amountOf(trading));
    }
  }
  return sums;
}
