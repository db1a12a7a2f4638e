/** What the formats share: journals with their tags, and the chart of accounts. */
import { makerIdOf } from "../exchange/execution-id.ts";
import { type House, houseOfOwner, PARTS, type Part, type Posting, postingTable } from "../ledger/accounts.ts";
import { batchName, type StoredBatch } from "../ledger/read-batches.ts";
import type { Amount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { formatInstant } from "../std/clock.ts";
import { siblingId, type Uuid } from "../std/id.ts";
import type { Days } from "./days.ts";

export interface ExportedJournal {
  readonly id: Uuid;
  readonly batch: StoredBatch;
  /** Per account in posting order. */
  readonly postings: readonly Posting[];
}

export interface Closing {
  readonly ownerId: Uuid;
  readonly asset: AssetCode;
  readonly available: Amount;
  readonly trading: Amount;
  readonly pending: Amount;
  /** Whether it is the owner's first account in the export. */
  readonly isFirst: boolean;
}

export interface JournalText {
  opening(assets: readonly AssetCode[]): string;
  journal(journal: ExportedJournal): string;
  /** Called after all journals. */
  closing(closings: readonly Closing[], days: Days): string;
  /** The last line: an export without it is incomplete. */
  end(counts: { readonly journals: number; readonly postings: number }): string;
}

/** The journals of a batch, which took effect together, in id order. */
export function journalsOf(batch: StoredBatch): ExportedJournal[] {
  const journals = [...batch.journals].map(([id, postings]) => ({ id, batch, postings: inOrder(postings) }));
  return journals.sort((a, b) => (a.id < b.id ? -1 : 1));
}

const inOrder = (postings: readonly Posting[]): Posting[] =>
  postings.toSorted((a, b) => (postingTable.orderBy(a) < postingTable.orderBy(b) ? -1 : 1));

/** A journal's time, its batch, and the record that it belongs to. */
export function tagsOf({ id, batch, postings }: ExportedJournal): [name: string, value: string][] {
  const record = recordOf(id, postings[0]?.cause);
  return [["at", formatInstant(batch.at)], ["batch", batchName(batch).slice("batch ".length)], record];
}

/** The kind and id of a journal's record, derived from the journal's id (ARCHITECTURE.md, "The ledger in SQL"). */
export function recordOf(id: Uuid, cause: Posting["cause"] | undefined): [name: string, value: string] {
  switch (cause) {
    case "conversion_created":
      return ["conversion", id];
    case "conversion_settled":
    case "conversion_cancelled":
      return ["conversion", siblingId(id)];
    case "order_held":
      return ["order", id];
    case "order_released":
      return ["order", siblingId(id)];
    case "order_filled":
      return ["execution", makerIdOf(id).toString()];
    default:
      return ["transfer", id];
  }
}

/** The house accounts in the chart of accounts. */
const HOUSE_ACCOUNTS = {
  world: "Equity:World",
  reserve: "Assets:Reserve",
  issuance: "Liabilities:Issuance",
  fees: "Assets:Fees",
} as const satisfies Record<House, string>;

/** Profiles have one account per part, the house one per slot. */
export function accountName(ownerId: Uuid, part: Part): string {
  const house = houseOfOwner(ownerId);
  if (house !== undefined) return `${HOUSE_ACCOUNTS[house]}:Slot-${Number.parseInt(ownerId.slice(34), 16)}`;
  return `Assets:Profile-${ownerId}:${part[0]?.toUpperCase()}${part.slice(1)}`;
}

export function partsOf({ ownerId }: Closing): readonly Part[] {
  return houseOfOwner(ownerId) === undefined ? PARTS : ["available"];
}
