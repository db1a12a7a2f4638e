/** Tells whether anything has happened: digests of what is stored. */
import type { Queryable } from "../../src/postgres/database.ts";

/**
 * The tables that change without an effect: leases are kept alive, and a batch is a link of the chain that is written
 * for refusals too (the rows that they rested on are checked in it). What the feeds follow is written behind the round.
 */
const RESTLESS = ["lease", "batch", "book_change"];

/**
 * A digest of each table, by name. Two that are equal mean that nothing has happened in between. With `about`, ids: of
 * the rows that name one of them.
 */
export async function digestOfTables(
  database: Queryable,
  about: readonly string[] = [],
): Promise<Readonly<Record<string, string>>> {
  const digests = (await tableNames(database)).map(
    (table) =>
      `select '${table}' as name, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as digest
         from ${table} t where t::text ~ $1`,
  );
  const rows = await database.rows<{ name: string; digest: string }>(digests.join(" union all "), [about.join("|")]);
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}

async function tableNames(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables
      where schemaname = 'public' and not tablename = any($1) order by 1`,
    [RESTLESS],
  );
  return rows.map(({ name }) => name);
}
