/**
 * Lists of a customer's records, page by page. Each filter is described once, by its condition in SQL: from the conditions
 * come the type of the list's filter and its statement, whose parameters are numbered here.
 */
import { type AnnotationDescriptions, type FilteredField, filteredAnnotations } from "../ledger/annotations.ts";
import { type AnyRecordTable, type AnyStateTable, columnsOf, type SqlRecord } from "../ledger/tables.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Uuid } from "../std/id.ts";
import type { CustomerId } from "./customer-id.ts";

/** SQL between whose texts stand the values of parameters, or other SQL. */
export class Sql {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];

  constructor(texts: readonly string[], values: readonly unknown[]) {
    this.texts = texts;
    this.values = values;
  }
}

export function sql(texts: TemplateStringsArray, ...values: readonly unknown[]): Sql {
  return new Sql(texts, values);
}

/** SQL as it stands in the source. Never of input. */
export const textOf = (text: string): Sql => new Sql([text], []);

export function joined(parts: readonly Sql[], separator: string): Sql {
  return new Sql(["", ...parts.slice(1).map(() => separator), ""], parts);
}

/** The statement, with its parameters numbered. A list that stands in it several times is one parameter. */
export function statementOf(of: Sql): { readonly text: string; readonly values: readonly unknown[] } {
  const values: unknown[] = [];
  const lists = new Map<unknown, number>();
  const written = ({ texts, values: between }: Sql): string =>
    texts.map((text, i) => (i < between.length ? text + value(between[i]) : text)).join("");
  const placeOf = (one: unknown): number => {
    const place = lists.get(one) ?? values.push(one);
    if (Array.isArray(one)) lists.set(one, place);
    return place;
  };
  const value = (one: unknown): string => (one instanceof Sql ? written(one) : `$${placeOf(one)}`);
  return { text: written(of), values };
}

/** The condition of each filter, for its value, the customer whose list it is, and the whole filter. */
type Conditions = Readonly<Record<string, (value: never, customerId: CustomerId, filter: never) => Sql>>;

/** Filters combine with AND; what is undefined does not filter. */
export type Filter<Of extends Conditions, Position = Uuid> = {
  readonly [Name in keyof Of]?: Parameters<Of[Name]>[0] | undefined;
} & ListOptions<Position>;

/** What every list has besides its filters. */
export interface ListOptions<Position = Uuid> {
  readonly customerId: CustomerId;
  /** Oldest or newest first. */
  readonly order: "ASC" | "DESC";
  /** The last record of the previous page. */
  readonly after?: Position | undefined;
  readonly limit: number;
}

/** A unique sort key: its columns, and their values at a position. */
interface SortKey<Position> {
  readonly columns: readonly string[];
  readonly valuesAt: (position: Position) => readonly unknown[];
}

/** For ids that are in the order of creation. */
export const byId: SortKey<Uuid> = { columns: ["id"], valuesAt: (id) => [id] };

/** Bounds on the id, and so on the creation time: `from` is inclusive, `before` exclusive. */
export const idBounds = {
  from: (id: Uuid) => sql`id >= ${id}`,
  before: (id: Uuid) => sql`id < ${id}`,
};

/** A condition for each annotation that lists filter by, by its field. */
export function annotationConditions<Described extends AnnotationDescriptions>(described: Described) {
  const conditions: Record<string, (value: string) => Sql> = {};
  for (const { field, name } of filteredAnnotations(described))
    conditions[field] = (value) => sql`${textOf(name)} = ${value}`;
  return conditions as { readonly [Field in FilteredField<Described>]: (value: string) => Sql };
}

/** What a list selects: the name of a table, its columns, and the reader of a row of these. */
export interface Listed<Row, Stored = SqlRecord> {
  readonly name: string;
  readonly columns: string;
  readonly read: (stored: Stored) => Row;
}

/** All columns of a table that lanes write. */
export function allOf<Row>(
  table: (AnyStateTable | AnyRecordTable) & { readonly read: (record: SqlRecord) => Row },
): Listed<Row> {
  return { name: table.name, columns: columnsOf(table), read: table.read };
}

interface List<Row, Stored, Of extends Conditions, Position> {
  readonly table: Listed<Row, Stored>;
  readonly sortKey: SortKey<Position>;
  readonly conditions: Of;
}

/** @returns the list's reader: one page of records in the order of the sort key */
export function listOf<Row, Stored, Of extends Conditions, Position>({
  table,
  sortKey,
  conditions,
}: List<Row, Stored, Of, Position>) {
  const { columns: keys, valuesAt } = sortKey;
  return async (database: Queryable, filter: Filter<Of, Position>): Promise<Row[]> => {
    const { customerId, order, after, limit } = filter;
    const where = [sql`customer_id = ${customerId}`];
    for (const name of Object.keys(conditions) as (keyof Of)[]) {
      const condition = conditions[name] as Of[keyof Of];
      if (filter[name] !== undefined) where.push(condition(filter[name] as never, customerId, filter as never));
    }
    if (after !== undefined) {
      const position = joined(
        valuesAt(after).map((value) => sql`${value}`),
        ", ",
      );
      where.push(sql`(${textOf(keys.join(", "))}) ${textOf(order === "ASC" ? ">" : "<")} (${position})`);
    }
    const sorted = textOf(keys.map((key) => `${key} ${order}`).join(", "));
    const { text, values } = statementOf(
      sql`select ${textOf(table.columns)} from ${textOf(table.name)} where ${joined(where, " and ")} order by ${sorted} limit ${limit}`,
    );
    const rows = await database.rows<Stored>(text, values);
    return rows.map((row) => table.read(row));
  };
}
