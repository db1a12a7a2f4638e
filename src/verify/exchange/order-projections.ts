/**
 * The tables that are derived from orders: each of their rows has the values of an order with the status that the table
 * is for. That every such order has a row is seen where orders are read. An order and its row change in one statement.
 */
import { type Order, orderTable } from "../../exchange/order.ts";
import { namesOf } from "../../ledger/columns.ts";
import { PAGE, type Projection } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import type { Tally } from "../check.ts";

/** By the name of the table. */
const STATUSES: Readonly<Record<string, string>> = {
  pending_order: "'PENDING_SUBMISSION'",
  booked_order: "'OPEN', 'SUBMITTED'",
};

interface DerivedRow {
  readonly market: string;
  readonly id: string;
  readonly found: "same" | "other" | null;
}

/** SQL: whether an order `o` has its row in the table for its status, if there is one. */
export const HAS_DERIVED_ROW = `case ${Object.entries(STATUSES)
  .map(
    ([table, statuses]) =>
      `when o.status in (${statuses}) then exists (select from ${table} d where d.market = o.market and d.id = o.id)`,
  )
  .join(" ")} else true end`;

/**
 * SQL: profile_id and these columns of each order that is not closed. They are looked up one by one: a reading of `orders`
 * would take longer with each order that ever was.
 */
export function openOrders(columns: readonly string[]): string {
  const derived = Object.keys(STATUSES).map((table) => `select profile_id, id from ${table}`);
  return `select d.profile_id, ${columns.map((column) => `o.${column}`).join(", ")}
            from (${derived.join(" union all ")}) as d
           cross join lateral (
                  select ${columns.join(", ")} from orders
                   where profile_id = d.profile_id and id = d.id and status in (${Object.values(STATUSES).join(", ")})
                   limit 1) as o`;
}

export async function checkDerivedOrders(database: Database, tally: Tally): Promise<void> {
  for (const table of orderTable.projections) {
    let after: DerivedRow | undefined;
    do {
      const rows: DerivedRow[] = await readPage(database, table, after);
      for (const { market, id, found } of rows) {
        if (found === null) tally.broken(`${table.name} ${market}/${id}`, "has no order of such a status");
        if (found === "other") tally.broken(`${table.name} ${market}/${id}`, "differs from its order");
      }
      after = rows.length < PAGE ? undefined : rows.at(-1);
    } while (after !== undefined);
  }
}

function readPage(
  database: Database,
  { name, columns }: Projection<Order>,
  after: DerivedRow | undefined,
): Promise<DerivedRow[]> {
  return database.rows<DerivedRow>(
    `select d.market, d.id,
            case when o.id is null then null
                 when (${namesOf(columns, "d.")}) is distinct from (${namesOf(columns, "o.")}) then 'other'
                 else 'same' end as found
       from ${name} d
       left join orders o on o.profile_id = d.profile_id and o.id = d.id and o.status in (${STATUSES[name]})
      where (d.market, d.id) > ($1, $2) order by d.market, d.id limit $3`,
    [after?.market ?? "", after?.id ?? NO_ID, PAGE],
  );
}

const NO_ID = "00000000-0000-0000-0000-000000000000";
