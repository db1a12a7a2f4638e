/**
 * Table descriptions. The lane reads, guards and writes rows through them, and knows nothing about transfers,
 * conversions or orders.
 */
import { createHash } from "node:crypto";
import type { Queryable } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Caller } from "./caller.ts";
import {
  type Column,
  type ColumnsOf,
  namesOf,
  type Role,
  readerOf,
  type SqlRecord,
  type TableColumn,
  tableColumns,
} from "./columns.ts";

export type { Column, SqlRecord, TableColumn };

/** Rows per page when a table is scanned. */
export const PAGE = 5_000;

/** A row that can change. `version` is its version, 0 before it is inserted. */
export interface StateRow {
  readonly version: bigint;
}

/** What a batch's statement needs to write versioned rows. */
export interface VersionedTable<Row extends StateRow> {
  readonly name: string;
  /** Keys, then what is written once, then what changes, then guards, then the version. */
  readonly columns: readonly TableColumn<Row>[];
  /** The first column is the one by which the table would be sharded. */
  readonly keys: readonly TableColumn<Row>[];
  readonly changing: readonly TableColumn<Row>[];
  readonly guards: readonly TableColumn<Row>[];
  readonly version: TableColumn<Row>;
  /**
   * Whether the row refers to the batch that wrote it last, and its digest is part of that batch. False for accounts:
   * their postings are in the batch.
   */
  readonly digested: boolean;
}

/** A table whose rows change. Decisions depend on them, so every batch checks the version that was decided on. */
export interface StateTable<Row extends StateRow> extends VersionedTable<Row> {
  /** What a digest covers: all columns, by name. */
  readonly hashed: readonly TableColumn<Row>[];
  /** Of a table whose rows own accounts, under the owner's id as their key: profiles. */
  readonly owner?: OwnerRule<Row>;
  /** True: a statement of another folder, such as the catalogue's, inserts its rows at version 1, outside any batch. */
  readonly openedOutsideBatches?: boolean;
  readonly projections: readonly Projection<Row>[];
  /** The key columns' values. `slot` distinguishes the house accounts of different lanes. */
  readonly keyValues: (key: string, slot: number) => readonly string[];
  readonly keyOf: (row: Row) => string;
  /** Parses a record that has all columns and `version`. */
  readonly read: (record: SqlRecord) => Row;
}

/**
 * A narrow copy of some rows of a state table, as an index of its own: some of the columns of those rows that it
 * `includes`. The statement that writes a row keeps its copy in step, and fails if the copy does not have the row's
 * version. Never digested, and never decided on: it follows from the row, with which verify compares it.
 */
export interface Projection<Row extends StateRow> extends VersionedTable<Row> {
  readonly includes: (row: Row) => boolean;
}

interface UniqueIndexColumn {
  readonly name: string;
  readonly type: string;
  /** Its value, as an expression on the table `t`. If undefined, the column of that name. */
  readonly expression?: string;
}

/** A unique index of a record's own table, by which the record is found that has some values. */
export interface UniqueIndex {
  readonly table: string;
  /** Its name: what a statement fails with when the values are taken. */
  readonly constraint: string;
  readonly columns: readonly UniqueIndexColumn[];
  /** Which rows are in it, as a condition on the table `t`. If undefined, all that have the values. */
  readonly where?: string;
}

/**
 * When accounts stand in for their owner (docs/decisions/0004-profiles-are-guarded-by-a-share-lock.md). Each account
 * repeats the owner's `lastDeactivation`, which a deactivation writes to all of them.
 */
interface OwnerRule<Row> {
  readonly isActive: (row: Row) => boolean;
  /** The version of the owner that its last deactivation made; 0 if it never was deactivated. */
  readonly lastDeactivation: (row: Row) => bigint;
}

