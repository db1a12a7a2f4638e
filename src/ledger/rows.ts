/**
 * How a domain folder describes its tables to the lane. The lane reads, guards and writes rows through these
 * descriptions and knows no transfer, conversion or order by name.
 */
import { createHash } from "node:crypto";
import { type Amount, formatAmount } from "../money/amount.ts";
import type { Queryable } from "../postgres/database.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import type { Caller } from "./caller.ts";

/** Rows that are read at once where a table is walked. */
export const PAGE = 5_000;

/** A column, its SQL type, and the text that PostgreSQL is sent for it. */
export interface Column<Row> {
  readonly name: string;
  readonly type: string;
  readonly text: (row: Row) => string | null;
}

/** What every row that can change has: its running number, 0 for a row that is not there yet. */
export interface StateRow {
  readonly seq: bigint;
}

/** A table whose rows change. A decision rests on them, so every batch checks the number that was decided on. */
export interface StateTable<Row extends StateRow> {
  readonly name: string;
  /** First the column by which the table would be distributed. */
  readonly keys: readonly Column<Row>[];
  /** Written when the row is opened, never changed. */
  readonly fixed: readonly Column<Row>[];
  readonly changing: readonly Column<Row>[];
  /**
   * Whether the row carries the batch that wrote it last, and its digest goes into that batch. Accounts do not:
   * their postings are in the batch.
   */
  readonly digested: boolean;
  /** The values of the key columns, out of a key. `slot` tells the house accounts of one lane from another's. */
  readonly keyValues: (key: string, slot: number) => readonly string[];
  readonly keyOf: (row: Row) => string;
  /** From what `select` gives for all columns and `seq`. */
  readonly read: (record: SqlRecord) => Row;
}

/** A table whose rows are only ever added. Slot and batch are added to the columns named here. */
export interface RecordTable<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  /** Whether each row says in a column `caller` which of its batch's callers asked for it. */
  readonly tellsCaller: boolean;
  /** Sorts the rows of one batch, so that its hash can be made again from the table. */
  readonly orderBy: (row: Row) => string;
  /** From what `select` gives for all columns: so that the hash of a batch can be made again from what is stored. */
  readonly read: (record: SqlRecord) => Row;
}

/** A row as the driver gives it: `numeric` and `bigint` as text, times as `Instant`, `jsonb` parsed. */
export type SqlRecord = Readonly<Record<string, unknown>>;

/** Which row a command rests on. */
export interface Key {
  readonly table: AnyStateTable;
  readonly key: string;
}

// The lane holds tables of many row types in one collection; each row only ever meets its own table again.
// biome-ignore lint/suspicious/noExplicitAny: the type of the row is checked where the table is paired with it
export type AnyStateTable = StateTable<any>;
// biome-ignore lint/suspicious/noExplicitAny: the type of the row is checked where the table is paired with it
export type AnyRecordTable = RecordTable<any>;

/** A state row paired with its table. */
export interface StateChange {
  readonly table: AnyStateTable;
  readonly row: StateRow;
  /** Who asked for it beforehand, where that is not whoever carries it out. */
  readonly askedBy?: Caller | undefined;
}

/** A new row paired with its table. */
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

/** A key as text, unique over all tables. */
export const keyName = ({ table, key }: Key): string => `${table.name}/${key}`;

export const keyOf = <Row extends StateRow>(table: StateTable<Row>, key: string): Key => ({ table, key });

// Columns ------------------------------------------------------------------------------------------------------------

type Reader<Row, Value> = (row: Row) => Value | undefined;

const optional =
  <Value>(format: (value: Value) => string) =>
  <Row>(name: string, type: string, of: Reader<Row, Value>): Column<Row> => ({
    name,
    type,
    text: (row) => {
      const value = of(row);
      return value === undefined ? null : format(value);
    },
  });

/** Text, ids, codes and enums: `type` is the SQL type. */
export const textColumn = optional<string>((value) => value);
const numbers = optional<Amount>(formatAmount);
const times = optional<Instant>(formatInstant);
const counts = optional<bigint | number>(String);
const flags = optional<boolean>(String);
const objects = optional<Readonly<Record<string, string>>>(canonicalJson);

export const uuidColumn = <Row>(name: string, of: Reader<Row, string>) => textColumn(name, "uuid", of);
export const amountColumn = <Row>(name: string, of: Reader<Row, Amount>) => numbers(name, "numeric", of);
export const timeColumn = <Row>(name: string, of: Reader<Row, Instant>) => times(name, "timestamptz", of);
export const bigintColumn = <Row>(name: string, of: Reader<Row, bigint | number>) => counts(name, "bigint", of);
export const booleanColumn = <Row>(name: string, of: Reader<Row, boolean>) => flags(name, "boolean", of);
export const jsonColumn = <Row>(name: string, of: Reader<Row, Readonly<Record<string, string>>>) =>
  objects(name, "jsonb", of);

