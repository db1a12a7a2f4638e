import type { ChainHead } from "../ledger/stored-batches.ts";
import { type Amount, amountOf } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import type { Database } from "../postgres/database.ts";
import type { Uuid } from "../std/id.ts";

const PAGE = 1_000;

/** The last balances of an account within the export. */
export interface Closing {
  readonly ownerId: Uuid;
  readonly asset: AssetCode;
  readonly available: Amount;
  readonly trading: Amount;
  readonly pending: Amount;
  /** Whether it is the owner's first account in the export. */
  readonly isFirst: boolean;
}

export function readAssets(database: Database): Promise<Pick<Asset, "code" | "kind">[]> {
  return database.rows<Pick<Asset, "code" | "kind">>("select code, kind from asset order by code");
}

export interface ProfileName {
  readonly customerId: Uuid;
  readonly customer: string;
  readonly nickname: string;
}

/** As they are now, by profile. */
export async function readProfileNames(database: Database, ids: readonly Uuid[]): Promise<Map<Uuid, ProfileName>> {
  const rows = await database.rows<{ id: Uuid; customer_id: Uuid; customer: string; nickname: string }>(
    `select p.id, p.customer_id, c.name as customer, p.nickname
       from profile p join customer c on c.id = p.customer_id where p.id = any($1::uuid[])`,
    [ids],
  );
  return new Map(
    rows.map(({ id, customer_id, customer, nickname }) => [id, { customerId: customer_id, customer, nickname }]),
  );
}

type ClosingRow = { readonly owner_id: Uuid; readonly asset: AssetCode } & (
  | { readonly available: string; readonly trading: string; readonly pending: string }
  | { readonly available: null }
);

/**
 * Yields every account as of its last posting within these heads, in primary key order. Postings never change, so pages
 * may be read at any time. Heads were read in one statement, so the postings within them are a prefix of each account's
 * postings. A binary search that starts at the current last posting finds its end.
 */
export async function* walkClosings(database: Database, heads: readonly ChainHead[]): AsyncGenerator<Closing[]> {
  const [slots, numbers] = [heads.map(({ slot }) => slot), heads.map(({ n }) => n)];
  let after: Pick<ClosingRow, "owner_id" | "asset"> | undefined = {
    owner_id: "00000000-0000-0000-0000-000000000000" as Uuid,
    asset: "" as AssetCode,
  };
  let owner: Uuid | undefined;
  const closings: Closing[] = [];
  while (after !== undefined) {
    const rows: ClosingRow[] = await database.rows<ClosingRow>(
      `with recursive head as (select * from unnest($4::smallint[], $5::bigint[]) as h(slot, n)),
       search(owner_id, asset, low, high, probe) as (
         (select owner_id, asset, 0::bigint, version, version from account
           where (owner_id, asset) > ($1, $2) order by owner_id, asset limit $3)
         union all
         select s.owner_id, s.asset, n.low, n.high, (n.low + n.high + 1) / 2
           from search s
          cross join lateral (
                select exists (select from posting p join head on head.slot = p.slot and p.batch <= head.n
                                where p.owner_id = s.owner_id and p.asset = s.asset and p.version = s.probe) as yes) as fits
          cross join lateral (
                select case when yes then probe else low end as low, case when yes then high else probe - 1 end as high) as n
          where s.low < s.high)
       select s.owner_id, s.asset, last.available, last.trading, last.pending
         from search s left join lateral (
              select p.available, p.trading, p.pending from posting p
               where p.owner_id = s.owner_id and p.asset = s.asset and p.version <= s.low
               order by p.version desc limit 1) as last on true
        where s.low = s.high
        order by s.owner_id, s.asset`,
      [after.owner_id, after.asset, PAGE, slots, numbers],
    );
    for (const row of rows) {
      // Opened after the heads.
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
    // Full pages, so that the text does not depend on how many accounts were opened after the heads.
    if (closings.length >= PAGE) yield closings.splice(0, PAGE);
    after = rows.length < PAGE ? undefined : rows.at(-1);
  }
  if (closings.length > 0) yield closings;
}
