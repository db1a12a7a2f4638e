/**
 * Reads a table in physical order, which needs no index and no sorting, a range of blocks per statement. So a statement
 * reads as little of a large table as of a small one, whatever the planner knows. What is written meanwhile may be missed.
 */
import type { Queryable } from "./database.ts";

/** A range of places: from the first one on, below the next one. */
export type Places = readonly [first: string, next: string];

/** Blocks per range: 4 MB. */
const BLOCKS = 512;

/** SQL: whether a row is between the places $1 and $2. */
export const IS_BETWEEN_PLACES = "ctid >= $1::text::tid and ctid < $2::text::tid";

/** The ranges that make up a table, as large as it is at the beginning. */
export async function* rangesOfTable(database: Queryable, table: string): AsyncGenerator<Places, void> {
  const [size] = await database.rows<{ blocks: number }>(
    "select (pg_relation_size($1::regclass) / current_setting('block_size')::integer)::integer as blocks",
    [table],
  );
  for (let block = 0; block < (size?.blocks ?? 0); block += BLOCKS) yield [`(${block},0)`, `(${block + BLOCKS},0)`];
}
