/**
 * Exports the ledger for plain-text accounting: every journal in commit order, then every balance as an assertion, which
 * the accounting program compares with its own sums.
 *
 * No long snapshot is needed, which would slow down writers: batches and postings never change, so the heads of all
 * slots, read in one statement, define the export. Pages are read independently while money moves, with little memory.
 */
import { postingTable } from "../ledger/accounts.ts";
import { type ChainHead, readHeads, type StoredBatch, walkBatches } from "../ledger/stored-batches.ts";
import type { Database } from "../postgres/database.ts";
import { waitForStandby } from "../postgres/durability.ts";
import { beancount } from "./beancount.ts";
import { readChartOfAccounts } from "./chart-of-accounts.ts";
import { Days } from "./days.ts";
import { hledger } from "./hledger.ts";
import { type JournalText, journalsOf } from "./journal-text.ts";
import { readAssets, walkClosings } from "./store.ts";

/** hledger and Ledger share a format. */
export const FORMATS = { hledger, ledger: hledger, beancount } as const satisfies Record<string, JournalText>;
export type Format = keyof typeof FORMATS;

interface ExportOptions {
  /** The end of the export; the current heads by default. */
  readonly heads?: readonly ChainHead[] | undefined;
  /** So many batches will be written. */
  readonly onBegin?: (batches: number) => void;
  readonly onBatch?: () => void;
}

/** Yields the export as text. */
export async function* exportJournals(
  database: Database,
  format: Format,
  { heads, onBegin, onBatch }: ExportOptions = {},
): AsyncGenerator<string> {
  const text = FORMATS[format];
  const ends = heads ?? (await readHeads(database));
  onBegin?.(ends.reduce((batches, { n }) => batches + Number(n) + 1, 0));
  // An export must not contain what a failover could still lose.
  await waitForStandby(database);
  // After the heads: whatever has postings within them has its row.
  const chart = await readChartOfAccounts(database);
  yield text.opening(await readAssets(database));
  const days = new Days();
  const counts = { journals: 0, postings: 0 };
  for await (const batch of inCommitOrder(database, ends)) {
    onBatch?.();
    days.add(batch.at);
    const journals = journalsOf(batch);
    counts.journals += journals.length;
    for (const { postings } of journals) counts.postings += postings.length;
    await chart.readNames(journals.flatMap(({ postings }) => postings.map(({ ownerId }) => ownerId)));
    if (journals.length > 0) yield journals.map((journal) => text.journal(journal, chart)).join("");
  }
  for await (const closings of walkClosings(database, ends)) {
    await chart.readNames(closings.map(({ ownerId }) => ownerId));
    yield text.closing(closings, chart, days);
  }
  yield text.end(counts);
}

/**
 * Merges the slots by batch time. Within a slot this is commit order; batches of different slots in the same millisecond
 * may come in either order.
 */
async function* inCommitOrder(database: Database, heads: readonly ChainHead[]): AsyncGenerator<StoredBatch> {
  const slots = heads.map((head) => singly(walkBatches(database, [postingTable], head)));
  const next = await Promise.all(slots.map(async (slot) => (await slot.next()).value));
  for (;;) {
    const earliest = next.reduce<number | undefined>((best, batch, i) => {
      const before = best === undefined ? undefined : next[best];
      return batch !== undefined && (before === undefined || batch.at < before.at) ? i : best;
    }, undefined);
    if (earliest === undefined) return;
    yield next[earliest] as StoredBatch;
    next[earliest] = (await slots[earliest]?.next())?.value;
  }
}

async function* singly(pages: AsyncIterable<readonly StoredBatch[]>): AsyncGenerator<StoredBatch, undefined> {
  for await (const page of pages) yield* page;
  return undefined;
}
