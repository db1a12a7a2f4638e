/**
 * Rows that change: each refers to the batch that wrote it last, which has its digest. And each row that a batch wrote
 * still exists, in that or a later version.
 */
import {
  type AnyStateTable,
  columnsOf,
  digestOf,
  type LaneTables,
  PAGE,
  type SqlRecord,
  type StateRow,
} from "../../ledger/tables.ts";
import type { Database, Queryable } from "../../postgres/database.ts";
import { parseUuid } from "../../std/id.ts";
import type { Examination, Tally } from "../check.ts";
import type { BatchCheck } from "./chain.ts";
import { findUnknownColumns, holdsUnknown, type UnknownColumns } from "./known-columns.ts";

const CHANGING_ROWS = "changing rows";

export function statesExamination(tables: LaneTables): Examination {
  return {
    checks: [CHANGING_ROWS],
    run: async (database, tally) => {
      const unknown = await findUnknownColumns(database, tables);
      for (const table of digestedTables(tables)) await walkStates(database, table, unknown, tally(CHANGING_ROWS));
    },
  };
}

const digestedTables = ({ states }: LaneTables): AnyStateTable[] => states.filter(({ digested }) => digested);

async function walkStates(
  database: Database,
  table: AnyStateTable,
  unknown: UnknownColumns,
  tally: Tally,
): Promise<void> {
  let after: SqlRecord | undefined;
  do {
    const records = await readPage(database, table, unknown, after);
    tally.examined(records.length);
    await comparePage(database, table, records, tally);
    after = records.length < PAGE ? undefined : records.at(-1);
  } while (after !== undefined);
}

function readPage(
  database: Queryable,
  table: AnyStateTable,
  unknown: UnknownColumns,
  after: SqlRecord | undefined,
): Promise<SqlRecord[]> {
  const keys = table.keys.map((column) => column.name);
  const values = table.keys.map((column, i) => `$${i + 2}::${column.type}`);
  return database.rows<SqlRecord>(
    `select ${columnsOf(table)}, slot, batch, ${holdsUnknown(unknown, table.name)} as holds_unknown from ${table.name}
      ${after === undefined ? "" : `where (${keys.join(", ")}) > (${values.join(", ")})`}
      order by ${keys.join(", ")} limit $1`,
    [PAGE, ...(after === undefined ? [] : keys.map((key) => after[key]))],
  );
}

/** Batches may be read later than the rows that refer to them, because batches never change. */
async function comparePage(
  database: Queryable,
  table: AnyStateTable,
  records: readonly SqlRecord[],
  tally: Tally,
): Promise<void> {
  const rows = records.map((record) => ({ record, row: table.read(record) as StateRow }));
  // A row that the catalogue opened has version 1 and no batch until a command changes it.
  const written = rows.filter(
    ({ record, row }) => !(table.openedByCatalogue === true && record.batch === null && row.version === 1n),
  );
  const stored = await database.rows<{ entry: string | null }>(
    `select b.changes #>> array[$1, k.key] as entry
       from unnest($2::text[], $3::smallint[], $4::bigint[]) with ordinality as k(key, slot, batch, place)
       left join batch b on b.slot = k.slot and b.n = k.batch
      order by k.place`,
    [
      table.name,
      written.map(({ row }) => table.keyOf(row)),
      written.map(({ record }) => record.slot),
      written.map(({ record }) => record.batch),
    ],
  );
  for (const [i, { record, row }] of written.entries()) {
    // The caller numbers follow the digest.
    const [version, digest] = stored[i]?.entry?.split(" ") ?? [];
    if (version === row.version.toString() && digest === digestOf(table, row)) continue;
    // The check of known columns says so.
    if (record.holds_unknown === true) continue;
    const batch = `batch ${record.slot}/${record.batch}`;
    const wrong = record.batch === null ? "refers to no batch" : `does not match ${batch}, which it refers to`;
    tally.broken(`${table.name} ${table.keyOf(row)}`, wrong);
  }
}

/** Finds rows that a batch wrote and that are gone or older. Rows are read after their batch, so they cannot be missing. */
export function missingRowsCheck(tables: LaneTables): BatchCheck {
  return {
    check: CHANGING_ROWS,
    examine: async (batches, database, tally) => {
      for (const table of digestedTables(tables)) {
        const written = new Map(batches.flatMap((batch) => [...(batch.written.get(table.name) ?? [])]));
        await reportMissingRows(database, table, written, tally);
      }
    },
  };
}

async function reportMissingRows(
  database: Queryable,
  table: AnyStateTable,
  written: ReadonlyMap<string, bigint>,
  tally: Tally,
): Promise<void> {
  const keys = [...written.keys()].filter((key) => isKey(table, key));
  if (keys.length === 0) return;
  const values = keys.map((key) => table.keyValues(key, 0));
  const names = table.keys.map((column) => column.name);
  const arrays = table.keys.map((column, i) => `$${i + 2}::${column.type}[]`);
  const same = names.map((name) => `t.${name} = k.${name}`);
  const gone = await database.rows<{ place: string; version: string | null }>(
    `select k.place, t.version
       from unnest($1::bigint[], ${arrays.join(", ")}) with ordinality as k(version, ${names.join(", ")}, place)
       left join ${table.name} t on ${same.join(" and ")}
      where t.version is null or t.version < k.version order by k.place`,
    [keys.map((key) => written.get(key)), ...table.keys.map((_, i) => values.map((value) => value[i]))],
  );
  for (const { place, version } of gone) {
    const key = keys[Number(place) - 1] as string;
    const wrong = version === null ? "is missing, but a batch wrote it" : `has gone back to version ${version}`;
    tally.broken(`${table.name} ${key}`, wrong);
  }
}

/** Keys of a batch that was tampered with may be malformed. */
function isKey(table: AnyStateTable, key: string): boolean {
  const values = table.keyValues(key, 0);
  return table.keys.every(({ type }, i) => canBe(type, values[i] ?? ""));
}

function canBe(type: string, text: string): boolean {
  if (type === "uuid") return parseUuid(text) !== undefined;
  if (type !== "date") return true;
  const midnight = new Date(text);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text) && text.length === 10;
}
