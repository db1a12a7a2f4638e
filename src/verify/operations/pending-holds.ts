/**
 * What profiles hold in `pending`, and why: the reasons are conversion, approval (a withdrawal that waits for it),
 * withdrawal (approved or sent) and legal. Each reason's query reads an index of what is open.
 */
import type { ProfileId } from "../../ledger/accounts.ts";
import type { Queryable } from "../../postgres/database.ts";
import { holdsExamination } from "../ledger/holds.ts";

/** SQL: owner_id, asset, amount, reason and id of every hold in `pending`. */
const PENDING_HOLDS = `
  select profile_id as owner_id, source_asset as asset, amount, 'conversion' as reason, id
    from conversion where status = 'CREATED'
  union all
  select t.from_profile_id, t.asset, t.amount, case e.status when 'requested' then 'approval' else 'withdrawal' end, t.id
    from external_transfer e join transfer t on t.customer_id = e.customer_id and t.id = e.id
   where e.status in ('requested', 'approved', 'sent') and t.from_profile_id is not null
  union all
  select profile_id, asset, amount, 'legal', id from legal_hold where lifted_at is null`;

interface PendingHold {
  readonly reason: "conversion" | "approval" | "withdrawal" | "legal";
  readonly asset: string;
  readonly amount: string;
  /** Of the conversion, the transfer or the legal hold. */
  readonly id: string;
}

/** Why money of a profile is in `pending`, the oldest first. */
export function listPendingHolds(database: Queryable, profileId: ProfileId, limit: number): Promise<PendingHold[]> {
  return database.rows<PendingHold>(
    `select reason, asset, trim_scale(amount)::text as amount, id from (${PENDING_HOLDS}) as held
      where owner_id = $1 order by id limit $2`,
    [profileId, limit],
  );
}

export const pendingExamination = holdsExamination({ check: "pending", part: "pending", query: PENDING_HOLDS });
