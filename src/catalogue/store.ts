import { formatAmount } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import { type Market, marketOf } from "./market.ts";

export function readAssets(database: Queryable): Promise<Asset[]> {
  return database.rows<Asset>("select code, kind, precision from asset order by code");
}

export async function readMarkets(database: Queryable): Promise<Market[]> {
  const rows = await database.rows<Readonly<Record<string, string | number>>>(
    `select code, number, base, quote, price_decimals, base_decimals, tick, min_base_amount, max_base_amount,
            min_quote_amount, max_quote_amount, max_notional_value, taker_rate, maker_rebate
       from market order by code`,
  );
  return rows.map(marketOf);
}

export async function writeCatalogue(
  database: Queryable,
  assets: readonly Asset[],
  markets: readonly Market[],
): Promise<void> {
  await database.rows(
    `insert into asset (code, kind, precision)
     select * from unnest($1::text[], $2::asset_kind[], $3::smallint[]) on conflict do nothing`,
    [assets.map((asset) => asset.code), assets.map((asset) => asset.kind), assets.map((asset) => asset.precision)],
  );
  const amounts = [
    "tick",
    "minBaseAmount",
    "maxBaseAmount",
    "minQuoteAmount",
    "maxQuoteAmount",
    "maxNotionalValue",
    "takerRate",
    "makerRebate",
  ] as const;
  await database.rows(
    `insert into market (code, number, base, quote, price_decimals, base_decimals, tick, min_base_amount,
                         max_base_amount, min_quote_amount, max_quote_amount, max_notional_value, taker_rate,
                         maker_rebate, status, seq)
     select k.*, 'OPEN', 1
       from unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::smallint[], $6::smallint[], $7::numeric[],
                   $8::numeric[], $9::numeric[], $10::numeric[], $11::numeric[], $12::numeric[], $13::numeric[],
                   $14::numeric[]) as k
         on conflict do nothing`,
    [
      markets.map((market) => market.code),
      markets.map((market) => market.number),
      markets.map((market) => market.base),
      markets.map((market) => market.quote),
      markets.map((market) => market.priceDecimals),
      markets.map((market) => market.baseDecimals),
      ...amounts.map((name) => markets.map((market) => formatAmount(market[name]))),
    ],
  );
}
