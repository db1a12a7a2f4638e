/** What an attacker with the database and the program can do: recompute the chains with consistent hashes. */

import { readHeads, walkBatches } from "../../src/ledger/stored-batches.ts";
import { NO_HASH } from "../../src/ledger/writer/batch.ts";
import type { Database } from "../../src/postgres/database.ts";
import { LANE_TABLES } from "../../src/verify/lane-tables.ts";
import { hashedTables, hashOf } from "../../src/verify/ledger/chain.ts";

export async function remakeChains(owner: Database): Promise<void> {
  const tables = hashedTables(LANE_TABLES.records);
  for (const head of await readHeads(owner)) {
    let hash: Buffer = NO_HASH;
    for await (const batches of walkBatches(owner, LANE_TABLES.records, head)) {
      for (const batch of batches) {
        hash = hashOf(tables, hash, batch);
        await owner.rows("update batch set hash = $3 where slot = $1 and n = $2", [batch.slot, batch.n, hash]);
      }
    }
  }
}
