/**
 * The chain: in every slot the batches are numbered from 0 without gaps, and each hash covers the batch's content,
 * recomputed from the rows that it added, and its predecessor. Checks that need one batch alone share the same scan.
 */

import { textsOf } from "../../ledger/columns.ts";
import { batchName, type ChainHead, readHeads, type StoredBatch, walkBatches } from "../../ledger/stored-batches.ts";
import type { AnyRecordTable, LaneTables, SqlRecord } from "../../ledger/tables.ts";
import { type AddedRows, contentDigest, inHashOrder, linkHash, NO_HASH, voidHash } from "../../ledger/writer/batch.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination, Tally } from "../check.ts";
import { findUnknownColumns, KNOWN_COLUMNS, unknownInBatch } from "./known-columns.ts";

/** A check of batches, page by page. */
export interface BatchCheck {
  readonly check: string;
  examine(batches: readonly StoredBatch[], database: Database, tally: Tally): Promise<void> | void;
}

const CHAIN = "chain";
const CHANGED = "does not match its hash: the batch, its rows or its predecessor were changed";

/**
 * @param checkpoint heads that were recorded outside the database. Only they reveal a chain that was recomputed as a
 * whole or truncated, because such a chain is consistent in itself.
 */
export function chainExamination(
  { records, states }: LaneTables,
  batchChecks: readonly BatchCheck[],
  checkpoint: readonly ChainHead[] = [],
): Examination {
  const tables = hashedTables(records);
  return {
    checks: [CHAIN, ...batchChecks.map(({ check }) => check)],
    reads: ["batch", ...tables.map(({ name }) => name)],
    run: async (database, tally) => {
      const heads = await readHeads(database);
      const unknown = await findUnknownColumns(database, { records, states });
      for (const expected of checkpoint) {
        const head = heads.find(({ slot }) => slot === expected.slot);
        if (head === undefined || head.n < expected.n)
          tally(CHAIN).broken(batchName(expected), "is missing, but the checkpoint has it");
      }
      for (const head of heads) {
        const chain = new Chain(
          tables,
          checkpoint.find(({ slot }) => slot === head.slot),
          tally(CHAIN),
        );
        for await (const batches of walkBatches(database, records, head)) {
          for (const batch of batches) {
            const why = chain.follow(batch) ? undefined : await unknownInBatch(database, unknown, batch);
            if (why !== undefined) tally(KNOWN_COLUMNS).broken(batchName(batch), why);
            else chain.report(batch);
          }
          for (const { check, examine } of batchChecks) await examine(batches, database, tally(check));
          tally(CHAIN).read(rowsOf(batches));
        }
      }
    },
  };
}

function rowsOf(batches: readonly StoredBatch[]): number {
  let rows = batches.length;
  for (const { records } of batches) for (const added of records.values()) rows += added.length;
  return rows;
}

class Chain {
  readonly #tables: readonly HashedTable[];
  readonly #expected: ChainHead | undefined;
  readonly #tally: Tally;
  #n = -1n;
  #hash: Buffer = NO_HASH;
  #fits = true;

  constructor(tables: readonly HashedTable[], expected: ChainHead | undefined, tally: Tally) {
    this.#tables = tables;
    this.#expected = expected;
    this.#tally = tally;
  }

  /** @returns false when the batch does not match its hash */
  follow(batch: StoredBatch): boolean {
    this.#tally.examined(1);
    const isNext = batch.n === this.#n + 1n;
    // The hash after a gap cannot be recomputed; it is trusted, to check the rest of the chain.
    if (!isNext)
      this.#tally.broken(
        batchName({ slot: batch.slot, n: this.#n + 1n }),
        `is missing: the next one is ${batchName(batch)}`,
      );
    this.#fits = !isNext || batch.hash.equals(hashOf(this.#tables, this.#hash, batch));
    this.#n = batch.n;
    this.#hash = batch.hash;
    return this.#fits;
  }

  /** Reports what is wrong with the batch that was followed last. */
  report(batch: StoredBatch): void {
    if (!this.#fits) this.#tally.broken(batchName(batch), CHANGED);
    if (batch.n === this.#expected?.n && !batch.hash.equals(this.#expected.hash))
      this.#tally.broken(batchName(batch), "is not the batch in the checkpoint");
  }
}

/** A table whose rows are hashed, with what gives the texts of a row straight from what the driver returned. */
interface HashedTable extends AnyRecordTable {
  readonly texts: (record: SqlRecord) => (string | null)[];
}

/** By name. */
export function hashedTables(records: readonly AnyRecordTable[]): HashedTable[] {
  const tables = records.map((table) => ({ ...table, texts: textsOf(table.columns) }));
  return tables.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Recomputes the hash of a batch from what is stored. @param previous the hash of its predecessor */
export function hashOf(tables: readonly HashedTable[], previous: Buffer, batch: StoredBatch): Buffer {
  const { slot, n, at, changes, callers } = batch;
  if (batch.void) return voidHash(previous, slot, n);
  const records = tables.filter((table) => batch.records.has(table.name)).map((table) => storedRows(table, batch));
  return linkHash(previous, slot, n, contentDigest({ at, records, changes, callers }));
}

function storedRows(table: HashedTable, { records, rows }: StoredBatch): AddedRows {
  const parsed = rows.get(table.name) ?? [];
  const keyed = (records.get(table.name) ?? []).map((record, place) => {
    const texts = table.texts(record);
    if (table.hasCaller) texts.push(record.caller == null ? null : String(record.caller));
    return { key: table.orderBy(parsed[place]), texts };
  });
  return inHashOrder(table, keyed);
}
