/** Journals: the postings of one journal id in a batch sum to zero per asset, so no journal is split over batches. */

import { type Entry, houseOfOwner, type Posting } from "../../ledger/accounts.ts";
import { batchName } from "../../ledger/read-batches.ts";
import { type Amount, formatAmount, plus, ZERO } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { BatchCheck } from "./chain.ts";

export const journalCheck: BatchCheck = {
  check: "journals",
  examine: (batches, _database, tally) => {
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
 * A journal's effect on profiles, as comparable text. Its effect on house accounts follows, because it sums to zero and
 * the reserve equals the supply.
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

/** @param changes summed up per account and part; amounts are canonical text */
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

/** The postings on profile accounts, as entries. */
export function profileEntries(postings: readonly Posting[]): Entry[] {
  return postings
    .filter(({ ownerId }) => houseOfOwner(ownerId) === undefined)
    .map(({ ownerId, asset, part, amount }) => ({ owner: ownerId as Entry["owner"], asset, part, amount }));
}
