/**
 * Rows that change: each refers to the batch that wrote it last, which has its digest. And each row that a batch wrote
 * still exists, in that or a later version.
 */
import { type RowChange, readChanges, replayVersions } from "../../ledger/change-history.ts";
import {
  type AnyStateTable,
  columnsOf,
  digestOf,
  digestOfTexts,
  type LaneTables,
  PAGE,
  type SqlRecord,
  type StateRow,
} from "../../ledger/tables.ts";
import type { Database, Queryable } from "../../postgres/database.ts";
import { parseUuid } from "../../std/id.ts";
import { type Examination, readInAnyTime, type Tally } from "../check.ts";
import type { BatchCheck } from "./chain.ts";
import { findUnknownColumns, holdsUnknown, type UnknownColumns } from "./known-columns.ts";

const CHANGING_ROWS = "changing rows";

export function statesExamination(tables: LaneTables): Examination {
  return {
    checks: [CHANGING_ROWS],
    reads: digestedTables(tables).map(({ name }) => name),
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
    tally.read(records.length);
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
  database: Database,
  table: AnyStateTable,
  records: readonly SqlRecord[],
  tally: Tally,
): Promise<void> {
  const rows = records.map((record) => ({ record, row: table.read(record) as StateRow }));
  // A row that the catalogue opened has version 1 and no batch until a command changes it.
  const written = rows.filter(
    ({ record, row }) => !(table.openedOutsideBatches === true && record.batch === null && row.version === 1n),
  );
  const changes = await readChangesOf(
    database,
    table,
    written.map(({ record }) => record),
  );
  const byOldVersion: SqlRecord[] = [];
  for (const { record, row } of written) {
    const change = changes.get(`${record.slot}/${record.batch}`)?.get(table.keyOf(row));
    if (change?.version === row.version && change.digest === digestOf(table, row)) continue;
    if (change?.version === row.version && isOfOldVersion(table, row, change.digest)) {
      byOldVersion.push(record);
      continue;
    }
    // The check of known columns says so.
    if (record.holds_unknown === true) continue;
    const batch = `batch ${record.slot}/${record.batch}`;
    const wrong = record.batch === null ? "refers to no batch" : `does not match ${batch}, which it refers to`;
    tally.broken(`${table.name} ${table.keyOf(row)}`, wrong);
  }
  await compareWithHistory(database, table, byOldVersion, tally);
}

/** Whether a program that did not know the latest columns wrote the row last: its digest does without them. */
function isOfOldVersion(table: AnyStateTable, row: StateRow, digest: string): boolean {
  const migrations = new Set(table.hashed.map(({ since }) => since));
  return [...migrations].some((migration) => {
    const known = table.hashed.filter(({ since }) => since < migration);
    return digest === digestOfTexts(known, (column) => column.text(row));
  });
}

/** What such a program kept as it was follows from the changes before. Rare, so one scan of the chain per page will do. */
async function compareWithHistory(
  database: Database,
  table: AnyStateTable,
  records: readonly SqlRecord[],
  tally: Tally,
): Promise<void> {
  if (records.length === 0) return;
  const keyOf = (record: SqlRecord) => table.keyOf(table.read(record));
  const keys = records.map((record) => {
    const row = table.read(record);
    return JSON.stringify(Object.fromEntries(table.keys.map((column) => [column.name, column.text(row)])));
  });
  const found = await readInAnyTime<{ change: string }>(
    database,
    `select c::text as change
       from batch b cross join json_array_elements(case json_typeof(b.changes -> $1) when 'array' then b.changes -> $1 end) c
      where (c -> 'key')::jsonb = any($2::jsonb[])`,
    [table.name, keys],
  );
  const changes = new Map<string, RowChange[]>(records.map((record) => [keyOf(record), []]));
  for (const { change } of found) {
    for (const [key, one] of readChanges(`{"rows":[${change}]}`).get("rows") ?? []) changes.get(key)?.push(one);
  }
  for (const record of records) {
    const history = (changes.get(keyOf(record)) ?? []).sort((a, b) => (a.version < b.version ? -1 : 1));
    const last = [...replayVersions(table, record, history)].at(-1)?.texts;
    const row: StateRow = table.read(record);
    if (table.hashed.every((column) => column.text(row) === (last?.get(column.name) ?? null))) continue;
    tally.broken(`${table.name} ${keyOf(record)}`, "is not what its batches made of it");
  }
}

/** Batches whose changes are read at once. */
const BATCHES = 200;

/** What the batches that these rows refer to say of rows of the table, by batch and key. */
async function readChangesOf(
  database: Queryable,
  table: AnyStateTable,
  records: readonly SqlRecord[],
): Promise<Map<string, ReadonlyMap<string, RowChange>>> {
  const wanted = [...new Set(records.flatMap(({ slot, batch }) => (batch === null ? [] : [`${slot}/${batch}`])))];
  const found = new Map<string, ReadonlyMap<string, RowChange>>();
  for (let done = 0; done < wanted.length; done += BATCHES) {
    const some = wanted.slice(done, done + BATCHES).map((name) => name.split("/"));
    const batches = await database.rows<{ slot: number; n: string; changes: string | null }>(
      `select b.slot, b.n, (b.changes -> $1)::text as changes
         from unnest($2::smallint[], $3::bigint[]) as k(slot, n) join batch b on b.slot = k.slot and b.n = k.n`,
      [table.name, some.map(([slot]) => slot), some.map(([, n]) => n)],
    );
    for (const { slot, n, changes } of batches) {
      if (changes === null) continue;
      found.set(`${slot}/${n}`, readChanges(`{"rows":${changes}}`).get("rows") ?? new Map());
    }
  }
  return found;
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
  written: ReadonlyMap<string, RowChange>,
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
    [keys.map((key) => written.get(key)?.version), ...table.keys.map((_, i) => values.map((value) => value[i]))],
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
