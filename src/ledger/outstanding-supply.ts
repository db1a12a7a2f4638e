/**
 * Outstanding supply and its backing, from the house accounts alone: a few rows per slot, so it is cheap to read. Only
 * `verify` checks that profiles and fees hold exactly the outstanding supply.
 */
import type { AssetCode } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";

/** Of one stablecoin. Decimal text, in dollars: every coin is worth one. */
export interface OutstandingSupply {
  readonly coin: AssetCode;
  readonly reserve: string;
  readonly supply: string;
  /** Reserve minus supply; "0" when the ledger is correct. */
  readonly gap: string;
}

/** The stablecoins of the catalogue, and whatever else is in a reserve or was issued, by code. */
export function readOutstandingSupply(database: Queryable): Promise<OutstandingSupply[]> {
  return database.rows<OutstandingSupply>(
    `with reserve as (
       select coalesce(coin, '') as coin, sum(available) as amount from account where house = 'reserve' and asset = 'USD' group by 1
     ), supply as (
       select asset as coin, -sum(available) as amount from account where house = 'issuance' group by 1
     ), coin as (
       select code as coin from asset where kind = 'stablecoin' union select coin from reserve union select coin from supply
     )
     select coin, trim_scale(coalesce(r.amount, 0))::text as reserve, trim_scale(coalesce(s.amount, 0))::text as supply,
            trim_scale(coalesce(r.amount, 0) - coalesce(s.amount, 0))::text as gap
       from coin left join reserve r using (coin) left join supply s using (coin)
      order by coin`,
  );
}
