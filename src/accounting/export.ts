/**
 * The journal as text for plain-text accounting: every journal in the order of the commits, then every balance as an
 * assertion, which the accountant's program holds against what it has added up itself.
 *
 * Nothing needs one long snapshot, which would slow down everybody who writes: batches and postings never change, so the
 * heads of all slots, read in one statement, say once and for all what belongs to the export. All later pages are read
 * for themselves, also while money moves, and little is kept in memory whatever the size of the books.
 */
import { type ChainHead, readHeads, type StoredBatch, walkBatches } from "../ledger/batch-log.ts";
import type { Database } from "../postgres/database.ts";
import { commitBehind } from "../postgres/durability.ts";
import { beancount } from "./beancount.ts";
import { Days } from "./days.ts";
import { type JournalText, journalsOf } from "./journal-text.ts";
import { ledger } from "./ledger.ts";
import { readAssets, walkClosings } from "./store.ts";

/** hledger and Ledger read the same text. */
export const FORMATS = { hledger: ledger, ledger, beancount } as const satisfies Record<string, JournalText>;
export type Format = keyof typeof FORMATS;

/** Gives the export piece by piece. `heads`: where it ends, for books as they were; as they are unless given. */
export async function* exportJournals(
  database: Database,
  format: Format,
  heads?: readonly ChainHead[],
): AsyncGenerator<string> {
  const text = FORMATS[format];
  const ends = heads ?? (await readHeads(database));
  // What accountants are given does not go away with a lost server.
  await commitBehind(database);
  yield text.opening(await readAssets(database));
  const days = new Days();
  const counts = { journals: 0, postings: 0 };
  for await (const batch of inCommitOrder(database, ends)) {
    days.note(batch.at);
    const journals = journalsOf(batch);
    counts.journals += journals.length;
    for (const { postings } of journals) counts.postings += postings.length;
    if (journals.length > 0) yield journals.map(text.journal).join("");
  }
  for await (const closings of walkClosings(database, ends)) yield text.closing(closings, days);
  yield text.end(counts);
}

/**
 * Merges the slots by the times of their batches. Within a slot the order is that of the commits; between slots there is
 * none but the time, and what was committed within one millisecond in two slots may stand either way round.
 */
async function* inCommitOrder(database: Database, heads: readonly ChainHead[]): AsyncGenerator<StoredBatch> {
  const slots = heads.map((head) => singly(walkBatches(database, [], head)));
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
