/**
 * Known columns: a database that a newer version has migrated may hold tables and columns that this version does not know.
 * What they hold is in the hashes of that version. This check says so in words, because it need not be tampering. An
 * older program does not start on a newer database, so it is met after the start, or where something was added by hand.
 */
import type { StoredBatch } from "../../ledger/stored-batches.ts";
import type { AnyRecordTable, AnyStateTable, LaneTables } from "../../ledger/tables.ts";
import type { Database } from "../../postgres/database.ts";
import { type Examination, readInAnyTime } from "../check.ts";

export const KNOWN_COLUMNS = "known columns";

/** The lane writes them itself. */
const STAMP = ["slot", "batch", "caller"];

/** By table: the columns that this version does not know, or all of them. */
export type UnknownColumns = ReadonlyMap<string, readonly string[] | "all">;

/** The tables whose rows say which batch wrote them, compared with the descriptions. */
export async function findUnknownColumns(database: Database, tables: LaneTables): Promise<UnknownColumns> {
  const hashed = new Map<string, AnyRecordTable | AnyStateTable>(
    [...tables.records, ...tables.states.filter(({ digested }) => digested)].map((table) => [table.name, table]),
  );
  const found = await database.rows<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.oid in (select attrelid from pg_attribute where attname = 'batch' and not attisdropped)
        and c.relkind = 'r' and c.relnamespace = (select relnamespace from pg_class where oid = 'batch'::regclass)
      group by c.relname order by c.relname`,
  );
  const unknown = new Map<string, readonly string[] | "all">();
  for (const { name, columns } of found) {
    const table = hashed.get(name);
    if (table === undefined) unknown.set(name, "all");
    // The catalogue's columns are not in the chain.
    if (table === undefined || ("openedOutsideBatches" in table && table.openedOutsideBatches === true)) continue;
    const known = new Set([...table.columns.map((column) => column.name), ...STAMP]);
    const others = columns.filter((column) => !known.has(column));
    if (others.length > 0) unknown.set(name, others);
  }
  return unknown;
}

/** SQL: whether a row of the table holds something that this version does not know. */
export function holdsUnknown(unknown: UnknownColumns, table: string): string {
  const columns = unknown.get(table);
  if (columns === undefined) return "false";
  return columns === "all" ? "true" : `num_nonnulls(${columns.map(quoted).join(", ")}) > 0`;
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const WHAT_NOW = "if a later version added it, verify with that version; otherwise it was added by hand";

export function knownColumnsExamination(tables: LaneTables): Examination {
  return {
    checks: [KNOWN_COLUMNS],
    reads: [],
    run: async (database, tally) => {
      const unknown = await findUnknownColumns(database, tables);
      tally(KNOWN_COLUMNS).examined(tables.records.length + tables.states.length);
      for (const [name, columns] of unknown) {
        const one = `select 1 from ${quoted(name)} where ${holdsUnknown(unknown, name)} limit 1`;
        const [row] = await readInAnyTime(database, one);
        if (row === undefined) continue;
        const what = columns === "all" ? "is a table that" : `has values in ${columns.join(", ")}, which`;
        tally(KNOWN_COLUMNS).broken(name, `${what} this version does not know: ${WHAT_NOW}`);
      }
    },
  };
}

/** Why a batch cannot be recomputed: it added something that this version does not know. */
export async function unknownInBatch(
  database: Database,
  unknown: UnknownColumns,
  { slot, n }: StoredBatch,
): Promise<string | undefined> {
  for (const [name, columns] of unknown) {
    const [row] = await readInAnyTime(
      database,
      `select 1 from ${quoted(name)} where slot = $1 and batch = $2 and ${holdsUnknown(unknown, name)} limit 1`,
      [slot, n],
    );
    if (row === undefined) continue;
    const what = columns === "all" ? name : columns.map((column) => `${name}.${column}`).join(", ");
    return `holds ${what}, which this version does not know: ${WHAT_NOW}`;
  }
  return undefined;
}
