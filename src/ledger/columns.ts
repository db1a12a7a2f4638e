/**
 * How a row's fields are stored. Each column is described once: from the description come the text that is written and
 * hashed, the row that is read, and the list of a SELECT. `undefined` is null.
 */
import { type Amount, amountOf, canonicalAmount, formatAmount } from "../money/amount.ts";
import { formatInstant, type Instant } from "../std/clock.ts";

/** A row as the driver returns it: `numeric` and `bigint` as text, times as `Instant`, `jsonb` parsed. */
export type SqlRecord = Readonly<Record<string, unknown>>;

/** A column that a statement writes. `text` is PostgreSQL's text format of the value. */
export interface Column<Row> {
  readonly name: string;
  readonly type: string;
  readonly text: (row: Row) => string | null;
}

/** A column of a described table: it can be read too. */
export interface TableColumn<Row> extends Column<Row> {
  readonly field: keyof Row;
  /** The field of that field, if it is a group of columns. */
  readonly part: string | undefined;
  /** The migration that added it: a process that was started before writes rows without it. */
  readonly since: number;
  /** Parses a value that is not null. */
  readonly parse: (stored: unknown) => unknown;
  /** The `text` of a row that was read, from what the driver returned for this column, if it is not null. */
  readonly canonical: (stored: unknown) => string;
}

/**
 * What a column of a StateTable is for: its row's key, written once, written with each version, the version, or a guard, which
 * is compared beside the version and changes without it.
 */
export type Role = "key" | "fixed" | "changing" | "guard" | "version";

/** How values of one type are stored in one column. */
export interface Stored<Value> {
  readonly name: string;
  readonly type: string;
  readonly role: Role;
  readonly since: number;
  readonly format: (value: Value) => string;
  readonly parse: (stored: unknown) => Value;
  readonly canonical: (stored: unknown) => string;
}

/** The columns of a field that has fields of its own. They are fixed, and the field is always there. */
export interface ColumnGroup<Value> {
  readonly columns: ColumnsOf<Value>;
}

/** Every field of a row with its column. A field that is missing, or of another type, does not compile. */
export type ColumnsOf<Row> = {
  readonly [Field in keyof Row]-?: Stored<NonNullable<Row[Field]>> | ColumnGroup<Row[Field]>;
};

// Types --------------------------------------------------------------------------------------------------------------

/** The migration that made every table. */
const FIRST = 1;

/** @param canonical by default what it says: the format of what was parsed */
const columnOf =
  <Value>(
    type: string,
    format: (value: Value) => string,
    parse: (stored: unknown) => Value,
    canonical = (stored: unknown): string => format(parse(stored)),
  ) =>
  (name: string): Stored<Value> => ({ name, type, role: "fixed", since: FIRST, format, parse, canonical });

type Json = Readonly<Record<string, string>>;

export const amountColumn = columnOf<Amount>(
  "numeric",
  formatAmount,
  (stored) => amountOf(stored as string),
  (stored) => canonicalAmount(stored as string),
);
export const timeColumn = columnOf<Instant>("timestamptz", formatInstant, asStored);
export const booleanColumn = columnOf<boolean>("boolean", String, asStored);
export const jsonColumn = columnOf<Json>("jsonb", canonicalJson, asStored);
export const smallintColumn = columnOf<number>("smallint", String, Number);
/** A `bigint` that stays below 2^53. */
export const countColumn = columnOf<number>("bigint", String, Number);

/** For whole numbers; an Amount is none, although it is kept in a `bigint`. */
export const bigintColumn = <Value extends bigint>(name: Value extends Amount ? never : string): Stored<Value> =>
  columnOf<Value>("bigint", String, (stored) => BigInt(stored as string) as Value)(name);

/** For text, ids, codes and enums. */
export const textColumn = <Value extends string>(name: string, type = "text"): Stored<Value> =>
  columnOf<Value>(type, asStored, asStored)(name);

export const uuidColumn = <Value extends string>(name: string): Stored<Value> => textColumn(name, "uuid");

/** The driver's value is the row's. */
function asStored<Value>(stored: unknown): Value {
  return stored as Value;
}

/** What the driver returns for a value that was written as this text. */
export function storedValue(type: string, text: string | null): unknown {
  if (text === null) return null;
  if (type === "timestamptz") return Date.parse(text);
  if (type === "boolean") return text === "true";
  return type === "jsonb" ? JSON.parse(text) : text;
}

