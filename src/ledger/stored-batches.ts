/**
 * Walks the batches of each slot in order, each with everything that it wrote. A batch and its rows are committed by
 * one statement and never change, so pages need no common snapshot.
 */
import type { Database, Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { type Posting, postingTable } from "./accounts.ts";
import { type RowChange, readChanges } from "./change-history.ts";
import { type AnyRecordTable, columnsOf, PAGE, partOf, type SqlRecord } from "./tables.ts";

/** The last batch of a slot's chain. */
export interface ChainHead {
  readonly slot: number;
  readonly n: bigint;
  readonly hash: Buffer;
}

/** A batch as it is stored. */
export interface StoredBatch {
  readonly slot: number;
  readonly n: bigint;
  readonly hash: Buffer;
  readonly at: Instant;
  readonly void: boolean;
  /** The exact text that was hashed. */
  readonly changes: string | undefined;
  /** The callers of its writes, as the exact text that was hashed; undefined when no caller requested any. */
  readonly callers: string | undefined;
  /** Parsed from `changes`: what it made of rows that change, by table and key. */
  readonly written: ReadonlyMap<string, ReadonlyMap<string, RowChange>>;
  readonly records: ReadonlyMap<string, readonly SqlRecord[]>;
  /** The records, parsed, in the same order: postings as far as `JournalPosting` goes. */
  readonly rows: ReadonlyMap<string, readonly object[]>;
  readonly journals: ReadonlyMap<Uuid, readonly JournalPosting[]>;
}

/** What a posting is in its journal. What it left on its account is half of the cost of reading it. */
export type JournalPosting = Pick<Posting, (typeof JOURNAL_FIELDS)[number]>;

const JOURNAL_FIELDS = ["journalId", "cause", "ownerId", "asset", "version", "part", "amount"] as const;
const { read: readJournalPosting } = partOf(postingTable, JOURNAL_FIELDS);

export const batchName = ({ slot, n }: { readonly slot: number; readonly n: bigint }): string => `batch ${slot}/${n}`;

/** The last batch of every slot that has one. One index probe per slot. */
export async function readHeads(database: Queryable): Promise<ChainHead[]> {
  const rows = await database.rows<{ slot: number; n: string; hash: Buffer }>(
    `with recursive slots(slot) as (
       select min(slot) from batch
       union all
       select (select min(batch.slot) from batch where batch.slot > slots.slot) from slots where slots.slot is not null)
     select slots.slot, head.n, head.hash
       from slots cross join lateral (select n, hash from batch where batch.slot = slots.slot order by n desc limit 1) head
      order by slots.slot`,
  );
  return rows.map(({ slot, n, hash }) => ({ slot, n: BigInt(n), hash }));
}

/** The latest time of any slot's last batch; undefined when there are no batches. */
export async function readLastTime(database: Queryable): Promise<Instant | undefined> {
  const heads = await readHeads(database);
  const [row] = await database.rows<{ at: Instant | null }>(
    "select max(at) as at from batch where (slot, n) in (select * from unnest($1::smallint[], $2::bigint[]))",
    [heads.map(({ slot }) => slot), heads.map(({ n }) => n.toString())],
  );
  return row?.at ?? undefined;
}

/** Limits of a page, in batches and in rows of one table. A single batch may exceed the row limit. */
const MAX_BATCHES = 500;
const MAX_ROWS = 2 * PAGE;

/**
 * Yields a slot's batches from number `from` to its head, with the rows that they added to these tables, in pages of about
 * `PAGE` rows whatever the batch size.
 */
export async function* walkBatches(
  database: Database,
  tables: readonly AnyRecordTable[],
  head: ChainHead,
  from = 0n,
): AsyncGenerator<StoredBatch[]> {
  let next = from;
  // The size of batches is unknown until one has been read.
  let limit = 1;
  for (;;) {
    const headers = await readHeaders(database, head, next, limit);
    const [first, last] = [headers[0], headers.at(-1)];
    if (first === undefined || last === undefined) return;
    const most = headers.length === 1 ? null : MAX_ROWS;
    const range = { slot: head.slot, first: first.n, last: last.n, most };
    const added = await Promise.all(tables.map((table) => readAdded(database, table, range)));
    if (added.some(({ count }) => count === most)) {
      // These batches are larger than the ones before: read the page again with fewer.
      limit = Math.ceil(headers.length / 4);
      continue;
    }
    yield headers.map((header) => withRows(header, tables, added));
    next = last.n + 1n;
    limit = nextLimit(headers.length, weightOf(headers) + added.reduce((sum, rows) => sum + rows.count, 0));
  }
}

type Header = Omit<StoredBatch, "records" | "rows" | "journals" | "written">;

async function readHeaders(database: Queryable, head: ChainHead, from: bigint, limit: number): Promise<Header[]> {
  const rows = await database.rows<SqlRecord>(
    `select slot, n, hash, at, void, changes::text as changes, callers::text as callers from batch
      where slot = $1 and n between $2 and $3 order by n limit $4`,
    [head.slot, from, head.n, limit],
  );
  return rows.map((row) => ({
    slot: head.slot,
    n: BigInt(row.n as string),
    hash: row.hash as Buffer,
    at: row.at as Instant,
    void: row.void as boolean,
    changes: (row.changes as string | null) ?? undefined,
    callers: (row.callers as string | null) ?? undefined,
  }));
}

interface Added {
  readonly count: number;
  readonly byBatch: ReadonlyMap<string, readonly SqlRecord[]>;
}

interface BatchRange {
  readonly slot: number;
  readonly first: bigint;
  readonly last: bigint;
  /** Row limit. A result that reaches it is discarded, because it may cut a batch in two. Null: no limit. */
  readonly most: number | null;
}

async function readAdded(database: Queryable, table: AnyRecordTable, range: BatchRange): Promise<Added> {
  const caller = table.hasCaller ? "caller, " : "";
  const rows = await database.rows<SqlRecord>(
    `select ${columnsOf(table)}, ${caller}batch from ${table.name} where slot = $1 and batch between $2 and $3 limit $4`,
    [range.slot, range.first, range.last, range.most],
  );
  return { count: rows.length, byBatch: groupBy(rows, (row) => row.batch as string) };
}

function withRows(header: Header, tables: readonly AnyRecordTable[], added: readonly Added[]): StoredBatch {
  const records = new Map<string, readonly SqlRecord[]>();
  const rows = new Map<string, readonly object[]>();
  for (const [i, table] of tables.entries()) {
    const own = added[i]?.byBatch.get(header.n.toString());
    if (own === undefined) continue;
    records.set(table.name, own);
    rows.set(table.name, own.map(table.name === postingTable.name ? readJournalPosting : table.read));
  }
  const postings = (rows.get(postingTable.name) ?? []) as readonly JournalPosting[];
  // Rows come as they lie in the table; findings name the oldest journal first.
  const inOrder = postings.toSorted((a, b) => (a.journalId < b.journalId ? -1 : 1));
  return {
    ...header,
    written: readChanges(header.changes),
    records,
    rows,
    journals: groupBy(inOrder, (posting) => posting.journalId),
  };
}

/** In rows: a change takes about 250 characters, as much memory as two small rows. */
function weightOf(headers: readonly Header[]): number {
  return headers.reduce((sum, { changes }) => sum + 1 + (changes?.length ?? 0) / 120, 0);
}

/** The number of batches that should hold about `PAGE` rows, given what the last page held. */
function nextLimit(batches: number, rows: number): number {
  return Math.max(1, Math.min(batches * 2, MAX_BATCHES, Math.floor((batches * PAGE) / rows)));
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
