/** What the formats share: journals with their tags, and the chart of accounts. */
import { makerIdOf } from "../exchange/execution-id.ts";
import { postingOrder } from "../ledger/accounts.ts";
import { batchName, type JournalPosting, type StoredBatch } from "../ledger/stored-batches.ts";
import type { Asset } from "../money/asset.ts";
import { formatInstant } from "../std/clock.ts";
import { evenOf, siblingId, type Uuid } from "../std/id.ts";
import type { ChartOfAccounts } from "./chart-of-accounts.ts";
import type { Days } from "./days.ts";
import type { Closing } from "./store.ts";

export interface ExportedJournal {
  readonly id: Uuid;
  readonly batch: StoredBatch;
  /** Per account in posting order. */
  readonly postings: readonly JournalPosting[];
}

export interface JournalText {
  opening(assets: readonly Pick<Asset, "code" | "kind">[]): string;
  journal(journal: ExportedJournal, chart: ChartOfAccounts): string;
  /** Called after all journals. */
  closing(closings: readonly Closing[], chart: ChartOfAccounts, days: Days): string;
  /** The last line: an export without it is incomplete. */
  end(counts: { readonly journals: number; readonly postings: number }): string;
}

/** The journals of a batch, which took effect together, in id order. */
export function journalsOf(batch: StoredBatch): ExportedJournal[] {
  const journals = [...batch.journals].map(([id, postings]) => ({ id, batch, postings: inOrder(postings) }));
  return journals.sort((a, b) => (a.id < b.id ? -1 : 1));
}

const inOrder = (postings: readonly JournalPosting[]): JournalPosting[] =>
  postings.toSorted((a, b) => (postingOrder(a) < postingOrder(b) ? -1 : 1));

/** A journal's time, its batch, and the record that it belongs to. */
export function tagsOf({ id, batch, postings }: ExportedJournal): [name: string, value: string][] {
  const record = recordOf(id, postings[0]?.cause);
  return [["at", formatInstant(batch.at)], ["batch", batchName(batch).slice("batch ".length)], record];
}

/** The kind and id of a journal's record, derived from the journal's id (ARCHITECTURE.md, "The ledger in SQL"). */
export function recordOf(id: Uuid, cause: JournalPosting["cause"] | undefined): [name: string, value: string] {
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
    case "legal_hold_placed":
      return ["legal-hold", id];
    case "legal_hold_lifted":
      return ["legal-hold", siblingId(id)];
    default:
      // What ends the steps of a deposit or a withdrawal has the odd id.
      return ["transfer", evenOf(id)];
  }
}