/** JSON with sorted keys: `jsonb` does not preserve order, and a digest must survive a round trip. */
export function canonicalJson(value: Json): string {
  const names = Object.keys(value);
  if (names.length < 2) return JSON.stringify(value);
  return JSON.stringify(Object.fromEntries(names.sort().map((name) => [name, value[name]])));
}

export const key = <Value>(stored: Stored<Value>): Stored<Value> => ({ ...stored, role: "key" });
export const changing = <Value>(stored: Stored<Value>): Stored<Value> => ({ ...stored, role: "changing" });
export const guard = <Value>(stored: Stored<Value>): Stored<Value> => ({ ...stored, role: "guard" });
/**
 * A nullable column that a later migration added. It counts as changing, so its values are in the chain: whichever version
 * of the program writes the row last, verify knows what it has to hold.
 */
export const addedBy = <Value>(migration: number, stored: Stored<Value>): Stored<Value> => ({
  ...changing(stored),
  since: migration,
});
export const versionColumn: Stored<bigint> = { ...bigintColumn("version"), role: "version" };

// Tables -------------------------------------------------------------------------------------------------------------

/** In the order of the description. */
export function tableColumns<Row>(columns: ColumnsOf<Row>): (TableColumn<Row> & { readonly role: Role })[] {
  return fieldsOf(columns).flatMap((field) => {
    const described = columns[field];
    return "columns" in described ? groupColumns(field, described) : [tableColumn(field, described)];
  });
}

const fieldsOf = <Row>(columns: ColumnsOf<Row>) => Object.keys(columns) as (keyof Row)[];

function tableColumn<Row, Field extends keyof Row>(
  field: Field,
  { name, type, role, since, format, parse, canonical }: Stored<NonNullable<Row[Field]>>,
): TableColumn<Row> & { readonly role: Role } {
  const text = (row: Row): string | null => {
    const value = row[field];
    return value === undefined ? null : format(value as NonNullable<Row[Field]>);
  };
  return { field, part: undefined, name, type, role, since, text, parse, canonical };
}

function groupColumns<Row, Field extends keyof Row>(
  field: Field,
  { columns }: ColumnGroup<Row[Field]>,
): (TableColumn<Row> & { readonly role: Role })[] {
  return tableColumns(columns).map(({ field: part, text, ...column }) => ({
    ...column,
    field,
    part: String(part),
    text: (row) => text(row[field]),
  }));
}

/** The list of a SELECT. */
export function namesOf(columns: readonly { readonly name: string }[], prefix = ""): string {
  return columns.map(({ name }) => prefix + name).join(", ");
}

/**
 * Compiles the reader of these columns to one object literal, as a hand-written one would be. Rows so share a hidden
 * class, and are read as fast; filled field by field, one of an order's size would be a dictionary.
 */
export function readerOf<Row>(columns: readonly TableColumn<Row>[]): (record: SqlRecord) => Row {
  const fields = new Map<keyof Row, string>();
  const groups = new Map<keyof Row, string>();
  columns.forEach(({ field, part, name }, i) => {
    const stored = `record[${JSON.stringify(name)}]`;
    const value = `${stored} === null ? undefined : parsers[${i}](${stored})`;
    if (part !== undefined) groups.set(field, `${groups.get(field) ?? ""}${JSON.stringify(part)}: ${value}, `);
    fields.set(field, part === undefined ? value : `{ ${groups.get(field)} }`);
  });
  const literal = [...fields].map(([field, value]) => `${JSON.stringify(field)}: ${value}`);
  const compile = new Function("parsers", `return (record) => ({ ${literal.join(", ")} })`);
  return compile(columns.map(({ parse }) => parse));
}

/** Compiles what gives the text of each of these columns for what the driver returned, as `text` does for the row. */
export function textsOf(
  columns: readonly Pick<TableColumn<never>, "name" | "canonical">[],
): (record: SqlRecord) => (string | null)[] {
  const texts = columns.map(({ name }, i) => {
    const stored = `record[${JSON.stringify(name)}]`;
    return `${stored} === null ? null : canonical[${i}](${stored})`;
  });
  const compile = new Function("canonical", `return (record) => [${texts.join(", ")}]`);
  return compile(columns.map(({ canonical }) => canonical));
}
