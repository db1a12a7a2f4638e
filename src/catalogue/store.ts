import { formatAmount } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import { highestRebate } from "./fee-tiers.ts";
import { feeTierOf, type Market, marketOf } from "./market.ts";

export function readAssets(database: Queryable): Promise<Asset[]> {
  return database.rows<Asset>("select code, kind, precision from asset order by code");
}

type Row = Readonly<Record<string, string | number>>;

export async function readMarkets(database: Queryable): Promise<Market[]> {
  const rows = await database.rows<Row & { readonly fee_tiers: unknown }>(
    `select code, number, base, quote, price_decimals, base_decimals, tick, min_base_amount, max_base_amount,
            min_quote_amount, max_quote_amount, max_notional_value,
            (select json_agg(json_build_object('minimum_gross', minimum_gross::text, 'taker_rate', taker_rate::text,
                                               'maker_rebate', maker_rebate::text) order by minimum_gross)
               from fee_tier where market = m.code) as fee_tiers
       from market m order by code`,
  );
  return rows.map(({ fee_tiers, ...row }) => marketOf(row, (fee_tiers as Row[]).map(feeTierOf)));
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
  ] as const;
  const tiers = markets.flatMap(({ code, feeTiers }) => feeTiers.map((tier) => ({ ...tier, market: code })));
  await database.rows(
    `with opened as (
       insert into market (code, number, base, quote, price_decimals, base_decimals, tick, min_base_amount,
                           max_base_amount, min_quote_amount, max_quote_amount, max_notional_value, status, seq)
       select k.*, 'OPEN', 1
         from unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::smallint[], $6::smallint[], $7::numeric[],
                     $8::numeric[], $9::numeric[], $10::numeric[], $11::numeric[], $12::numeric[]) as k
           on conflict do nothing
       returning code),
     scheduled as (
       insert into fee_schedule (market, rebate_ceiling)
       select k.* from unnest($1::text[], $13::numeric[]) as k(market, ceiling) join opened on code = market
       returning market, rebate_ceiling)
     insert into fee_tier (market, minimum_gross, taker_rate, maker_rebate, rebate_ceiling)
     select k.*, rebate_ceiling
       from unnest($14::text[], $15::numeric[], $16::numeric[], $17::numeric[]) as k(market) join scheduled using (market)`,
    [
      markets.map((market) => market.code),
      markets.map((market) => market.number),
      markets.map((market) => market.base),
      markets.map((market) => market.quote),
      markets.map((market) => market.priceDecimals),
      markets.map((market) => market.baseDecimals),
      ...amounts.map((name) => markets.map((market) => formatAmount(market[name]))),
      markets.map((market) => formatAmount(highestRebate(market.feeTiers))),
      tiers.map((tier) => tier.market),
      ...(["minimumGross", "takerRate", "makerRebate"] as const).map((name) =>
        tiers.map((tier) => formatAmount(tier[name])),
      ),
    ],
  );
}
