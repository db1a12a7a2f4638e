/** Takes checkpoints, and checks that the database still has the heads of an earlier one. */
import type { ChainHead } from "../ledger/stored-batches.ts";
import { readHeads } from "../ledger/stored-batches.ts";
import type { Database } from "../postgres/database.ts";
import { waitForStandby } from "../postgres/durability.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { Checkpoint } from "./signed-checkpoint.ts";

/**
 * Heads are read in one statement, so everything that a head depends on in other slots is within their heads. Waits
 * until the standby has them: after a failover, a lost head would look like tampering.
 */
export async function takeCheckpoint(database: Database, at: Instant): Promise<Checkpoint> {
  const [ledgerId, heads] = [await readLedgerId(database), await readHeads(database)];
  await waitForStandby(database);
  return { ledgerId, at, heads };
}

export async function readLedgerId(database: Database): Promise<Uuid> {
  const [ledger] = await database.rows<{ id: Uuid }>("select id from ledger");
  return must(ledger, "the installation has an id").id;
}

/** The first of these heads that is not in the database. One index probe per head. */
export async function findMissingHead(
  database: Database,
  heads: readonly ChainHead[],
): Promise<Pick<ChainHead, "slot" | "n"> | undefined> {
  const [missing] = await database.rows<{ slot: number; n: string }>(
    `select k.slot, k.n from unnest($1::smallint[], $2::bigint[], $3::bytea[]) as k(slot, n, hash)
      where not exists (select from batch b where b.slot = k.slot and b.n = k.n and b.hash = k.hash)
      order by k.slot limit 1`,
    [heads.map(({ slot }) => slot), heads.map(({ n }) => n), heads.map(({ hash }) => hash)],
  );
  return missing && { slot: missing.slot, n: BigInt(missing.n) };
}
