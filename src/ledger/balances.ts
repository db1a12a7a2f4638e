/** A profile's balances, now or at a past time. */
import { type Amount, amountOf, ZERO } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import type { ProfileId } from "./accounts.ts";

export interface Balance {
  readonly asset: AssetCode;
  readonly available: Amount;
  /** Held by open orders. */
  readonly trading: Amount;
  /** Held by CREATED conversions, open withdrawals and legal holds. */
  readonly pending: Amount;
}

interface BalanceRow {
  readonly asset: AssetCode;
  readonly available: string;
  readonly trading: string;
  readonly pending: string;
}

/**
 * Balances in the order of `assets`; an account that was never opened is zero.
 * @param at reads the balances at that time, including postings of that very millisecond
 */
export async function readBalances(
  database: Queryable,
  profileId: ProfileId,
  assets: readonly AssetCode[],
  at?: Instant,
): Promise<Balance[]> {
  const rows = at === undefined ? await now(database, profileId, assets) : await then(database, profileId, assets, at);
  const found = new Map(rows.map((row) => [row.asset, row]));
  return assets.map((asset) => {
    const row = found.get(asset);
    if (row === undefined) return { asset, available: ZERO, trading: ZERO, pending: ZERO };
    const { available, trading, pending } = row;
    return { asset, available: amountOf(available), trading: amountOf(trading), pending: amountOf(pending) };
  });
}

function now(database: Queryable, profileId: ProfileId, assets: readonly AssetCode[]): Promise<BalanceRow[]> {
  return database.rows<BalanceRow>(
    "select asset, available, trading, pending from account where owner_id = $1 and asset = any($2)",
    [profileId, assets],
    "once",
  );
}

/**
 * An account's postings are numbered without gaps and their times never decrease, so a binary search over the primary
 * key finds the last posting at or before `at` without an index on time. Each probe is a scalar subquery, so that the
 * planner cannot turn it into a join; `offset 0` stops it from being inlined into both `case` expressions.
 */
function then(
  database: Queryable,
  profileId: ProfileId,
  assets: readonly AssetCode[],
  at: Instant,
): Promise<BalanceRow[]> {
  return database.rows<BalanceRow>(
    `with recursive search(asset, low, high) as (
       select asset, case when at <= $3 then version else 0 end, case when at <= $3 then version else version - 1 end
         from account where owner_id = $1 and asset = any($2)
       union all
       select asset, case when is_early then middle else low end, case when is_early then high else middle - 1 end
         from (select asset, low, high, (low + high + 1) / 2 as middle,
                      (select p.at <= $3 from posting p
                        where p.owner_id = $1 and p.asset = search.asset
                          and p.version = (search.low + search.high + 1) / 2) as is_early
                 from search where low < high offset 0) as step)
     select p.asset, p.available, p.trading, p.pending
       from search join posting p on p.owner_id = $1 and p.asset = search.asset and p.version = search.low
      where search.low = search.high`,
    [profileId, assets, formatInstant(at)],
  );
}
