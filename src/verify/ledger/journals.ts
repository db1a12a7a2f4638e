/** Journals: what a batch posted under one journal id sums to zero per asset. So none is torn over two batches. */

import { type Entry, houseOfOwner, type Posting } from "../../ledger/accounts.ts";
import { batchName } from "../../ledger/batch-log.ts";
import { type Amount, formatAmount, plus, ZERO } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { BatchCheck } from "./chain.ts";

export const journalCheck: BatchCheck = {
  check: "journals",
  look: (batches, _database, tally) => {
    for (const batch of batches) {
      tally.examined(batch.journals.size);
      for (const [id, postings] of batch.journals) {
        for (const [asset, sum] of sums(postings)) {
          if (sum === ZERO) continue;
          tally.broken(`journal ${id}`, `of ${batchName(batch)} sums to ${formatAmount(sum)} ${asset}, not to zero`);
        }
      }
    }
  },
};

function sums(postings: readonly Posting[]): Map<AssetCode, Amount> {
  const byAsset = new Map<AssetCode, Amount>();
  for (const { asset, amount } of postings) byAsset.set(asset, ((byAsset.get(asset) ?? 0n) + amount) as Amount);
  return byAsset;
}

/**
 * What a journal does to profiles, as text that can be compared: one part for each account's part that it changes. What
 * it does to the house follows, because it sums to zero and because the reserve equals the supply.
 */
export function effectOn(entries: readonly Entry[]): string {
  const byPart = new Map<string, Entry>();
  for (const entry of entries) {
    const key = `${entry.owner}/${entry.asset}/${entry.part}`;
    byPart.set(key, { ...entry, amount: plus(entry.amount, byPart.get(key)?.amount ?? ZERO) });
  }
  const changes = [...byPart.values()].filter(({ amount }) => amount !== ZERO);
  return effectText(changes.map((entry) => ({ ...entry, amount: formatAmount(entry.amount) })));
}

/** The same, when the changes to each account's part are summed up already. Amounts are canonical text. */
export function effectText(
  changes: readonly {
    readonly owner: string;
    readonly asset: string;
    readonly part: string;
    readonly amount: string;
  }[],
): string {
  const lines = changes.map(({ owner, asset, part, amount }) => `${amount} ${asset} to ${part} of ${owner}`);
  return lines.length === 0 ? "nothing" : lines.sort().join(", ");
}

/** What was posted to profiles, as the entries that were asked for. */
export function profileEntries(postings: readonly Posting[]): Entry[] {
  return postings
    .filter(({ ownerId }) => houseOfOwner(ownerId) === undefined)
    .map(({ ownerId, asset, part, amount }) => ({ owner: ownerId as Entry["owner"], asset, part, amount }));
}
