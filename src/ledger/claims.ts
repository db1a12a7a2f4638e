import type { Queryable } from "../postgres/database.ts";
import type { Uuid } from "../std/id.ts";
import { type Claim, type ClaimKind, claimKey } from "./decision.ts";

/** Which record has each of these ref_ids; those that are free are missing from the answer. */
export async function findClaims(
  database: Queryable,
  claims: readonly Pick<Claim, "customerId" | "kind" | "refId">[],
): Promise<Map<string, Uuid>> {
  if (claims.length === 0) return new Map();
  const rows = await database.rows<{ customer_id: Uuid; kind: ClaimKind; ref_id: string; id: Uuid }>(
    `select c.customer_id, c.kind, c.ref_id, c.id
       from claim c join unnest($1::uuid[], $2::claim_kind[], $3::text[]) as k(customer_id, kind, ref_id)
         on c.customer_id = k.customer_id and c.kind = k.kind and c.ref_id = k.ref_id`,
    [claims.map((claim) => claim.customerId), claims.map((claim) => claim.kind), claims.map((claim) => claim.refId)],
  );
  return new Map(
    rows.map((row) => [claimKey({ customerId: row.customer_id, kind: row.kind, refId: row.ref_id }), row.id]),
  );
}
