/**
 * Dumps the schema as text by catalogue queries, because the embedded server comes without pg_dump. The text is the same
 * on every supported version of PostgreSQL.
 */
import type { Queryable } from "./database.ts";

/** Stands for the service's role, whatever its name. */
const SERVICE = "service";

/** Types, then tables with their grants, sorted by name. */
export async function dumpSchema(database: Queryable, serviceRole: string): Promise<string> {
  const parts = [
    ...(await dumpEnums(database)),
    ...(await dumpDomains(database)),
    ...(await dumpTables(database, serviceRole)),
  ];
  return `${parts.join("\n\n")}\n`;
}

async function dumpEnums(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{ name: string; labels: string[] }>(
    `select t.typname as name, array_agg(quote_literal(e.enumlabel) order by e.enumsortorder) as labels
       from pg_type t join pg_enum e on e.enumtypid = t.oid
      where t.typnamespace = 'public'::regnamespace
      group by t.typname order by t.typname collate "C"`,
  );
  return rows.map(({ name, labels }) => `create type ${name} as enum (${labels.join(", ")});`);
}

async function dumpDomains(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{ name: string; type: string; collation: string | null; checks: string[] }>(
    `select t.typname as name, format_type(t.typbasetype, t.typtypmod) as type,
            (select c.collname from pg_collation c join pg_type base on base.oid = t.typbasetype
              where c.oid = t.typcollation and c.oid <> base.typcollation) as collation,
            array(select pg_get_constraintdef(k.oid) from pg_constraint k
                   where k.contypid = t.oid and k.contype = 'c' order by k.conname collate "C") as checks
       from pg_type t
      where t.typnamespace = 'public'::regnamespace and t.typtype = 'd'
      order by t.typname collate "C"`,
  );
  return rows.map(({ name, type, collation, checks }) =>
    [`create domain ${name} as ${type}${collateClause(collation)}`, ...checks].join(" ").concat(";"),
  );
}

interface Table {
  readonly oid: string;
  readonly name: string;
  readonly unlogged: boolean;
  readonly options: string[] | null;
}

async function dumpTables(database: Queryable, serviceRole: string): Promise<string[]> {
  const tables = await database.rows<Table>(
    `select oid::text as oid, relname as name, relpersistence = 'u' as unlogged, reloptions as options from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname collate "C"`,
  );
  const dumped: string[] = [];
  for (const table of tables) dumped.push(await dumpTable(database, table, serviceRole));
  return dumped;
}

async function dumpTable(database: Queryable, table: Table, serviceRole: string): Promise<string> {
  const { oid, name, unlogged, options } = table;
  const lines = [...(await columnsOf(database, oid)), ...(await constraintsOf(database, oid))];
  const storage = options === null ? "" : ` with (${options.join(", ")})`;
  return [
    `create ${unlogged ? "unlogged " : ""}table ${name} (`,
    lines.map((line) => `  ${line}`).join(",\n"),
    `)${storage};`,
    ...(await indexesOf(database, oid)),
    ...(await privilegesOf(database, oid, name, serviceRole)),
  ].join("\n");
}

async function columnsOf(database: Queryable, table: string): Promise<string[]> {
  const rows = await database.rows<{
    name: string;
    type: string;
    collation: string | null;
    required: boolean;
    preset: string | null;
  }>(
    `select quote_ident(a.attname) as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
            pg_get_expr(d.adbin, d.adrelid) as preset,
            (select c.collname from pg_collation c join pg_type t on t.oid = a.atttypid
              where c.oid = a.attcollation and c.oid <> t.typcollation) as collation
       from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
      order by a.attnum`,
    [table],
  );
  return rows.map(({ name, type, collation, required, preset }) =>
    [
      `${name} ${type}${collateClause(collation)}`,
      ...(preset === null ? [] : [`default ${preset}`]),
      ...(required ? ["not null"] : []),
    ].join(" "),
  );
}

const collateClause = (collation: string | null): string => (collation === null ? "" : ` collate "${collation}"`);

/** Primary key first. `not null`, a constraint from version 18 on, is dumped with its column. */
async function constraintsOf(database: Queryable, table: string): Promise<string[]> {
  const rows = await database.rows<{ name: string; definition: string }>(
    `select quote_ident(conname) as name, pg_get_constraintdef(oid) as definition from pg_constraint
      where conrelid = $1::oid and contype in ('p', 'u', 'f', 'c', 'x')
      order by contype <> 'p', conname collate "C"`,
    [table],
  );
  return rows.map(({ name, definition }) => `constraint ${name} ${definition}`);
}

/** Without the indexes of constraints. */
async function indexesOf(database: Queryable, table: string): Promise<string[]> {
  const rows = await database.rows<{ definition: string }>(
    `select pg_get_indexdef(i.indexrelid) as definition
       from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = $1::oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid
                                                    and k.conrelid = i.indrelid)
      order by c.relname collate "C"`,
    [table],
  );
  return rows.map(({ definition }) => `${definition};`);
}

/** Grants of the role on the table and its columns. */
async function privilegesOf(database: Queryable, table: string, name: string, role: string): Promise<string[]> {
  const rows = await database.rows<{ privilege: string; columns: string[] }>(
    `select lower(granted.privilege) as privilege, array_remove(array_agg(granted.name order by granted.number), null) as columns
       from (select acl.privilege_type as privilege, acl.grantee, null::text as name, 0 as number
               from pg_class c, aclexplode(c.relacl) acl where c.oid = $1::oid
              union all
             select acl.privilege_type, acl.grantee, a.attname::text, a.attnum
               from pg_attribute a, aclexplode(a.attacl) acl where a.attrelid = $1::oid and not a.attisdropped) granted
      where granted.grantee = (select oid from pg_roles where rolname = $2)
      group by granted.privilege, granted.number > 0
      order by granted.number > 0, array_position(array['SELECT', 'INSERT', 'UPDATE', 'DELETE'], granted.privilege)`,
    [table, role],
  );
  if (rows.length === 0) return [];
  const granted = rows.map(({ privilege, columns }) =>
    columns.length === 0 ? privilege : `${privilege} (${columns.join(", ")})`,
  );
  return [`grant ${granted.join(", ")} on ${name} to ${SERVICE};`];
}
