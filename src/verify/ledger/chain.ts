/**
 * The chain: in every slot the batches are numbered from 0 without gaps, and each hash covers the batch's content,
 * recomputed from the rows that it added, and its predecessor. Checks that need one batch alone share the same scan.
 */

import { postingTable } from "../../ledger/accounts.ts";
import { batchName, type ChainHead, readHeads, type StoredBatch, walkBatches } from "../../ledger/read-batches.ts";
import type { AnyRecordTable } from "../../ledger/tables.ts";
import { addedRows, contentDigest, linkHash, NO_HASH, voidHash } from "../../ledger/writer/batch.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination, Tally } from "../check.ts";

/** A check of batches, page by page. */
export interface BatchCheck {
  readonly check: string;
  examine(batches: readonly StoredBatch[], database: Database, tally: Tally): Promise<void> | void;
}

const CHAIN = "chain";

/**
 * @param checkpoint heads that were recorded outside the database. Only they reveal a chain that was recomputed as a
 * whole or truncated, because such a chain is consistent in itself.
 */
export function chainExamination(
  records: readonly AnyRecordTable[],
  batchChecks: readonly BatchCheck[],
  checkpoint: readonly ChainHead[] = [],
): Examination {
  const tables = hashedTables(records);
  return {
    checks: [CHAIN, ...batchChecks.map(({ check }) => check)],
    run: async (database, tally) => {
      const heads = await readHeads(database);
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
          for (const batch of batches) chain.follow(batch);
          for (const { check, examine } of batchChecks) await examine(batches, database, tally(check));
        }
      }
    },
  };
}

class Chain {
  readonly #tables: readonly AnyRecordTable[];
  readonly #expected: ChainHead | undefined;
  readonly #tally: Tally;
  #n = -1n;
  #hash: Buffer = NO_HASH;

  constructor(tables: readonly AnyRecordTable[], expected: ChainHead | undefined, tally: Tally) {
    this.#tables = tables;
    this.#expected = expected;
    this.#tally = tally;
  }

  follow(batch: StoredBatch): void {
    this.#tally.examined(1);
    const name = batchName(batch);
    if (batch.n !== this.#n + 1n) {
      // The hash after a gap cannot be recomputed; it is trusted, to check the rest of the chain.
      const missing = batchName({ slot: batch.slot, n: this.#n + 1n });
      this.#tally.broken(missing, `is missing: the next one is ${name}`);
    } else if (!batch.hash.equals(hashOf(this.#tables, this.#hash, batch))) {
      this.#tally.broken(name, "does not match its hash: the batch, its rows or its predecessor were changed");
    }
    if (batch.n === this.#expected?.n && !batch.hash.equals(this.#expected.hash))
      this.#tally.broken(name, "is not the batch in the checkpoint");
    this.#n = batch.n;
    this.#hash = batch.hash;
  }
}

/** The tables whose rows are hashed, by name. */
export function hashedTables(records: readonly AnyRecordTable[]): AnyRecordTable[] {
  return [postingTable, ...records].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Recomputes the hash of a batch from what is stored. @param previous the hash of its predecessor */
export function hashOf(tables: readonly AnyRecordTable[], previous: Buffer, batch: StoredBatch): Buffer {
  const { slot, n, at, changes, callers } = batch;
  if (batch.void) return voidHash(previous, slot, n);
  const records = tables
    .filter((table) => batch.records.has(table.name))
    .map((table) => addedRows(table, storedRows(table, batch)));
  return linkHash(previous, slot, n, contentDigest({ at, records, changes, callers }));
}

function storedRows(table: AnyRecordTable, batch: StoredBatch): { row: object; caller: number | undefined }[] {
  return (batch.records.get(table.name) ?? []).map((record) => ({
    row: table.read(record),
    caller: (record.caller as number | null | undefined) ?? undefined,
  }));
}
