/**
 * Outstanding supply and its backing, from the house accounts alone: a few rows per slot, so it is cheap to read. Only
 * `verify` checks that profiles hold exactly the outstanding supply.
 */
import type { AssetCode } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";

/** Decimal text, in dollars: every coin is worth one. */
export interface OutstandingSupply {
  readonly reserve: string;
  readonly supply: readonly { readonly asset: AssetCode; readonly amount: string }[];
  /** Reserve minus supply; "0" when the ledger is correct. */
  readonly gap: string;
}

export async function readOutstandingSupply(database: Queryable): Promise<OutstandingSupply> {
  const [row] = await database.rows<OutstandingSupply>(
    `with house as (
       select a.house, a.asset, sum(a.available) as amount from account a
        where a.house = 'issuance' or (a.house = 'reserve' and a.asset = 'USD') group by a.house, a.asset
     ), supply as (
       select k.code as asset, coalesce(-h.amount, 0) as amount
         from asset k left join house h on h.house = 'issuance' and h.asset = k.code where k.kind = 'stablecoin'
     ), reserve as (select coalesce(sum(amount), 0) as amount from house where house = 'reserve')
     select r.amount::text as reserve, trim_scale(r.amount - (select coalesce(sum(amount), 0) from supply))::text as gap,
            (select coalesce(json_agg(json_build_object('asset', asset, 'amount', amount::text) order by asset), '[]')
               from supply) as supply
       from reserve r`,
  );
  return row ?? { reserve: "0", supply: [], gap: "0" };
}
