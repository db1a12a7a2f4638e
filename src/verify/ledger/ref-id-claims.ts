/**
 * Claims: every conversion, order and legal hold with a ref_id has a claim that refers to it, every claim refers to a record, and no
 * two transfers have one ref_id. A claim and its record are written in one batch, and compared in one statement.
 */

import { PAGE } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import { type Examination, readInAnyTime, type Tally } from "../check.ts";

const CLAIMS = "claims";

/** A kind of record that has a ref_id. */
interface Claiming {
  readonly kind: "conversion" | "order" | "legal_hold";
  readonly table: string;
  /** SQL: whether record `r` has released its ref_id, so that a later record may have the claim `c`. */
  readonly released: string;
}

const CLAIMING: readonly Claiming[] = [
  { kind: "conversion", table: "conversion", released: "false" },
  { kind: "legal_hold", table: "legal_hold", released: "false" },
  // A closed order's ref_id is released after a while and may then belong to an order that was placed later. The order
  // of ids does not show which: a clock that was ahead made higher ids than those that followed.
  {
    kind: "order",
    table: "orders",
    released: `exists (select 1 from orders o
      where o.customer_id = c.customer_id and o.id = c.id and o.created_at > r.closed_at)`,
  },
];

export const claimsExamination: Examination = {
  checks: [CLAIMS],
  reads: [...CLAIMING.map(({ table }) => table), "transfer", "claim"],
  run: async (database, tally) => {
    for (const claiming of CLAIMING) await walkRecords(database, claiming, tally(CLAIMS));
    await walkTransfers(database, tally(CLAIMS));
    await walkClaims(database, tally(CLAIMS));
  },
};

const NO_ID = "00000000-0000-0000-0000-000000000000";

interface ClaimingRecord {
  readonly profile_id: string;
  readonly id: string;
  readonly ref_id: string | null;
  readonly claimed: boolean | null;
}

async function walkRecords(database: Database, { kind, table, released }: Claiming, tally: Tally): Promise<void> {
  let after: Pick<ClaimingRecord, "profile_id" | "id"> | undefined = { profile_id: NO_ID, id: NO_ID };
  while (after !== undefined) {
    const records: ClaimingRecord[] = await readInAnyTime<ClaimingRecord>(
      database,
      `select r.profile_id, r.id, r.ref_id, c.id = r.id or (${released}) as claimed
         from ${table} r left join claim c on c.customer_id = r.customer_id and c.kind = $4 and c.ref_id = r.ref_id
        where (r.profile_id, r.id) > ($1, $2) order by r.profile_id, r.id limit $3`,
      [after.profile_id, after.id, PAGE, kind],
    );
    const claiming = records.filter(({ ref_id }) => ref_id !== null);
    tally.examined(claiming.length);
    tally.read(records.length);
    for (const { profile_id, id, ref_id, claimed } of claiming) {
      if (claimed === true) continue;
      const wrong = claimed === null ? "which is not claimed" : "which another record holds";
      tally.broken(`${kind} ${profile_id}/${id}`, `has the ref_id ${JSON.stringify(ref_id)}, ${wrong}`);
    }
    after = records.length < PAGE ? undefined : records.at(-1);
  }
}

interface Reference {
  readonly customer_id: string;
  readonly ref_id: string;
  readonly id: string;
}

/** A reference that another transfer has too, or the last one of a page. */
interface ComparedReference extends Reference {
  /** The transfer before it, if it has the same. */
  readonly other: string | null;
  /** In this page. */
  readonly read: number;
}

/** A unique index keeps the ref_ids of transfers; here it is not relied on. */
async function walkTransfers(database: Database, tally: Tally): Promise<void> {
  let after: Reference | undefined = { customer_id: NO_ID, ref_id: "", id: NO_ID };
  while (after !== undefined) {
    const references: ComparedReference[] = await compareReferences(database, after);
    for (const { id, ref_id, other } of references) {
      if (other !== null)
        tally.broken(`transfer ${id}`, `has the ref_id ${JSON.stringify(ref_id)}, which transfer ${other} has too`);
    }
    const last = references.at(-1);
    const read = last?.read ?? 0;
    tally.examined(read);
    tally.read(read);
    after = read < PAGE ? undefined : last;
  }
}

/** The page begins with `after`, with which the next one is compared. */
function compareReferences(database: Database, after: Reference): Promise<ComparedReference[]> {
  return readInAnyTime<ComparedReference>(
    database,
    `with page as materialized (
       select customer_id, ref_id, id from transfer
        where ref_id is not null and (customer_id, ref_id, id) >= ($1, $2, $3)
        order by customer_id, ref_id, id limit $4),
     compared as (
       select customer_id, ref_id, id, lag(id) over (partition by customer_id, ref_id order by id) as other,
              lead(id) over (order by customer_id, ref_id, id) is null as is_last
         from page)
     select customer_id, ref_id, id, other,
            (select count(*) from page where (customer_id, ref_id, id) <> ($1, $2, $3))::integer as read
       from compared where other is not null or is_last order by customer_id, ref_id, id`,
    [after.customer_id, after.ref_id, after.id, PAGE + 1],
  );
}

interface StoredClaim {
  readonly customer_id: string;
  readonly kind: string;
  readonly ref_id: string;
  readonly found: boolean;
}

async function walkClaims(database: Database, tally: Tally): Promise<void> {
  let after: Pick<StoredClaim, "customer_id" | "kind" | "ref_id"> | undefined;
  do {
    const claims: StoredClaim[] = await readClaims(database, after);
    for (const { customer_id, kind, ref_id, found } of claims) {
      if (!found)
        tally.broken(`claim ${customer_id}/${kind}/${JSON.stringify(ref_id)}`, "refers to a record that is missing");
    }
    tally.read(claims.length);
    after = claims.length < PAGE ? undefined : claims.at(-1);
  } while (after !== undefined);
}

function readClaims(
  database: Database,
  after: Pick<StoredClaim, "customer_id" | "kind" | "ref_id"> | undefined,
): Promise<StoredClaim[]> {
  return readInAnyTime<StoredClaim>(
    database,
    `with c as materialized (
       select customer_id, kind, ref_id, id from claim
        where $1::uuid is null or (customer_id, kind, ref_id) > ($1, $2::claim_kind, $3)
        order by customer_id, kind, ref_id limit $4)
     select customer_id, kind, ref_id,
            case kind
              when 'conversion' then exists (
                select 1 from conversion t where t.customer_id = c.customer_id and t.id = c.id and t.ref_id = c.ref_id)
              when 'order' then exists (
                select 1 from orders t where t.customer_id = c.customer_id and t.id = c.id and t.ref_id = c.ref_id)
              when 'legal_hold' then exists (
                select 1 from legal_hold t where t.customer_id = c.customer_id and t.id = c.id and t.ref_id = c.ref_id)
              when 'nickname' then exists (select 1 from profile t where t.customer_id = c.customer_id and t.id = c.id)
              when 'opening' then exists (select 1 from transfer t where t.customer_id = c.customer_id and t.id = c.id)
            end as found
       from c order by customer_id, kind, ref_id`,
    [after?.customer_id ?? null, after?.kind ?? null, after?.ref_id ?? null, PAGE],
  );
}
