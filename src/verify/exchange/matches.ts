/**
 * Matches: each journal moves what its two executions and their orders require
 * (docs/contract/orders.md#holds-and-settlement). Executions and journal are in one batch; of orders only fields that
 * never change are read. The required amounts are computed in SQL: exactly, and independently of the engine's arithmetic.
 */

import type { ExecutionId } from "../../exchange/execution.ts";
import { matchJournalId } from "../../exchange/execution-id.ts";
import { batchName, type StoredBatch } from "../../ledger/stored-batches.ts";
import type { SqlRecord } from "../../ledger/tables.ts";
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
  examine: async (batches, database, tally) => {
    const matches = batches.flatMap(matchesOf);
    tally.examined(matches.length);
    const effects = await readEffects(database, matches);
    for (const { batch, journalId, maker } of matches) {
      const effect = effects.get(maker.id as string);
      const posted = effectOn(profileEntries(batch.journals.get(journalId) ?? []));
      // A match whose orders are missing cannot be compared; other checks report it.
      if (effect !== undefined && effect !== posted)
        tally.broken(`match ${maker.id}`, `requires ${effect}, but its journal posts ${posted}`);
    }
    reportStrayJournals(batches, new Set(matches.map(({ journalId }) => journalId)), tally);
  },
};

/** The maker's id is even, the taker's the next odd one. Unpaired executions are reported by their own check. */
function matchesOf(batch: StoredBatch): Match[] {
  const executions = batch.records.get("execution") ?? [];
  const byId = new Map(executions.map((execution) => [BigInt(execution.id as string), execution]));
  return [...byId].flatMap(([id, maker]) => {
    const taker = byId.get(id + 1n);
    if (id % 2n === 1n || taker === undefined) return [];
    return [{ batch, journalId: matchJournalId(id as ExecutionId), maker, taker }];
  });
}

function reportStrayJournals(batches: readonly StoredBatch[], known: ReadonlySet<Uuid>, tally: Tally): void {
  for (const batch of batches) {
    for (const [id, [posting]] of batch.journals) {
      if (posting?.cause !== "order_filled" || known.has(id)) continue;
      tally.broken(`journal ${id}`, `of ${batchName(batch)} belongs to a match whose executions are missing`);
    }
  }
}

/**
 * What each match requires, by the maker's id. The seller delivers the base asset from its hold. The buyer pays from its
 * hold: a limit buy releases what its limit would have cost, and gets the difference back.
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
