/**
 * The audit trail: what the batches wrote, and for whom (docs/decisions/0019-who-made-each-write.md). Read slot by slot
 * in chain order, from a time or from the end of the previous page.
 */
import type { Database, Queryable } from "../postgres/database.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import type { Caller } from "./caller.ts";
import type { RowChange } from "./change-history.ts";
import { readHeads, type StoredBatch, walkBatches } from "./stored-batches.ts";
import type { AnyRecordTable } from "./tables.ts";

/** One row that was written for one caller. */
export interface Write {
  readonly at: Instant;
  readonly slot: number;
  readonly batch: bigint;
  readonly table: string;
  /** The row's key: a record's profile and id, or a profile's id. */
  readonly key: string;
  /** Undefined: its batch names none. */
  readonly caller: Caller | undefined;
  /** A record. Of a row that changes, what changed is in `values`. */
  readonly record?: unknown;
  readonly values?: RowChange["values"];
}

/** The batch with which a page ended. */
export interface WritesPosition {
  readonly slot: number;
  readonly batch: bigint;
}

export interface WritesQuery {
  readonly since: Instant;
  readonly after?: WritesPosition | undefined;
  readonly isWanted: (write: Write) => boolean;
  /** In rows. The batch that reaches it is still returned in full. */
  readonly limit: number;
}

export interface WritesPage {
  readonly writes: readonly Write[];
  /** Undefined: this is the last page. */
  readonly next: WritesPosition | undefined;
}

/** @param records the tables that have a caller column */
export async function listWrites(
  database: Database,
  records: readonly AnyRecordTable[],
  { since, after, isWanted, limit }: WritesQuery,
): Promise<WritesPage> {
  const writes: Write[] = [];
  for (const head of await readHeads(database)) {
    if (after !== undefined && head.slot < after.slot) continue;
    const isContinued = after !== undefined && head.slot === after.slot;
    const from = isContinued ? after.batch + 1n : await firstSince(database, head, since);
    for await (const batches of walkBatches(database, records, head, from)) {
      for (const batch of batches) {
        for (const write of writesOf(batch, records)) if (isWanted(write)) writes.push(write);
        if (writes.length >= limit) return { writes, next: { slot: batch.slot, batch: batch.n } };
      }
    }
  }
  return { writes, next: undefined };
}

/**
 * Binary search for a slot's first batch at or after a time. If a clock was set back between two processes, times are
 * out of order and the result may be a later batch (decision 19).
 */
async function firstSince(database: Queryable, head: { slot: number; n: bigint }, since: Instant): Promise<bigint> {
  let [low, high] = [0n, head.n + 1n];
  while (low < high) {
    const middle = (low + high) / 2n;
    const [row] = await database.rows<{ earlier: boolean }>(
      "select at < $3 as earlier from batch where slot = $1 and n = $2",
      [head.slot, middle, formatInstant(since)],
    );
    if (row?.earlier === true) low = middle + 1n;
    else high = middle;
  }
  return low;
}

function writesOf(batch: StoredBatch, records: readonly AnyRecordTable[]): Write[] {
  const callers = JSON.parse(batch.callers ?? "[]") as readonly Caller[];
  const written: Write[] = [];
  const add = (
    table: string,
    key: string,
    number: number | undefined,
    what: Pick<Write, "record" | "values">,
  ): void => {
    const caller = number === undefined ? undefined : callers[number];
    written.push({ at: batch.at, slot: batch.slot, batch: batch.n, table, key, caller, ...what });
  };
  for (const table of records) {
    const rows = batch.rows.get(table.name) ?? [];
    for (const [place, record] of (batch.records.get(table.name) ?? []).entries()) {
      const row = rows[place];
      add(table.name, table.keyOf(row), (record.caller as number | null) ?? undefined, { record: row });
    }
  }
  for (const [table, rows] of batch.written) {
    for (const [key, { callers: numbers, values }] of rows) {
      for (const number of numbers.length === 0 ? [undefined] : numbers) add(table, key, number, { values });
    }
  }
  return written;
}
