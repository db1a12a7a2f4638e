import type { ChainHead } from "../ledger/verify-batches.ts";
import { amountOf } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import type { Database } from "../postgres/database.ts";
import type { Uuid } from "../std/id.ts";
import type { Closing } from "./journal-text.ts";

const PAGE = 1_000;

export async function readAssets(database: Database): Promise<AssetCode[]> {
  const rows = await database.rows<{ code: AssetCode }>("select code from asset order by code");
  return rows.map(({ code }) => code);
}

type ClosingRow = { readonly owner_id: Uuid; readonly asset: AssetCode } & (
  | { readonly available: string; readonly trading: string; readonly pending: string }
  | { readonly available: null }
);

/**
 * Every account as it was left by its last posting that is within these heads, in pages by primary key. Postings never
 * change, so it does not matter when a page is read. What was posted behind the heads is stepped over from the last one
 * back: a lot only where a lot was posted since.
 */
export async function* walkClosings(database: Database, heads: readonly ChainHead[]): AsyncGenerator<Closing[]> {
  const [slots, numbers] = [heads.map(({ slot }) => slot), heads.map(({ n }) => n)];
  let after: Pick<ClosingRow, "owner_id" | "asset"> | undefined = {
    owner_id: "00000000-0000-0000-0000-000000000000" as Uuid,
    asset: "" as AssetCode,
  };
  let owner: Uuid | undefined;
  while (after !== undefined) {
    const rows: ClosingRow[] = await database.rows<ClosingRow>(
      `with page as materialized (
         select owner_id, asset from account where (owner_id, asset) > ($1, $2) order by owner_id, asset limit $3)
       select page.owner_id, page.asset, last.available, last.trading, last.pending
         from page left join lateral (
              select p.available, p.trading, p.pending from posting p
               where p.owner_id = page.owner_id and p.asset = page.asset
                 and exists (select from unnest($4::smallint[], $5::bigint[]) as head(slot, n)
                              where head.slot = p.slot and p.batch <= head.n)
               order by p.seq desc limit 1) as last on true
        order by page.owner_id, page.asset`,
      [after.owner_id, after.asset, PAGE, slots, numbers],
    );
    const closings: Closing[] = [];
    for (const row of rows) {
      // Opened behind the heads.
      if (row.available === null) continue;
      const { owner_id, asset } = row;
      closings.push({
        ownerId: owner_id,
        asset,
        available: amountOf(row.available),
        trading: amountOf(row.trading),
        pending: amountOf(row.pending),
        isFirst: owner_id !== owner,
      });
      owner = owner_id;
    }
    if (closings.length > 0) yield closings;
    after = rows.length < PAGE ? undefined : rows.at(-1);
  }
}