/** An append-only table. The lane adds the columns `slot` and `batch`. */
export interface RecordTable<Row> {
  readonly name: string;
  /** By name. */
  readonly columns: readonly TableColumn<Row>[];
  /** Whether a column `caller` holds the number of the batch's caller who requested the row. */
  readonly hasCaller: boolean;
  /**
   * Sort key within a batch, so that its hash can be recomputed from the table. Rows are inserted in this order: those
   * of two lanes that have the same values in a unique index wait for each other instead of deadlocking.
   */
  readonly orderBy: (row: Row) => string;
  /** What a row is called in reports. */
  readonly keyOf: (row: Row) => string;
  /** Whether an insert can wait for another transaction, because of a unique index that keeps claims. */
  readonly keepsClaims: boolean;
  /** Parses a record that has all columns. */
  readonly read: (record: SqlRecord) => Row;
}

export interface Key {
  readonly table: AnyStateTable;
  readonly key: string;
  /**
   * Of a row that the command does not change, or hardly ever: it needs all of it until it is committed, that it is as it was when
   * the batch's statement begins, or, if it is accepted, no more than that the owner is active. Those who only read a row do not
   * wait for each other.
   */
  readonly reads?: "all of it" | "as it was" | "that it is active";
}

/** Whether a command that is decided under lock locks the row first. If not, the batch compares what it needs of it. */
export const isLockedFirst = ({ reads }: Key): boolean => reads === undefined || reads === "all of it";

// The lane keeps tables of many row types in one collection; each row is only ever used with its own table.
// biome-ignore lint/suspicious/noExplicitAny: the type of the row is checked where the table is paired with it
export type AnyStateTable = StateTable<any>;
// biome-ignore lint/suspicious/noExplicitAny: the type of the row is checked where the table is paired with it
export type AnyVersionedTable = VersionedTable<any>;
// biome-ignore lint/suspicious/noExplicitAny: the type of the row is checked where the table is paired with it
export type AnyRecordTable = RecordTable<any>;

export interface StateChange {
  readonly table: AnyStateTable;
  readonly row: StateRow;
  /** Who requested the change, when that is not the command's caller. */
  readonly requestedBy?: Caller | undefined;
}

export interface RecordAddition {
  readonly table: AnyRecordTable;
  readonly row: object;
}

export function change<Row extends StateRow>(table: StateTable<Row>, row: Row): StateChange {
  return { table, row };
}

export function addition<Row extends object>(table: RecordTable<Row>, row: Row): RecordAddition {
  return { table, row };
}

/** The tables that lanes write: verify, the service's privileges, tampering tests and the simulation take their lists from it. */
export interface LaneTables {
  readonly records: readonly AnyRecordTable[];
  readonly states: readonly AnyStateTable[];
}

/** Unique across all tables. */
export const keyName = ({ table, key }: Key): string => `${table.name}/${key}`;

export const keyOf = <Row extends StateRow>(table: StateTable<Row>, key: string): Key => ({ table, key });

// Descriptions -------------------------------------------------------------------------------------------------------

type StateDescription<Row extends StateRow> = Omit<
  StateTable<Row>,
  "columns" | "keys" | "changing" | "guards" | "version" | "hashed" | "projections" | "read"
> & { readonly columns: ColumnsOf<Row>; readonly projections?: readonly ProjectionDescription<Row>[] };

export interface ProjectionDescription<Row extends StateRow> extends Pick<Projection<Row>, "name" | "includes"> {
  readonly keys: readonly (keyof Row)[];
  /** Beside the keys and the version. */
  readonly fields: readonly (keyof Row)[];
}

type RecordDescription<Row> = Omit<RecordTable<Row>, "columns" | "read"> & { readonly columns: ColumnsOf<Row> };

export function stateTable<Row extends StateRow>({
  columns,
  projections = [],
  ...more
}: StateDescription<Row>): StateTable<Row> {
  const described = tableColumns(columns);
  const having = (wanted: Role) => described.filter(({ role }) => role === wanted);
  const [keys, changing, guards] = [having("key"), having("changing"), having("guard")];
  const version = must(having("version")[0], () => `${more.name} has a version`);
  const all = [...keys, ...having("fixed"), ...changing, ...guards, version];
  const written = { ...more, columns: all, keys, changing, guards, version };
  const copies = projections.map((one) => projectionOf(written, one));
  return { ...written, hashed: byName(all), projections: copies, read: readerOf(all) };
}

