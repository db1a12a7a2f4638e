/**
 * A batch as one SQL statement, atomic without BEGIN and COMMIT. It writes states and records, claims ref_ids, and last
 * inserts its own row into `batch` with the expected and the actual row counts. CHECK constraints on that row require
 * them to be equal. A row that another process changed, a missing predecessor, a passed deadline, a clock that was
 * ahead, or a taken ref_id therefore fails the whole statement with the constraint's name.
 *
 * The text depends on the tables that a batch touches, not on how many rows: values are passed as arrays through
 * `unnest`. Ordinary work has some dozen shapes, and each is prepared once per connection (`PreparedStatements`). Its name is
 * a hash of its text, so equal names mean equal statements.
 */
import { createHash } from "node:crypto";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { LruCache } from "../../std/lru-cache.ts";
import type { Claim } from "../decision.ts";
import type { Column, StateRow } from "../tables.ts";
import type { AddedRows, BatchContent, DeactivatedOwner } from "./batch.ts";
import type { ProjectedRows, TableRows, WrittenRows } from "./batch-rows.ts";
import type { Link } from "./slot-chain.ts";

export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: (string | null)[];
}

/** The period, by the database's clock, in which a batch may be stored. */
export interface BatchTimes {
  readonly notBefore: Instant;
  readonly deadline: Instant;
}

const MOST_NAMES = 500;

export class Statements {
  readonly #names = new LruCache<string>(MOST_NAMES);

  batch(content: BatchContent, link: Link, { notBefore, deadline }: BatchTimes): Statement {
    const writing = new StatementBuilder();
    const stamp = [writing.value("smallint", String(link.slot)), writing.value("bigint", String(link.n))] as const;
    const counted: string[] = [];
    let expected = 0;
    for (const rows of content.states) {
      counted.push(...writeStates(writing, rows, stamp));
      expected += rows.opened.length + rows.changed.length + rows.checked.length + rows.seen.length;
      if (locksFirst(rows)) expected += rows.changed.length;
      for (const copies of rows.projected) {
        counted.push(...writeProjection(writing, copies, stamp));
        expected += copies.opened.length + copies.changed.length + copies.closed.length;
      }
    }
    if (content.deactivated.length > 0) {
      counted.push(countAccounts(writing, content.deactivated));
      for (const { accounts } of content.deactivated) expected += accounts;
    }
    for (const added of content.records) {
      const name = addRecords(writing, added, stamp);
      if (!added.table.keepsClaims) continue;
      counted.push(name);
      expected += added.rows.length;
    }
    const claimed = writeClaims(writing, content.claims);
    const value = (type: string, text: string | null) => writing.value(type, text);
    writing.cte(
      `predecessor as (select 1 from batch where slot = ${stamp[0]} and n = ${stamp[1]} - 1 and hash = ${value("bytea", bytea(link.previous))})`,
    );
    // The clock is read last, after all row locks have been acquired.
    const text = `${writing.head()}
insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor, changes, callers, not_ahead, in_time)
select ${stamp[0]}, ${stamp[1]}, ${value("bytea", bytea(link.hash))}, ${value("timestamptz", formatInstant(content.at))}, false,
       ${count(counted)}, ${value("integer", String(expected))},
       ${count(claimed)}, ${value("integer", String(content.claims.length))},
       (select count(*) from predecessor), ${value("json", content.changes ?? null)}, ${value("json", content.callers ?? null)},
       ${value("timestamptz", formatInstant(notBefore))} <= clock_timestamp(),
       clock_timestamp() <= ${value("timestamptz", formatInstant(deadline))}`;
    return { name: this.#nameOf(text), text, values: writing.values };
  }

  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? `batch_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
    this.#names.set(text, name);
    return name;
  }
}

/** Collects a statement's common table expressions and values. */
class StatementBuilder {
  readonly values: (string | null)[] = [];
  readonly #ctes: string[] = [];

  value(type: string, text: string | null): string {
    this.values.push(text);
    return `$${this.values.length}::${type}`;
  }

  cte(text: string): void {
    this.#ctes.push(text);
  }

  head(): string {
    return `with ${this.#ctes.join(",\n     ")}`;
  }

  /** The rows as a table `k` of the statement, one array per column. */
  unnest<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
    return this.unnestTexts(columns, (column) => rows.map((row) => column.text(row)));
  }