/**
 * Reads a record's optional columns: what one holds, or what `read` makes of that; undefined where it is null. The way
 * back of the columns above.
 */
export function optionalsOf(record: SqlRecord) {
  return <Value>(name: string, read?: (stored: string) => Value): Value | undefined => {
    const stored = record[name];
    if (stored === null) return undefined;
    return read === undefined ? (stored as Value) : read(stored as string);
  };
}

/** JSON with sorted keys: `jsonb` keeps no order, and a digest must come out the same after reading it back. */
export function canonicalJson(value: Readonly<Record<string, string>>): string {
  const names = Object.keys(value);
  if (names.length < 2) return JSON.stringify(value);
  return JSON.stringify(Object.fromEntries(names.sort().map((name) => [name, value[name]])));
}

// What is hashed -----------------------------------------------------------------------------------------------------

/** Separates columns in what is hashed: a character that no value may contain. */
const UNIT_SEPARATOR = "\u0000";

/** A row as PostgreSQL is sent it and as it is hashed: the text of each column, null where there is nothing. */
export type TextRow = readonly (string | null)[];

export function textRow<Row>(columns: readonly Column<Row>[], row: Row): TextRow {
  return columns.map((column) => column.text(row));
}

/** A row as one line of what is hashed. Absent values and empty ones differ. */
export function line(texts: TextRow): string {
  let text = "";
  for (const value of texts) text += value === null ? UNIT_SEPARATOR : `=${value}${UNIT_SEPARATOR}`;
  return text;
}

/** The digest of a state row as it stands, 128 bits in hex. */
export function digestOf<Row extends StateRow>(table: StateTable<Row>, row: Row): string {
  const text = line(textRow([...table.keys, ...table.fixed, ...table.changing], row)) + row.seq;
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

// Reading ------------------------------------------------------------------------------------------------------------

/**
 * Locks are taken table by table, accounts last: what a rule finds about a profile's accounts under the lock of the
 * profile stays so, because whoever opens an account has the profile among the rows that it guards.
 */
const LAST_LOCKED = "account";

const lockRank = ({ name }: AnyStateTable): string => (name === LAST_LOCKED ? "~" : name);

/** Tables in the order of the locks: every lock that the lane takes follows it, so that no two of them deadlock. */
export function inLockOrder<Of>(tables: ReadonlyMap<AnyStateTable, Of>): [AnyStateTable, Of][] {
  return [...tables].sort(([a], [b]) => (lockRank(a) < lockRank(b) ? -1 : 1));
}

/** Reads rows of any tables. */
export async function readKeys(
  database: Queryable,
  keys: readonly Key[],
  slot: number,
  lock: "none" | "for update",
): Promise<(Key & { readonly row: StateRow })[]> {
  const tables = new Map<AnyStateTable, Set<string>>();
  for (const { table, key } of keys) tables.set(table, (tables.get(table) ?? new Set()).add(key));
  const found: (Key & { readonly row: StateRow })[] = [];
  for (const [table, wanted] of inLockOrder(tables)) {
    const rows: StateRow[] = await readRows(database, table, [...wanted], slot, lock);
    found.push(...rows.map((row) => ({ table, key: table.keyOf(row), row })));
  }
  return found;
}

/**
 * Reads the rows of these keys; those that are not there are missing from the answer. With `lock`, in key order, so
 * that two who lock the same rows wait for each other instead of deadlocking.
 */
async function readRows<Row extends StateRow>(
  database: Queryable,
  table: StateTable<Row>,
  keys: readonly string[],
  slot: number,
  lock: "none" | "for update",
): Promise<Row[]> {
  const values = keys.map((key) => table.keyValues(key, slot));
  const columns = [...table.keys, ...table.fixed, ...table.changing].map((column) => `t.${column.name}`);
  const names = table.keys.map((column) => column.name);
  const unnested = table.keys.map((column, i) => `$${i + 1}::${column.type}[]`);
  const records = await database.rows<SqlRecord>(
    `select ${columns.join(", ")}, t.seq
       from ${table.name} t join unnest(${unnested.join(", ")}) as k(${names.join(", ")})
         on ${names.map((name) => `t.${name} = k.${name}`).join(" and ")}
      order by ${names.map((name) => `t.${name}`).join(", ")}
      ${lock === "none" ? "" : "for update of t"}`,
    table.keys.map((_, i) => values.map((value) => value[i])),
  );
  return records.map(table.read);
}
