/** What an attacker with the database and the program can do: recompute the chains with consistent hashes. */

import { readHeads, walkBatches } from "../../src/ledger/read-batches.ts";
import { NO_HASH } from "../../src/ledger/writer/batch.ts";
import type { Database } from "../../src/postgres/database.ts";
import { hashedTables, hashOf } from "../../src/verify/ledger/chain.ts";
import { TABLES } from "../../src/verify/verify.ts";

export async function remakeChains(owner: Database): Promise<void> {
  const tables = hashedTables(TABLES.records);
  for (const head of await readHeads(owner)) {
    let hash: Buffer = NO_HASH;
    for await (const batches of walkBatches(owner, TABLES.records, head)) {
      for (const batch of batches) {
        hash = hashOf(tables, hash, batch);
        await owner.rows("update batch set hash = $3 where slot = $1 and n = $2", [batch.slot, batch.n, hash]);
      }
    }
  }
}
