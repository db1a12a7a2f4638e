/**
 * What profiles hold in `pending`, and why: the reasons are conversion, approval (a withdrawal that waits for it),
 * withdrawal (approved or sent) and legal. Each reason's query reads an index of what is open.
 */
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

export const pendingExamination = holdsExamination({ check: "pending", part: "pending", query: PENDING_HOLDS });
