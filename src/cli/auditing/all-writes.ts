/** The audit trail over all tables that have callers. */
import { listWrites, type WritesPage, type WritesQuery } from "../../ledger/list-writes.ts";
import type { Database, Queryable } from "../../postgres/database.ts";
import type { Uuid } from "../../std/id.ts";
import { LANE_TABLES } from "../../verify/lane-tables.ts";

const REQUESTED = LANE_TABLES.records.filter(({ hasCaller }) => hasCaller);

export function listAllWrites(database: Database, query: WritesQuery): Promise<WritesPage> {
  return listWrites(database, REQUESTED, query);
}

/**
 * Of orders all that have had it: their claim passes to the next one a day after they are closed.
 * @returns the ids of the records of any customer that have this ref_id. A few index probes per customer
 */
export async function findByRefId(database: Queryable, refId: string): Promise<Set<string>> {
  const rows = await database.rows<{ id: string }>(
    `select c.id from customer
      cross join unnest('{conversion,legal_hold}'::claim_kind[]) as k(kind)
       join claim c on c.customer_id = customer.id and c.kind = k.kind and c.ref_id = $1
     union all
     select t.id from customer join transfer t on t.customer_id = customer.id and t.ref_id = $1
     union all
     select o.id from customer join orders o on o.customer_id = customer.id and o.ref_id = $1`,
    [refId],
  );
  return new Set(rows.map((row) => row.id));
}

/**
 * @returns the ids that are in the keys of writes to what belongs to a customer: its profiles, and the records of
 * configuration, of which there are few
 */
export async function findBelongingsOf(database: Queryable, id: Uuid): Promise<Set<string>> {
  const rows = await database.rows<{ id: string }>(
    `select id from configuration_write where customer_id = $1 or subject = $2
     union all
     select id from profile where customer_id = $1`,
    [id, id],
  );
  return new Set(rows.map((row) => row.id));
}
