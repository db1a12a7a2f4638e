/**
 * The chain: in every slot the batches are numbered from 0 without gaps, and the hash of each is that of its content,
 * made again from the rows that it added, and of the batch before it. What else can be seen in one batch alone is
 * looked at in the same walk.
 */

import { postingTable } from "../../ledger/accounts.ts";
import { batchName, type ChainHead, readHeads, type StoredBatch, walkBatches } from "../../ledger/batch-log.ts";
import { addedRows, contentDigest, linkHash, NO_HASH, voidHash } from "../../ledger/lane/batch.ts";
import type { AnyRecordTable } from "../../ledger/rows.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination, Tally } from "../check.ts";

/** A check of batches, one page after the other. */
export interface BatchCheck {
  readonly check: string;
  look(batches: readonly StoredBatch[], database: Database, tally: Tally): Promise<void> | void;
}

const CHAIN = "chain";

/**
 * `checkpoint`: heads that were noted outside the database at some time. A chain that was made again as a whole, or
 * cut off at its end, is sound in itself: only they tell.
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
      for (const noted of checkpoint) {
        const head = heads.find(({ slot }) => slot === noted.slot);
        if (head === undefined || head.n < noted.n)
          tally(CHAIN).broken(batchName(noted), "is missing: the checkpoint has it");
      }
      for (const head of heads) {
        const chain = new Chain(
          tables,
          checkpoint.find(({ slot }) => slot === head.slot),
          tally(CHAIN),
        );
        for await (const batches of walkBatches(database, records, head)) {
          for (const batch of batches) chain.follow(batch);
          for (const { check, look } of batchChecks) await look(batches, database, tally(check));
        }
      }
    },
  };
}

/** One slot's chain, as far as it was followed. */
class Chain {
  readonly #tables: readonly AnyRecordTable[];
  readonly #noted: ChainHead | undefined;
  readonly #tally: Tally;
  #n = -1n;
  #hash: Buffer = NO_HASH;

  constructor(tables: readonly AnyRecordTable[], noted: ChainHead | undefined, tally: Tally) {
    this.#tables = tables;
    this.#noted = noted;
    this.#tally = tally;
  }

  follow(batch: StoredBatch): void {
    this.#tally.examined(1);
    const name = batchName(batch);
    if (batch.n !== this.#n + 1n) {
      // What stands behind a gap cannot be hashed again; it is taken as it is, to follow the chain from there.
      const missing = batchName({ slot: batch.slot, n: this.#n + 1n });
      this.#tally.broken(missing, `is missing: the next one is ${name}`);
    } else if (!batch.hash.equals(hashOf(this.#tables, this.#hash, batch))) {
      this.#tally.broken(name, "does not hash to its hash: it, its rows or the batch before it were changed");
    }
    if (batch.n === this.#noted?.n && !batch.hash.equals(this.#noted.hash))
      this.#tally.broken(name, "is not the batch that the checkpoint has");
    this.#n = batch.n;
    this.#hash = batch.hash;
  }
}

/** The tables whose rows are hashed, in the order of their names. */
export function hashedTables(records: readonly AnyRecordTable[]): AnyRecordTable[] {
  return [postingTable, ...records].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The hash of a batch that follows this one, made again from what is stored. */
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
