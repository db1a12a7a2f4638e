/**
 * The sums of the bank test: what exists of each asset, in all accounts. Read in one statement, so in one snapshot, as
 * an operator would; and over HTTP, where a sum over several requests means something.
 */
import { deepStrictEqual } from "node:assert/strict";
import { type Amount, amountOf, formatAmount } from "../../src/money/amount.ts";
import type { Queryable } from "../../src/postgres/database.ts";
import { assert } from "../../src/std/assert.ts";
import type { Client } from "./client.ts";
import type { Shown } from "./lifecycles.ts";
import { COINS, DOLLARS } from "./requests-at-random.ts";
import { isExternal, MOVED_BY_OPERATORS } from "./requests-of-operators.ts";

/** By "what asset", in canonical text; what is not there is zero. */
type Totals = ReadonlyMap<string, string>;

const LIST_OF_DOLLARS = DOLLARS.map((asset) => `'${asset}'`).join(", ");

const TOTALS = `
  with owned as (select asset::text as asset, sum(available + trading + pending) as amount,
                        sum(trading) as trading, sum(pending) as pending
                   from account where house is null group by 1),
       houses as (select house, asset::text as asset, sum(available) as amount
                    from account where house is not null group by 1, 2),
       external as (select t.asset::text as asset, t.amount, t.from_profile_id is null as is_deposit, e.status
                      from external_transfer e join transfer t using (customer_id, id)),
       arrived as (select asset, case when is_deposit then amount else -amount end as amount
                     from external where status = 'completed')
  select what, asset, trim_scale(sum(amount))::text as amount from (
    select 'all' as what, asset, amount from owned
    union all select 'all', asset, amount from houses
    union all select 'owned', asset, amount from owned
    union all select house, asset, amount from houses where house not in ('reserve', 'world')
    union all select 'world at first', asset, amount from houses where house = 'world'
    union all select 'world at first', case when asset in (${LIST_OF_DOLLARS}) then 'USD' else asset end, amount from arrived
    union all select 'owned at first', asset, amount from owned
    union all select 'owned at first', asset, -amount from arrived
    union all select 'issued', asset, -amount from houses where house = 'issuance'
    union all select 'in trading', asset, trading from owned
    union all select 'in pending', asset, pending from owned
    union all select 'reserve', coin, sum(available) from account where house = 'reserve' and asset = 'USD' group by coin
    union all select 'dollars', 'USD', amount from owned where asset in (${LIST_OF_DOLLARS})
    union all select 'dollars', 'USD', amount from houses where house = 'fees' and asset = 'USD'
    union all select 'dollars', 'USD', -amount from arrived where asset in (${LIST_OF_DOLLARS})
    union all select 'held by orders', case o.side when 'BUY' then m.quote else m.base end::text, o.held
                from orders o join market m on m.code = o.market where o.closed_at is null
    union all select 'held otherwise', source_asset::text, amount from conversion where status = 'CREATED'
    union all select 'held otherwise', asset, amount from external
               where not is_deposit and status in ('requested', 'approved', 'sent')
    union all select 'held otherwise', asset::text, amount from legal_hold where lifted_at is null
  ) as t group by 1, 2`;

export async function readTotals(database: Queryable): Promise<Totals> {
  const rows = await database.rows<{ what: string; asset: string; amount: string }>(TOTALS);
  return new Map(rows.map(({ what, asset, amount }) => [`${what} ${asset}`, amount]));
}

/**
 * What may move between those who have it, and never changes in sum; what `before` is to the totals of the opening. What
 * operators have brought in or out with steps is left out of what is compared with these.
 */
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
    same(asset, "world at first");
    equal(asset, "in trading", "held by orders");
    equal(asset, "in pending", "held otherwise");
    if (asset !== "USD" && asset !== "ETH" && asset !== "LTC") equal(asset, "owned", "issued");
    if (asset !== "USD" && asset !== "ETH" && asset !== "LTC") equal(asset, "reserve", "issued");
  }
  for (const asset of COINS) same(asset, "owned at first");
  same("USD", "dollars");
}

/**
 * The same over HTTP. What only customers move, no conversion changes and no fee touches is the same at every moment that
 * has passed, `moments`. Everything else is, with what was paid in fees and what operators moved or hold, when no
 * conversion is under way.
 */
export async function expectTotalsOverHttp(
  clients: readonly Client[],
  opening: Readonly<Record<string, string>>,
  moments: readonly string[],
  legalHolds: readonly Shown[],
): Promise<void> {
  const profiles = clients.reduce((count, { profileIds }) => count + profileIds.length, 0);
  const inAll = (assets: readonly string[]): string =>
    formatAmount(
      (assets.reduce((sum, asset) => sum + amountOf(opening[asset] ?? "0"), 0n) * BigInt(profiles)) as Amount,
    );
  const untouched = COINS.filter((asset) => !MOVED_BY_OPERATORS.some((moved) => moved === asset));
  for (const at of moments) {
    const sum = sumOf(await sumBalances(clients, untouched, at), untouched);
    deepStrictEqual(sum, inAll(untouched), `${untouched} at ${at}`);
  }
  const sums = await sumBalances(clients, [...DOLLARS, ...COINS], undefined);
  const add = (asset: string, amount: bigint): Map<string, bigint> => sums.set(asset, (sums.get(asset) ?? 0n) + amount);
  for (const client of clients) {
    for (const { commission, rebate } of await client.listExecutions())
      add("USD", amountOf(commission) - amountOf(rebate));
    for (const { asset, amount, direction, status } of (await client.list("transfer")).filter(isExternal)) {
      if (direction === "DEBIT" && status !== "FAILED") add(String(asset), amountOf(String(amount)));
      if (direction === "CREDIT" && status === "COMPLETED") add(String(asset), -amountOf(String(amount)));
    }
  }
  for (const { asset, amount, status } of legalHolds)
    if (status === "HELD") add(String(asset), amountOf(String(amount)));
  for (const assets of [DOLLARS, ...COINS.map((asset) => [asset])])
    deepStrictEqual(sumOf(sums, assets), inAll(assets), `${assets.join(" and ")} over HTTP`);
}

const sumOf = (sums: ReadonlyMap<string, bigint>, assets: readonly string[]): string =>
  formatAmount(assets.reduce((sum, asset) => sum + (sums.get(asset) ?? 0n), 0n) as Amount);

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