  unnestTexts<Kind extends Pick<Column<never>, "name" | "type">>(
    columns: readonly Kind[],
    textsOf: (column: Kind, place: number) => readonly (string | null)[],
  ): string {
    const arrays = columns.map((column, i) => this.value(`${column.type}[]`, arrayOf(column.type, textsOf(column, i))));
    return `unnest(${arrays.join(", ")}) as k(${columns.map((column) => column.name).join(", ")})`;
  }
}

type Stamp = readonly [slot: string, batch: string];

/** What is checked is locked before anything is opened, so that all batches lock in one order. */
function writeStates(writing: StatementBuilder, rows: TableRows, stamp: Stamp): string[] {
  const names: string[] = [];
  const { table, before, checked, seen } = rows;
  if (locksFirst(rows)) names.push(compareRows(writing, table, "locked", [...before, ...checked]));
  else if (checked.length > 0) names.push(compareRows(writing, table, "checked", checked));
  names.push(...writeRows(writing, rows, stamp));
  if (seen.length > 0) names.push(compareRows(writing, table, "seen", seen));
  return names;
}

/**
 * Rows that are changed and rows that are checked would be locked one kind after the other: a batch that changes a and
 * checks b would deadlock with one that changes b and checks a.
 */
const locksFirst = ({ changed, checked }: TableRows): boolean => changed.length > 0 && checked.length > 0;

function writeProjection(writing: StatementBuilder, rows: ProjectedRows, stamp: Stamp): string[] {
  const names = writeRows(writing, rows, stamp);
  if (rows.closed.length > 0) names.push(closeRows(writing, rows));
  return names;
}

function writeRows(writing: StatementBuilder, rows: WrittenRows, stamp: Stamp): string[] {
  const names: string[] = [];
  if (rows.changed.length > 0) names.push(changeRows(writing, rows, stamp));
  if (rows.opened.length > 0) names.push(openRows(writing, rows, stamp));
  return names;
}

/** Guards are compared always, and written if the batch changes one. */
function changeRows(writing: StatementBuilder, { table, changed, before }: WrittenRows, [slot, batch]: Stamp): string {
  const name = `${table.name}_changed`;
  const texts = (column: Column<StateRow>, rows: readonly StateRow[]) => rows.map((row) => column.text(row));
  const changesGuard = table.guards.some((guard) =>
    changed.some((row, i) => guard.text(row) !== guard.text(before[i])),
  );
  const written: Column<StateRow>[] = [...table.changing, ...(changesGuard ? table.guards : []), table.version];
  const compared: Column<StateRow>[] = [table.version, ...table.guards];
  const source = writing.unnestTexts(
    [
      ...[...table.keys, ...written].map((column) => ({ ...column, texts: texts(column, changed) })),
      ...compared.map((column) => ({ ...column, name: `was_${column.name}`, texts: texts(column, before) })),
    ],
    (column) => column.texts,
  );
  const set = written.map((column) => `${column.name} = k.${column.name}`);
  if (table.digested) set.push(`slot = ${slot}`, `batch = ${batch}`);
  const unchanged = compared.map((column) => `t.${column.name} = k.was_${column.name}`);
  writing.cte(
    `${name} as (update ${table.name} t set ${set.join(", ")} from ${source} where ${sameKey(table)} and ${unchanged.join(" and ")} returning 1)`,
  );
  return name;
}

function openRows(writing: StatementBuilder, { table, opened }: WrittenRows, [slot, batch]: Stamp): string {
  const name = `${table.name}_opened`;
  const names = table.columns.map((column) => column.name);
  const [into, from] = table.digested
    ? [
        [...names, "slot", "batch"],
        [...names, slot, batch],
      ]
    : [names, names];
  writing.cte(
    `${name} as (insert into ${table.name} (${into.join(", ")}) select ${from.join(", ")} from ${writing.unnest<StateRow>(table.columns, opened)} on conflict do nothing returning 1)`,
  );
  return name;
}

function closeRows(writing: StatementBuilder, { table, closed }: ProjectedRows): string {
  const name = `${table.name}_closed`;
  const source = writing.unnest<StateRow>([...table.keys, table.version], closed);
  writing.cte(
    `${name} as (delete from ${table.name} t using ${source} where ${sameKey(table)} and t.version = k.version returning 1)`,
  );
  return name;
}

/**
 * Compares versions. Rows that are locked, in key order, or checked stay unchanged until the commit. Rows that were only seen
 * are not locked, or two processes, each of which changes what the other has seen, would wait for each other.
 */
