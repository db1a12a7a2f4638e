/** Whether anything has changed: digests of what is stored. */
import type { Queryable } from "../../src/postgres/database.ts";

/**
 * Tables that change without an effect: leases are renewed, a batch is written for rejections too (the rows that they depend
 * on are checked in it) and events follow it, which are posted to webhooks; the feeds' changes are written after the engine's
 * round, and access denials once a minute.
 */
const RESTLESS = [
  ...["lease", "batch", "book_change", "access_denial", "event", "event_cut"],
  ...["webhook_progress", "webhook_delivery", "webhook_attempt"],
];

/**
 * What is left of rows in which something is written without an effect, too: a batch seals what a transaction has recorded,
 * and once a minute the use of a secret is noted, also by a request that is then rejected.
 */
const LASTING: Readonly<Record<string, string>> = {
  configuration_write: "(t.id, t.at, t.caller, t.kind, t.subject, t.customer_id, t.details)",
  client_secret: "(t.client_id, t.id, t.scheme, t.salt, t.digest, t.created_at, t.expires_at)",
};

/**
 * A digest of each table, by name. Equal digests mean that nothing changed in between. With `about`, only of the rows that
 * contain one of these ids.
 */
export async function digestOfTables(
  database: Queryable,
  about: readonly string[] = [],
): Promise<Readonly<Record<string, string>>> {
  const digests = (await tableNames(database)).map(
    (table) =>
      `select '${table}' as name, md5(coalesce(string_agg(${LASTING[table] ?? "t"}::text, '|' order by t::text), '')) as digest
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
