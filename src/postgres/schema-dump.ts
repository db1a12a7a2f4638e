/**
 * Dumps the schema as text by catalogue queries, because the embedded server comes without pg_dump. The text is the same
 * on every supported version of PostgreSQL.
 */
import type { Queryable } from "./database.ts";

/** Stands for the service's role, whatever its name. */
const SERVICE = "service";

/** Domains and enums, then tables with their grants, each with its comment above it, in the order of creation. */
export async function dumpSchema(database: Queryable, serviceRole: string): Promise<string> {
  const parts = [
    ...(await dumpDomains(database)),
    ...(await dumpEnums(database)),
    ...(await dumpTables(database, serviceRole)),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A table in Markdown of every index and the queries that need it, which are its comment. */
export async function describeIndexes(database: Queryable): Promise<string> {
  const rows = await database.rows<{ name: string; of: string; comment: string | null }>(
    `select i.relname as name, t.relname || ' ' || substring(pg_get_indexdef(i.oid) from ' USING (.*)$') as of,
            obj_description(i.oid, 'pg_class') as comment
       from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
      where i.relnamespace = 'public'::regnamespace
      order by t.relname collate "C", not x.indisprimary, i.relname collate "C"`,
  );
  const lines = rows.map(({ name, of, comment }) => `| \`${name}\` | \`${columnsIn(of)}\` | ${comment ?? ""} |`);
  return ["| index | of | serves |", "| --- | --- | --- |", ...lines].join("\n");
}

/** Without the usual method, and without what all indexes have in common. */
const columnsIn = (definition: string): string =>
  definition
    .replace(" btree", "")
    .replace(/ (WITH|INCLUDE) \([^)]*\)/, "")
    .replace(" WHERE ", " where ");

async function dumpEnums(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{ name: string; comment: string | null; labels: string[] }>(
    `select t.typname as name, obj_description(t.oid, 'pg_type') as comment,
            array_agg(quote_literal(e.enumlabel) order by e.enumsortorder) as labels
       from pg_type t join pg_enum e on e.enumtypid = t.oid
      where t.typnamespace = 'public'::regnamespace
      group by t.oid, t.typname order by t.oid`,
  );
  return rows.map(({ name, comment, labels }) =>
    [...commentLines(comment), `create type ${name} as enum (${labels.join(", ")});`].join("\n"),
  );
}

async function dumpDomains(database: Queryable): Promise<string[]> {
  const rows = await database.rows<{
    name: string;
    comment: string | null;
    type: string;
    collation: string | null;
    checks: string[];
  }>(
    `select t.typname as name, obj_description(t.oid, 'pg_type') as comment,
            format_type(t.typbasetype, t.typtypmod) as type,
            (select c.collname from pg_collation c join pg_type base on base.oid = t.typbasetype
              where c.oid = t.typcollation and c.oid <> base.typcollation) as collation,
            array(select format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) from pg_constraint k
                   where k.contypid = t.oid and k.contype = 'c' order by k.conname collate "C") as checks
       from pg_type t
      where t.typnamespace = 'public'::regnamespace and t.typtype = 'd'
      order by t.oid`,
  );
  return rows.map(({ name, comment, type, collation, checks }) => {
    const definition = [`create domain ${name} as ${type}${collateClause(collation)}`, ...checks].join("\n  ");
    return [...commentLines(comment), `${definition};`].join("\n");
  });
}

interface Table {
  readonly oid: string;
  readonly name: string;
  readonly comment: string | null;
  readonly unlogged: boolean;
  readonly options: string[] | null;
}

async function dumpTables(database: Queryable, serviceRole: string): Promise<string[]> {
  const tables = await database.rows<Table>(
    `select oid::text as oid, relname as name, obj_description(oid, 'pg_class') as comment,
            relpersistence = 'u' as unlogged, reloptions as options
       from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      order by relname = $1, pg_class.oid`,
    // Made before the first migration, and the last that a reader wants.
    ["migration"],
  );
  const dumped: string[] = [];
  for (const table of tables) dumped.push(await dumpTable(database, table, serviceRole));
  return dumped;
}

async function dumpTable(database: Queryable, table: Table, serviceRole: string): Promise<string> {
  const { oid, name, comment, unlogged, options } = table;
  const parts = [...(await columnsOf(database, oid)), ...(await constraintsOf(database, oid))];
  const storage = options === null ? "" : ` with (${options.join(", ")})`;
  const last = parts.length - 1;
  return [
    ...commentLines(comment),
    `create ${unlogged ? "unlogged " : ""}table ${name} (`,
    ...parts.flatMap(({ comment: why, definition }, i) => [
      ...commentLines(why, "  "),
      `  ${definition}${i < last ? "," : ""}`,
    ]),
    `)${storage};`,
    ...(await indexesOf(database, oid)),
    ...(await privilegesOf(database, oid, name, serviceRole)),
  ].join("\n");
}

/** A column, constraint or index, and its comment; of a constraint, that of its index. */
interface Part {
  readonly comment: string | null;
  readonly definition: string;
}

async function columnsOf(database: Queryable, table: string): Promise<Part[]> {
  const rows = await database.rows<{
    name: string;
    comment: string | null;
    type: string;
    collation: string | null;
    required: boolean;
    preset: string | null;
  }>(
    `select quote_ident(a.attname) as name, col_description(a.attrelid, a.attnum) as comment,
            format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
            pg_get_expr(d.adbin, d.adrelid) as preset,
            (select c.collname from pg_collation c join pg_type t on t.oid = a.atttypid
              where c.oid = a.attcollation and c.oid <> t.typcollation) as collation
       from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
      order by a.attnum`,
    [table],
  );
  return rows.map(({ name, comment, type, collation, required, preset }) => ({
    comment,
    definition: [
      `${name} ${type}${collateClause(collation)}`,
      ...(preset === null ? [] : [`default ${preset}`]),
      ...(required ? ["not null"] : []),
    ].join(" "),
  }));
}

const collateClause = (collation: string | null): string => (collation === null ? "" : ` collate "${collation}"`);

/** Primary key first. `not null`, a constraint from version 18 on, is dumped with its column. */
async function constraintsOf(database: Queryable, table: string): Promise<Part[]> {
  return database.rows<Part>(
    `select format('constraint %I %s', conname, pg_get_constraintdef(oid)) as definition,
            case when contype <> 'f' then obj_description(conindid, 'pg_class') end as comment
       from pg_constraint
      where conrelid = $1::oid and contype in ('p', 'u', 'f', 'c', 'x')
      order by contype <> 'p', conname collate "C"`,
    [table],
  );
}

/** Without the indexes of constraints. */
async function indexesOf(database: Queryable, table: string): Promise<string[]> {
  const rows = await database.rows<Part>(
    `select pg_get_indexdef(i.indexrelid) as definition, obj_description(i.indexrelid, 'pg_class') as comment
       from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = $1::oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid
                                                    and k.conrelid = i.indrelid)
      order by c.relname collate "C"`,
    [table],
  );
  return rows.flatMap(({ comment, definition }) => [...commentLines(comment), `${definition};`]);
}

const WIDTH = 120;

/** Lines of at most WIDTH characters. */
function commentLines(comment: string | null, indent = ""): string[] {
  if (comment === null) return [];
  const head = `${indent}--`;
  const lines: string[] = [];
  let line = head;
  for (const word of comment.trim().split(/\s+/)) {
    if (line !== head && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = head;
    }
    line += ` ${word}`;
  }
  return [...lines, line];
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