function compareRows(
  writing: StatementBuilder,
  table: TableRows["table"],
  what: "locked" | "checked" | "seen",
  rows: readonly StateRow[],
): string {
  const name = `${table.name}_${what}`;
  const source = writing.unnest<StateRow>([...table.keys, table.version], rows);
  const lock = {
    locked: ` order by ${table.keys.map((column) => `t.${column.name}`).join(", ")} for no key update of t`,
    checked: " for share of t",
    seen: "",
  }[what];
  writing.cte(
    `${name} as (select 1 from ${table.name} t join ${source} on ${sameKey(table)} and t.version = k.version${lock})`,
  );
  return name;
}

/**
 * Every account of these owners. Their rows are locked by an earlier statement of the transaction, and whatever opens an
 * account locks its owner, so there is none that this statement does not see.
 */
function countAccounts(writing: StatementBuilder, owners: readonly DeactivatedOwner[]): string {
  const ids = writing.value("uuid[]", `{${owners.map(({ ownerId }) => ownerId)}}`);
  writing.cte(`accounts_of_deactivated as (select 1 from account t where t.owner_id = any(${ids}))`);
  return "accounts_of_deactivated";
}

/** Rows whose claims may be waited for are counted, so that the waits end before the deadline is checked. */
function addRecords(writing: StatementBuilder, { table, columns, rows }: AddedRows, [slot, batch]: Stamp): string {
  const name = `${table.name}_added`;
  const names = columns.map((column) => column.name).join(", ");
  const source = writing.unnestTexts(columns, (_, i) => rows.map((texts) => texts[i] as string | null));
  writing.cte(
    `${name} as (insert into ${table.name} (${names}, slot, batch) select ${names}, ${slot}, ${batch} from ${source}${table.keepsClaims ? " returning 1" : ""})`,
  );
  return name;
}

type ClaimRow = Claim & { readonly replaces?: string };

const CLAIM_COLUMNS: readonly Column<ClaimRow>[] = [
  { name: "customer_id", type: "uuid", text: (claim) => claim.customerId },
  { name: "kind", type: "claim_kind", text: (claim) => claim.kind },
  { name: "ref_id", type: "text", text: (claim) => claim.refId },
  { name: "id", type: "uuid", text: (claim) => claim.id },
];
const REPLACES: Column<ClaimRow> = { name: "replaces", type: "uuid", text: (claim) => claim.replaces ?? null };

/**
 * A taken ref_id fails the statement by the table's primary key: `on conflict` would write each claim twice. Claims are
 * counted so that lock waits finish before the deadline check.
 */
function writeClaims(writing: StatementBuilder, claims: readonly ClaimRow[]): string[] {
  const names: string[] = [];
  const first = claims.filter((claim) => claim.replaces === undefined);
  if (first.length > 0) {
    names.push("claimed");
    writing.cte(
      `claimed as (insert into claim (customer_id, kind, ref_id, id) select customer_id, kind, ref_id, id from ${writing.unnest(CLAIM_COLUMNS, first)} returning 1)`,
    );
  }
  const again = claims.filter((claim) => claim.replaces !== undefined);
  if (again.length > 0) {
    names.push("reclaimed");
    writing.cte(
      `reclaimed as (update claim t set id = k.id from ${writing.unnest([...CLAIM_COLUMNS, REPLACES], again)} where t.customer_id = k.customer_id and t.kind = k.kind and t.ref_id = k.ref_id and t.id = k.replaces returning 1)`,
    );
  }
  return names;
}

function sameKey(table: { readonly keys: readonly Column<never>[] }): string {
  return table.keys.map((column) => `t.${column.name} = k.${column.name}`).join(" and ");
}

function count(names: readonly string[]): string {
  return names.length === 0 ? "0" : names.map((name) => `(select count(*) from ${name})`).join(" + ");
}

const bytea = (bytes: Buffer): string => `\\x${bytes.toString("hex")}`;

/** Types whose text may contain any character. Numbers, times, ids and enum values never need quoting. */
const QUOTED = new Set(["text", "jsonb"]);

/**
 * An array literal. The driver's general formatter is as slow as the rest of a batch together; here the type decides
 * what is quoted. Null stands for a column of nulls, because `unnest` pads a missing array beside other columns.
 */
function arrayOf(type: string, values: readonly (string | null)[]): string | null {
  if (values.every((value) => value === null)) return null;
  return `{${values.map(QUOTED.has(type) ? quoted : plain).join(",")}}`;
}

const plain = (value: string | null): string => value ?? "NULL";

function quoted(value: string | null): string {
  if (value === null) return "NULL";
  const isSafe = !value.includes('"') && !value.includes("\\");
  return isSafe ? `"${value}"` : `"${value.replace(/["\\]/g, "\\$&")}"`;
}