function projectionOf<Row extends StateRow>(
  { columns, changing, version }: VersionedTable<Row>,
  { name, keys, fields, includes }: ProjectionDescription<Row>,
): Projection<Row> {
  const isKey = ({ field }: TableColumn<Row>) => keys.includes(field);
  const isCopied = (column: TableColumn<Row>) => isKey(column) || column === version || fields.includes(column.field);
  return {
    name,
    columns: columns.filter(isCopied),
    keys: columns.filter(isKey),
    changing: changing.filter(isCopied),
    guards: [],
    version,
    digested: false,
    includes,
  };
}

export function recordTable<Row>({ columns, ...more }: RecordDescription<Row>): RecordTable<Row> {
  const all = byName(tableColumns(columns));
  return { ...more, columns: all, read: readerOf(all) };
}

const byName = <Named extends { readonly name: string }>(columns: readonly Named[]): Named[] =>
  [...columns].sort((a, b) => (a.name < b.name ? -1 : 1));

/**
 * What a SELECT lists so that the table can `read` its rows.
 * @param prefix "t." where the table has an alias
 */
export function columnsOf(table: AnyStateTable | AnyRecordTable, prefix = ""): string {
  return namesOf(table.columns, prefix);
}

/** Some fields of a table: what a SELECT lists, and their reader. */
export function partOf<Row, Field extends keyof Row>(
  table: { readonly columns: readonly TableColumn<Row>[] },
  fields: readonly Field[],
): { readonly columns: string; readonly read: (record: SqlRecord) => Pick<Row, Field> } {
  const columns = fields.map((wanted) =>
    must(
      table.columns.find(({ field }) => field === wanted),
      "a field has a column",
    ),
  );
  return { columns: namesOf(columns), read: readerOf(columns) };
}

// What is hashed -----------------------------------------------------------------------------------------------------
// By name, and only what holds something: a column that is added later, and is null in the rows of before, leaves their
// hashes as they are (docs/decisions/0028-hashed-by-name.md).

/** Separates values in hashed text. No value may contain it. */
const SEPARATOR = "\u0000";

/** A row as it is sent to PostgreSQL and as it is hashed: the text or null of each column. */
export type TextRow = readonly (string | null)[];

export function textRow<Row>(columns: readonly Column<Row>[], row: Row): (string | null)[] {
  return columns.map((column) => column.text(row));
}

/**
 * The hashed text of the rows that a batch adds to a table: the names of the columns in which one of them holds something,
 * then a line per row with its values in these columns. A null is no value, which an empty text is.
 * @param columns in the same order whatever columns there are: by name, `caller` last
 */
export function hashedText(
  table: string,
  columns: readonly { readonly name: string }[],
  rows: readonly TextRow[],
): string {
  const places = [...columns.keys()].filter((place) => rows.some((texts) => texts[place] !== null));
  let text = `\n${table}: ${places.map((place) => columns[place]?.name).join(" ")}`;
  for (const texts of rows) {
    text += "\n";
    for (const place of places) {
      const value = texts[place];
      text += value === null ? SEPARATOR : `=${value}${SEPARATOR}`;
    }
  }
  return text;
}

/** The digest of a state row, of the names and values of what it holds: 128 bits in hex. */
export function digestOf<Row extends StateRow>(table: StateTable<Row>, row: Row): string {
  return digestOfTexts(table.hashed, (column) => column.text(row));
}

