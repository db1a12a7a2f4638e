/**
 * Matches: the journal of each moved to profiles what its two executions and their orders ask for
 * (docs/contract/orders.md#holds-and-settlement). Executions and journal are in one batch; of orders only what never
 * changes is looked at. What is asked for is computed in SQL: exact, and a second witness beside the engine's own
 * arithmetic.
 */

import type { ExecutionId } from "../../exchange/execution.ts";
import { matchJournalId } from "../../exchange/execution-id.ts";
import { batchName, type StoredBatch } from "../../ledger/batch-log.ts";
import type { SqlRecord } from "../../ledger/rows.ts";
import type { Database } from "../../postgres/database.ts";
import type { Uuid } from "../../std/id.ts";
import type { Tally } from "../check.ts";
import type { BatchCheck } from "../ledger/chain.ts";
import { effectOn, effectText, profileEntries } from "../ledger/journals.ts";

interface Match {
  readonly batch: StoredBatch;
  readonly journalId: Uuid;
  readonly maker: SqlRecord;
  readonly taker: SqlRecord;
}

export const matchCheck: BatchCheck = {
  check: "matches",
  look: async (batches, database, tally) => {
    const matches = batches.flatMap(matchesOf);
    tally.examined(matches.length);
    const asked = await readEffects(database, matches);
    for (const { batch, journalId, maker } of matches) {
      const effect = asked.get(maker.id as string);
      const done = effectOn(profileEntries(batch.journals.get(journalId) ?? []));
      // One whose orders are missing has no effect that could be compared; other checks name it.
      if (effect !== undefined && effect !== done)
        tally.broken(`match ${maker.id}`, `asks for ${effect}, but its journal posts ${done}`);
    }
    tellStrays(batches, new Set(matches.map(({ journalId }) => journalId)), tally);
  },
};

/** The maker's id is even, and the taker's the odd one behind it. One without the other is told by its own check. */
function matchesOf(batch: StoredBatch): Match[] {
  const executions = batch.records.get("execution") ?? [];
  const byId = new Map(executions.map((execution) => [BigInt(execution.id as string), execution]));
  return [...byId].flatMap(([id, maker]) => {
    const taker = byId.get(id + 1n);
    if (id % 2n === 1n || taker === undefined) return [];
    return [{ batch, journalId: matchJournalId(id as ExecutionId), maker, taker }];
  });
}

function tellStrays(batches: readonly StoredBatch[], known: ReadonlySet<Uuid>, tally: Tally): void {
  for (const batch of batches) {
    for (const [id, [posting]] of batch.journals) {
      if (posting?.cause !== "order_filled" || known.has(id)) continue;
      tally.broken(`journal ${id}`, `of ${batchName(batch)} is a match's whose executions are missing`);
    }
  }
}

/**
 * What each match asks for, by the maker's id. The seller gives the base, out of what it holds. The buyer pays out of
 * its hold: a limit buy lets go of what its limit would have cost, and gets back what it was spared.
 */
async function readEffects(database: Database, matches: readonly Match[]): Promise<Map<string, string>> {
  if (matches.length === 0) return new Map();
  const rows = await database.rows<PartChange>(
    `with party as (
       select k.match, e.side, e.profile_id, coalesce(o.recipient_profile_id, e.profile_id) as recipient,
              m.base, m.quote, e.amount, e.amount * e.price as gross, e.commission, e.rebate,
              case when o.price is null then e.amount * e.price + e.commission
                   else e.amount * o.price * (1 + o.taker_rate) end as share,
              count(*) over (partition by k.match) as parties
         from unnest($1::bigint[], $2::uuid[], $3::bigint[]) as k(match, profile_id, id)
         join execution e on e.profile_id = k.profile_id and e.id = k.id
         join orders o on o.profile_id = e.profile_id and o.id = e.order_id
         join market m on m.code = e.market),
     entry(match, owner, asset, part, amount) as (
       select match, profile_id, base, 'trading', -amount from party where parties = 2 and side = 'SELL'
       union all
       select match, recipient, quote, 'available', gross - commission + rebate from party where parties = 2 and side = 'SELL'
       union all
       select match, recipient, base, 'available', amount from party where parties = 2 and side = 'BUY'
       union all
       select match, profile_id, quote, 'trading', -share from party where parties = 2 and side = 'BUY'
       union all
       select match, profile_id, quote, 'available', share - gross - commission + rebate from party where parties = 2 and side = 'BUY')
     select match as id, owner, asset, part, trim_scale(sum(amount))::text as amount
       from entry group by match, owner, asset, part having sum(amount) <> 0`,
    [
      matches.flatMap(({ maker }) => [maker.id, maker.id]),
      matches.flatMap(({ maker, taker }) => [maker.profile_id, taker.profile_id]),
      matches.flatMap(({ maker, taker }) => [maker.id, taker.id]),
    ],
  );
  const changes = new Map<string, PartChange[]>();
  for (const row of rows) changes.set(row.id, [...(changes.get(row.id) ?? []), row]);
  return new Map([...changes].map(([id, some]) => [id, effectText(some)]));
}

interface PartChange {
  readonly id: string;
  readonly owner: string;
  readonly asset: string;
  readonly part: string;
  readonly amount: string;
}
