import { type Column, namesOf, type SqlRecord } from "../ledger/columns.ts";
import { formatAmount } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import { type FeeTier, highestRebate } from "./fee-tiers.ts";
import { assetColumns, assetOf, feeTierColumns, feeTierOf, type Market, marketColumns, marketOf } from "./market.ts";

export async function readAssets(database: Queryable): Promise<Asset[]> {
  const rows = await database.rows<SqlRecord>(`select ${namesOf(assetColumns)} from asset order by code`);
  return rows.map(assetOf);
}

export async function readMarkets(database: Queryable): Promise<Market[]> {
  const tier = feeTierColumns.map(({ name }) => `'${name}', ${name}::text`).join(", ");
  const rows = await database.rows<SqlRecord & { readonly fee_tiers: readonly SqlRecord[] }>(
    `select ${namesOf(marketColumns)},
            (select json_agg(json_build_object(${tier}) order by minimum_gross)
               from fee_tier where market = m.code) as fee_tiers
       from market m order by code`,
  );
  return rows.map(({ fee_tiers, ...row }) => marketOf(row, fee_tiers.map(feeTierOf)));
}

/** Whether the database was ever filled from an operator's file. */
export async function readOwnCatalogueMark(database: Queryable): Promise<boolean> {
  const [ledger] = await database.rows<{ own_catalogue: boolean }>("select own_catalogue from ledger");
  return ledger?.own_catalogue === true;
}

/** Also the lock by which programs that fill at once take turns. */
export async function keepOwnCatalogueMark(database: Queryable, isOperators: boolean): Promise<void> {
  await database.rows("update ledger set own_catalogue = own_catalogue or $1", [isOperators]);
}

const SCHEDULE: readonly Column<Market>[] = [
  { name: "market", type: "text", text: ({ code }) => code },
  { name: "rebate_ceiling", type: "numeric", text: ({ feeTiers }) => formatAmount(highestRebate(feeTiers)) },
];

const TIERS: readonly Column<FeeTier & { readonly market: string }>[] = [
  { name: "market", type: "text", text: ({ market }) => market },
  ...feeTierColumns,
];

/** @returns false if there is one of this code */
export async function insertAsset(database: Queryable, asset: Asset): Promise<boolean> {
  const added = new Unnesting();
  const rows = await database.rows(
    `insert into asset (${namesOf(assetColumns)}) select * from ${added.rows(assetColumns, [asset])}
     on conflict (code) do nothing returning code`,
    added.values,
  );
  return rows.length > 0;
}

/** @returns false if there is one of this code */
export async function insertMarket(database: Queryable, market: Market): Promise<boolean> {
  const tiers = market.feeTiers.map((tier) => ({ ...tier, market: market.code }));
  const opened = new Unnesting();
  const rows = await database.rows(
    `with opened as (
       insert into market (${namesOf(marketColumns)}, status, version)
       select k.*, 'OPEN', 1 from ${opened.rows(marketColumns, [market])} on conflict (code) do nothing
       returning code),
     scheduled as (
       insert into fee_schedule (${namesOf(SCHEDULE)})
       select k.* from ${opened.rows(SCHEDULE, [market])} join opened on code = market
       returning market, rebate_ceiling)
     insert into fee_tier (${namesOf(TIERS)}, rebate_ceiling)
     select k.*, rebate_ceiling from ${opened.rows(TIERS, tiers)} join scheduled using (market)
     returning market`,
    opened.values,
  );
  return rows.length > 0;
}

/** Rows as a table `k` of a statement, one array per column. */
class Unnesting {
  readonly values: (string | null)[][] = [];

  rows<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
    const arrays = columns.map(({ type, text }) => `$${this.values.push(rows.map(text))}::${type}[]`);
    return `unnest(${arrays.join(", ")}) as k(${namesOf(columns)})`;
  }
}