/** @param columns by name */
export function digestOfTexts<Kind extends { readonly name: string }>(
  columns: readonly Kind[],
  textOf: (column: Kind) => string | null,
): string {
  let text = "";
  for (const column of columns) {
    const value = textOf(column);
    if (value !== null) text += `${column.name}=${value}${SEPARATOR}`;
  }
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

// Reading ------------------------------------------------------------------------------------------------------------

/**
 * Locks are taken table by table, accounts last. A profile's lock thus protects what a rule reads about the profile's
 * accounts, because every batch that opens an account guards the profile too.
 */
const LAST_LOCKED = "account";

const lockRank = ({ name }: AnyStateTable): string => (name === LAST_LOCKED ? "~" : name);

/** Sorts tables into the order in which every lane locks them, so that no two of them deadlock. */
export function inLockOrder<Of>(tables: ReadonlyMap<AnyStateTable, Of>): [AnyStateTable, Of][] {
  return [...tables].sort(([a], [b]) => (lockRank(a) < lockRank(b) ? -1 : 1));
}

/**
 * How rows are read: as they are, locked until the transaction ends, or locked but for those that others hold. In a transaction one
 * table is asked for behind the other, without waiting for answers; elsewhere each would take a connection.
 */
export type ReadLock = "none" | "none, in a transaction" | "locked" | "skip locked";

/**
 * Reads, and optionally locks, rows of any tables. Missing rows are left out, and so are those that are skipped. Rows of a
 * table none of which is to change are locked against changes only, and those that are not to be locked first not at all.
 */
export async function readKeys(
  database: Queryable,
  keys: readonly Key[],
  slot: number,
  lock: ReadLock,
): Promise<(Key & { readonly row: StateRow })[]> {
  const read = async ([table, wanted]: readonly [AnyStateTable, Key[]]) => {
    const names = new Set(wanted.map(({ key }) => key));
    const rows: StateRow[] = await readRows(database, table, [...names], slot, lockClause(lock, wanted));
    return rows.map((row) => ({ table, key: table.keyOf(row), row }));
  };
  const locked = isLocking(lock) ? keys.filter(isLockedFirst) : [];
  const lockedNames = new Set(locked.map(keyName));
  // A row is locked if one of its keys says so.
  const others = locked.length === 0 ? keys : keys.filter((key) => !lockedNames.has(keyName(key)));
  const inOrder = [locked, others].flatMap((some) => inLockOrder(byTable(some)));
  if (lock !== "none") return (await Promise.all(inOrder.map(read))).flat();
  const found: (Key & { readonly row: StateRow })[] = [];
  for (const entry of inOrder) found.push(...(await read(entry)));
  return found;
}

function byTable(keys: readonly Key[]): Map<AnyStateTable, Key[]> {
  const tables = new Map<AnyStateTable, Key[]>();
  for (const key of keys) {
    const ofTable = tables.get(key.table);
    if (ofTable === undefined) tables.set(key.table, [key]);
    else ofTable.push(key);
  }
  return tables;
}

const isLocking = (lock: ReadLock): boolean => lock === "locked" || lock === "skip locked";

function lockClause(lock: ReadLock, wanted: readonly Key[]): string {
  if (!isLocking(lock) || !wanted.every(isLockedFirst)) return "";
  const mode = wanted.some(({ reads }) => reads === undefined) ? "update" : "share";
  return `for ${mode} of t${lock === "skip locked" ? " skip locked" : ""}`;
}

/**
 * Locks in key order, so that two transactions that lock the same rows wait for each other instead of deadlocking.
 */
async function readRows<Row extends StateRow>(
  database: Queryable,
  table: StateTable<Row>,
  keys: readonly string[],
  slot: number,
  lock: string,
): Promise<Row[]> {
  const values = keys.map((key) => table.keyValues(key, slot));
  const names = table.keys.map((column) => column.name);
  const unnested = table.keys.map((column, i) => `$${i + 1}::${column.type}[]`);
  const records = await database.rows<SqlRecord>(
    `select ${columnsOf(table, "t.")}
       from ${table.name} t join unnest(${unnested.join(", ")}) as k(${names.join(", ")})
         on ${names.map((name) => `t.${name} = k.${name}`).join(" and ")}
      order by ${names.map((name) => `t.${name}`).join(", ")}
      ${lock}`,
    table.keys.map((_, i) => values.map((value) => value[i])),
  );
  return records.map(table.read);
}
