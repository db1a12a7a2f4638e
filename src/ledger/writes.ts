/**
 * Who did what: what the batches wrote, with who asked for it (docs/decisions/0019-who-made-each-write.md). Read in the
 * order of the chains, slot by slot, from a time or from where the page before ended.
 */
import type { Database, Queryable } from "../postgres/database.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import { readHeads, type StoredBatch, walkBatches } from "./batch-log.ts";
import type { Caller } from "./caller.ts";
import type { AnyRecordTable } from "./rows.ts";

/** One row that one caller had written. */
export interface Write {
  readonly at: Instant;
  readonly slot: number;
  readonly batch: bigint;
  readonly table: string;
  /** The row's key: profile and id of a record, the id of a profile. */
  readonly key: string;
  /** Undefined: it was written before this was kept. */
  readonly caller: Caller | undefined;
}

/** Where a page ended: with the last row of this batch. */
export interface WritesPosition {
  readonly slot: number;
  readonly batch: bigint;
}

export interface WritesAsked {
  readonly since: Instant;
  readonly after?: WritesPosition | undefined;
  readonly isWanted: (write: Write) => boolean;
  /** A page ends with the batch that reaches it. */
  readonly limit: number;
}

export interface WritesPage {
  readonly writes: readonly Write[];
  /** Undefined: there is nothing behind. */
  readonly next: WritesPosition | undefined;
}

/** `records`: the tables whose rows tell their caller. */
export async function listWrites(
  database: Database,
  records: readonly AnyRecordTable[],
  { since, after, isWanted, limit }: WritesAsked,
): Promise<WritesPage> {
  const writes: Write[] = [];
  for (const head of await readHeads(database)) {
    if (after !== undefined && head.slot < after.slot) continue;
    const goesOn = after !== undefined && head.slot === after.slot;
    const from = goesOn ? after.batch + 1n : await firstSince(database, head, since);
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
 * The first batch of a slot that is not before a time. They are in the order of their times, so halving finds it; but where
 * a clock was set back between two processes they are not, and it may find a later one (decision 19).
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
  const add = (table: string, key: string, number: number | undefined): void => {
    const caller = number === undefined ? undefined : callers[number];
    written.push({ at: batch.at, slot: batch.slot, batch: batch.n, table, key, caller });
  };
  for (const table of records) {
    for (const record of batch.records.get(table.name) ?? []) {
      add(table.name, table.orderBy(table.read(record)), (record.caller as number | null) ?? undefined);
    }
  }
  const changes = JSON.parse(batch.changes ?? "{}") as Readonly<Record<string, Readonly<Record<string, string>>>>;
  for (const [table, rows] of Object.entries(changes)) {
    for (const [key, entry] of Object.entries(rows)) {
      const numbers = entry.split(" ").slice(2).map(Number);
      for (const number of numbers.length === 0 ? [undefined] : numbers) add(table, key, number);
    }
  }
  return written;
}
