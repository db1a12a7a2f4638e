/**
 * Journals: the postings of one journal id in a batch sum to zero per asset, so no journal is split over batches; and what a
 * journal adds to the supply of a stablecoin it adds to its reserve.
 */

import type { Entry } from "../../ledger/accounts.ts";
import { type HouseAccount, isHouseOwner, readHouseAccounts } from "../../ledger/house-accounts.ts";
import { batchName, type JournalPosting } from "../../ledger/stored-batches.ts";
import { type Amount, formatAmount, minus, plus, ZERO } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { Uuid } from "../../std/id.ts";
import type { BatchCheck } from "./chain.ts";

export function journalCheck(): BatchCheck {
  let houses: ReadonlyMap<Uuid, HouseAccount> = new Map();
  return {
    check: "journals",
    examine: async (batches, database, tally) => {
      // House accounts may have been opened since they were read.
      const postings = batches.flatMap(({ journals }) => [...journals.values()].flat());
      if (postings.some(({ ownerId }) => isHouseOwner(ownerId) && !houses.has(ownerId)))
        houses = await readHouseAccounts(database);
      for (const batch of batches) {
        tally.examined(batch.journals.size);
        for (const [id, postings] of batch.journals) {
          for (const fault of [...imbalances(postings), ...unbackedCoins(postings, houses)])
            tally.broken(`journal ${id}`, `of ${batchName(batch)} ${fault}`);
        }
      }
    },
  };
}

function* imbalances(postings: readonly JournalPosting[]): Iterable<string> {
  for (const [asset, sum] of sums(postings)) {
    if (sum !== ZERO) yield `sums to ${formatAmount(sum)} ${asset}, not to zero`;
  }
}

function* unbackedCoins(
  postings: readonly JournalPosting[],
  houses: ReadonlyMap<Uuid, HouseAccount>,
): Iterable<string> {
  const changes = new Map<string, { reserve: Amount; supply: Amount }>();
  for (const { ownerId, asset, amount } of postings) {
    const account = houses.get(ownerId);
    if (account?.house !== "reserve" && account?.house !== "issuance") continue;
    const coin = account.house === "issuance" ? asset : (account.coin ?? "no coin");
    const change = changes.get(coin) ?? { reserve: ZERO, supply: ZERO };
    changes.set(coin, change);
    if (account.house === "reserve") change.reserve = plus(change.reserve, amount);
    else change.supply = minus(change.supply, amount);
  }
  for (const [coin, { reserve, supply }] of changes) {
    if (reserve === supply) continue;
    yield `adds ${formatAmount(supply)} to the supply of ${coin}, but ${formatAmount(reserve)} to its reserve`;
  }
}

function sums(postings: readonly JournalPosting[]): Map<AssetCode, Amount> {
  const byAsset = new Map<AssetCode, Amount>();
  for (const { asset, amount } of postings) byAsset.set(asset, ((byAsset.get(asset) ?? 0n) + amount) as Amount);
  return byAsset;
}

/** Entries up to which comparing each with each is cheap. */
const FEW = 8;

/** Whether both have the same effect. Of few entries, for a fraction of what their texts would cost. */
export function haveSameEffect(some: readonly Entry[], others: readonly Entry[]): boolean {
  if (some.length + others.length > FEW) return effectOn(some) === effectOn(others);
  const isSameAt = (entry: Entry): boolean => sumAt(entry, some) === sumAt(entry, others);
  return some.every(isSameAt) && others.every(isSameAt);
}

function sumAt({ owner, asset, part }: Entry, entries: readonly Entry[]): bigint {
  let sum = 0n;
  for (const entry of entries)
    if (entry.owner === owner && entry.asset === asset && entry.part === part) sum += entry.amount;
  return sum;
}

/**
 * A journal's effect on profiles, as comparable text. Its effect on house accounts follows, because it sums to zero and
 * changes each reserve as it does the supply.
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
export function profileEntries(postings: readonly JournalPosting[]): Entry[] {
  return postings
    .filter(({ ownerId }) => !isHouseOwner(ownerId))
    .map(({ ownerId, asset, part, amount }) => ({ owner: ownerId as Entry["owner"], asset, part, amount }));
}
