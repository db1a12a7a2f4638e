/**
 * Checks that the service's role cannot change append-only tables: by itself, or as a role that it is a member of,
 * whether it inherits that role's privileges or has to become it first.
 */
import type { Queryable } from "./database.ts";

/** The service's role and all that it can become. Not for superusers, who are members of every role. */
const ROLES = "(select * from pg_roles where pg_has_role(current_user, oid, 'member')) r";

/** @returns A sentence for each way in which the service's role could change these append-only tables. */
export async function findExcessPrivileges(database: Queryable, tables: readonly string[]): Promise<string[]> {
  const [own] = await database.rows<{ rolsuper: boolean }>(
    "select rolsuper from pg_roles where rolname = current_user",
  );
  if (own?.rolsuper === true) return ["the service's role can change the ledger: it is a superuser"];
  return [
    ...(await findOfTables(database, tables)),
    ...(await findOfRoles(database)),
    ...(await findOfSchema(database)),
  ];
}

const canChange = (table: string, how: string): string =>
  `the service's role can change or remove rows of ${table}: it ${how}`;

/** A privilege on one column is as good as one on the table; a trigger runs with each write. */
async function findOfTables(database: Queryable, tables: readonly string[]): Promise<string[]> {
  const rows = await database.rows<{ name: string; owned: boolean; granted: string | null }>(
    `select c.relname as name, bool_or(r.oid = c.relowner) as owned,
            string_agg(distinct p, ', ') filter (where may) as granted
       from pg_class c cross join ${ROLES} cross join unnest(array['delete', 'trigger', 'truncate', 'update']) p
            cross join lateral (select case p when 'update' then has_any_column_privilege(r.oid, c.oid, p)
                                              else has_table_privilege(r.oid, c.oid, p) end as may) m
      where c.relnamespace = 'public'::regnamespace and c.relname = any($1) and (may or r.oid = c.relowner)
      group by c.relname
      order by c.relname`,
    [tables],
  );
  return rows.map(({ name, owned, granted }) =>
    canChange(name, owned ? "owns the table or can become its owner" : `was granted ${granted}`),
  );
}

/** What gives every privilege: with CREATEROLE up to PostgreSQL 15 a role can make itself a member of the owner. */
async function findOfRoles(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{ name: string; own: boolean; attributes: string[] }>(
    `select rolname as name, rolname = current_user as own,
            array_remove(array[case when rolsuper then 'SUPERUSER' end,
                               case when rolcreaterole then 'CREATEROLE' end,
                               case when rolname like 'pg\\_%' then 'access to the server''s programs or files' end],
                         null) as attributes
       from ${ROLES}
      where rolsuper or rolcreaterole or rolname in ('pg_execute_server_program', 'pg_write_server_files')
      order by rolname`,
  );
  return rows.map(({ name, own, attributes }) => {
    const who = own ? "it has" : `it is a member of ${name}, which has`;
    return `the service's role can change the ledger: ${who} ${attributes.join(" and ")}`;
  });
}

async function findOfSchema(database: Queryable): Promise<string[]> {
  const [row] = await database.rows<{ database: boolean; schema: boolean; creates: boolean }>(
    `select pg_has_role(current_user, d.datdba, 'member') as database,
            pg_has_role(current_user, n.nspowner, 'member') as schema,
            (select bool_or(has_schema_privilege(r.oid, n.oid, 'create')) from ${ROLES}) as creates
       from pg_database d cross join pg_namespace n
      where d.datname = current_database() and n.nspname = 'public'`,
  );
  const owned = [row?.database === true ? "database" : "", row?.schema === true ? "schema public" : ""];
  const findings = owned
    .filter((what) => what !== "")
    .map((what) => `the service's role can remove every table: it owns the ${what} or can become its owner`);
  if (findings.length > 0 || row?.creates !== true) return findings;
  return ["the service's role can create objects among the tables: revoke create on schema public from it and public"];
}
