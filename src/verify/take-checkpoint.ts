/** What a checkpoint notes of the books, and whether they still have what an earlier one noted. */
import type { ChainHead } from "../ledger/batch-log.ts";
import { readHeads } from "../ledger/batch-log.ts";
import type { Database } from "../postgres/database.ts";
import { commitBehind } from "../postgres/durability.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { Checkpoint } from "./checkpoint.ts";

/**
 * Heads are read in one statement: what each head rests on in other slots is within their heads. A standby that takes over
 * later has them: books that had lost a head would look as if they had been tampered with.
 */
export async function takeCheckpoint(database: Database, at: Instant): Promise<Checkpoint> {
  const [booksId, heads] = [await readBooksId(database), await readHeads(database)];
  await commitBehind(database);
  return { booksId, at, heads };
}

export async function readBooksId(database: Database): Promise<Uuid> {
  const [books] = await database.rows<{ id: Uuid }>("select id from books");
  return must(books, "the books have a name").id;
}

/** The first of these heads that the books do not have. A look into an index for each, whatever their size. */
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
