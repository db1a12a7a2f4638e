/** What the formats have in common: what a journal is called, and the chart of accounts. */
import { makerIdOf } from "../exchange/execution-id.ts";
import { type House, houseOfOwner, PARTS, type Part, type Posting, postingTable } from "../ledger/accounts.ts";
import { batchName, type StoredBatch } from "../ledger/batch-log.ts";
import type { Amount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { formatInstant } from "../std/clock.ts";
import { siblingId, type Uuid } from "../std/id.ts";
import type { Days } from "./days.ts";

export interface ExportedJournal {
  readonly id: Uuid;
  readonly batch: StoredBatch;
  /** In the order in which they were made, as far as an account's numbers tell. */
  readonly postings: readonly Posting[];
}

/** What an account's parts come to at the end. */
export interface Closing {
  readonly ownerId: Uuid;
  readonly asset: AssetCode;
  readonly available: Amount;
  readonly trading: Amount;
  readonly pending: Amount;
  /** Whether no other account of this owner came before. */
  readonly isFirst: boolean;
}

/** How a program wants to read it. */
export interface JournalText {
  opening(assets: readonly AssetCode[]): string;
  journal(journal: ExportedJournal): string;
  /** Never called before a journal was. */
  closing(closings: readonly Closing[], days: Days): string;
  /** The last line: an export without it was broken off. */
  end(counts: { readonly journals: number; readonly postings: number }): string;
}

/** The journals of a batch. They became true at once; they stand in the order of their ids. */
export function journalsOf(batch: StoredBatch): ExportedJournal[] {
  const journals = [...batch.journals].map(([id, postings]) => ({ id, batch, postings: inOrder(postings) }));
  return journals.sort((a, b) => (a.id < b.id ? -1 : 1));
}

const inOrder = (postings: readonly Posting[]): Posting[] =>
  postings.toSorted((a, b) => (postingTable.orderBy(a) < postingTable.orderBy(b) ? -1 : 1));

/** What is told beside a journal: where it stands in the chain, and what record it is of. */
export function tagsOf({ id, batch, postings }: ExportedJournal): [name: string, value: string][] {
  const record = recordOf(id, postings[0]?.cause);
  return [["at", formatInstant(batch.at)], ["batch", batchName(batch).slice("batch ".length)], record];
}

/** From a journal's id to the record's: the ids say it themselves (ARCHITECTURE.md, "The ledger in SQL"). */
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

/** Where the house's accounts stand: it holds reserve and fees, owes what it has issued, and the world is outside. */
const HOUSE_ACCOUNTS = {
  world: "Equity:World",
  reserve: "Assets:Reserve",
  issuance: "Liabilities:Issuance",
  fees: "Assets:Fees",
} as const satisfies Record<House, string>;

/** The name of an account. Profiles have one for each part; the house one for each slot. */
export function accountName(ownerId: Uuid, part: Part): string {
  const house = houseOfOwner(ownerId);
  if (house !== undefined) return `${HOUSE_ACCOUNTS[house]}:Slot-${Number.parseInt(ownerId.slice(34), 16)}`;
  return `Assets:Profile-${ownerId}:${part[0]?.toUpperCase()}${part.slice(1)}`;
}

/** All parts that an account can have. */
export function partsOf({ ownerId }: Closing): readonly Part[] {
  return houseOfOwner(ownerId) === undefined ? PARTS : ["available"];
}
