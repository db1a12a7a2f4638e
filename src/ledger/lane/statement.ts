/**
 * A batch as one SQL statement. Nothing can split it, and there is no BEGIN, COMMIT or ROLLBACK to misplace: it writes
 * states and records, claims ref_ids, and last its own row in `batch` with the counts that were expected and found.
 * CHECK constraints on that row hold them equal, so one row moved by somebody else, a predecessor that is not there, a
 * deadline that is over, or a clock that was ahead, and the whole statement fails with the constraint's name; so it does with one ref_id taken.
 *
 * The text depends on the tables that a batch touches, not on how many rows: values go in as arrays through `unnest`.
 * There are few shapes, and each is prepared once per connection under a name that is made of its text: whoever prepared
 * a statement of that name, on whatever connection, meant the same.
 */
import { createHash } from "node:crypto";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { Claim } from "../decision.ts";
import type { Column, StateRow } from "../rows.ts";
import type { AddedRows, BatchContent, TableRows } from "./batch.ts";
import type { Link } from "./slot.ts";

export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: (string | null)[];
}

/** Between which times of the database's clock a batch may be stored. */
export interface BatchTimes {
  readonly notBefore: Instant;
  readonly deadline: Instant;
}

export class Statements {
  readonly #names = new Map<string, string>();

  batch(content: BatchContent, link: Link, { notBefore, deadline }: BatchTimes): Statement {
    const writing = new Writing();
    const stamp = [writing.value("smallint", String(link.slot)), writing.value("bigint", String(link.n))] as const;
    const counted: string[] = [];
    let expected = 0;
    for (const rows of content.states) {
      counted.push(...writeStates(writing, rows, stamp));
      expected += rows.opened.length + rows.changed.length + rows.checked.length;
    }
    for (const added of content.records) addRecords(writing, added, stamp);
    const claimed = writeClaims(writing, content.claims);
    const value = (type: string, text: string | null) => writing.value(type, text);
    writing.part(
      `predecessor as (select 1 from batch where slot = ${stamp[0]} and n = ${stamp[1]} - 1 and hash = ${value("bytea", bytea(link.previous))})`,
    );
    // The clock is looked at last, when every row lock has been waited for.
    const text = `${writing.head()}
insert into batch (slot, n, hash, at, void, states, states_expected, refs, refs_expected, predecessor, changes, callers, not_ahead, in_time)
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

/** A statement's common table expressions and values as they come together. */
class Writing {
  readonly values: (string | null)[] = [];
  readonly #parts: string[] = [];

  value(type: string, text: string | null): string {
    this.values.push(text);
    return `$${this.values.length}::${type}`;
  }

  part(text: string): void {
    this.#parts.push(text);
  }

  head(): string {
    return `with ${this.#parts.join(",\n     ")}`;
  }

  /** The rows as a table `k` of the statement, one array per column. */
  unnest<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
    return this.unnestTexts(columns, (column) => rows.map((row) => column.text(row)));
  }

  /** The same with the text of each column's values. */
  unnestTexts<Kind extends Pick<Column<never>, "name" | "type">>(
    columns: readonly Kind[],
    textsOf: (column: Kind, place: number) => readonly (string | null)[],
  ): string {
    const arrays = columns.map((column, i) => this.value(`${column.type}[]`, arrayOf(column.type, textsOf(column, i))));
    return `unnest(${arrays.join(", ")}) as k(${columns.map((column) => column.name).join(", ")})`;
  }
}

type Stamp = readonly [slot: string, batch: string];

const WAS = { name: "was", type: "bigint" };
const SEQ: Column<StateRow> = { name: "seq", type: "bigint", text: (row) => row.seq.toString() };

function writeStates(writing: Writing, rows: TableRows, stamp: Stamp): string[] {
  const names: string[] = [];
  if (rows.changed.length > 0) names.push(changeRows(writing, rows, stamp));
  if (rows.opened.length > 0) names.push(openRows(writing, rows, stamp));
  if (rows.checked.length > 0) names.push(checkRows(writing, rows));
  return names;
}

function changeRows(writing: Writing, { table, changed, changedWas }: TableRows, [slot, batch]: Stamp): string {
  const name = `${table.name}_changed`;
  const columns: Column<StateRow>[] = [...table.keys, ...table.changing, SEQ];
  const was = changedWas.map((number) => number.toString());
  const source = writing.unnestTexts([...columns, WAS], (column) =>
    column === WAS ? was : changed.map((row) => (column as Column<StateRow>).text(row)),
  );
  const set = [...table.changing, SEQ].map((column) => `${column.name} = k.${column.name}`);
  if (table.digested) set.push(`slot = ${slot}`, `batch = ${batch}`);
  writing.part(
    `${name} as (update ${table.name} t set ${set.join(", ")} from ${source} where ${sameKey(table)} and t.seq = k.was returning 1)`,
  );
  return name;
}

function openRows(writing: Writing, { table, opened }: TableRows, [slot, batch]: Stamp): string {
  const name = `${table.name}_opened`;
  const columns: Column<StateRow>[] = [...table.keys, ...table.fixed, ...table.changing, SEQ];
  const names = columns.map((column) => column.name);
  const [into, from] = table.digested
    ? [
        [...names, "slot", "batch"],
        [...names, slot, batch],
      ]
    : [names, names];
  writing.part(
    `${name} as (insert into ${table.name} (${into.join(", ")}) select ${from.join(", ")} from ${writing.unnest(columns, opened)} on conflict do nothing returning 1)`,
  );
  return name;
}

/** `for share`: what was checked stays so until the commit. */
function checkRows(writing: Writing, { table, checked }: TableRows): string {
  const name = `${table.name}_checked`;
  const source = writing.unnest<StateRow>([...table.keys, SEQ], checked);
  writing.part(
    `${name} as (select 1 from ${table.name} t join ${source} on ${sameKey(table)} and t.seq = k.seq for share of t)`,
  );
  return name;
}

function addRecords(writing: Writing, { table, rows }: AddedRows, [slot, batch]: Stamp): void {
  const columns = table.tellsCaller ? [...table.columns, CALLER] : table.columns;
  const names = columns.map((column) => column.name).join(", ");
  const source = writing.unnestTexts(columns, (column, i) =>
    rows.map(({ texts, caller }) => (column === CALLER ? caller : (texts[i] as string | null))),
  );
  writing.part(
    `${table.name}_added as (insert into ${table.name} (${names}, slot, batch) select ${names}, ${slot}, ${batch} from ${source})`,
  );
}

/** Which of the batch's callers asked for a record. */
const CALLER = { name: "caller", type: "smallint" };

type ClaimRow = Claim & { readonly replaces?: string };

const CLAIM_COLUMNS: readonly Column<ClaimRow>[] = [
  { name: "customer_id", type: "uuid", text: (claim) => claim.customerId },
  { name: "kind", type: "claim_kind", text: (claim) => claim.kind },
  { name: "ref_id", type: "text", text: (claim) => claim.refId },
  { name: "id", type: "uuid", text: (claim) => claim.id },
];
const REPLACES: Column<ClaimRow> = { name: "replaces", type: "uuid", text: (claim) => claim.replaces ?? null };

/**
 * A ref_id that is taken fails the statement by the key of its table: `on conflict` would write each claim twice. They
 * are counted all the same, so that whoever is waited for is waited for before the deadline is looked at.
 */
function writeClaims(writing: Writing, claims: readonly ClaimRow[]): string[] {
  const names: string[] = [];
  const first = claims.filter((claim) => claim.replaces === undefined);
  if (first.length > 0) {
    names.push("claimed");
    writing.part(
      `claimed as (insert into claim (customer_id, kind, ref_id, id) select customer_id, kind, ref_id, id from ${writing.unnest(CLAIM_COLUMNS, first)} returning 1)`,
    );
  }
  const again = claims.filter((claim) => claim.replaces !== undefined);
  if (again.length > 0) {
    names.push("reclaimed");
    writing.part(
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

/** Types whose text may hold any character. Numbers, times, ids and the words of enums have none that means something. */
const QUOTED = new Set(["text", "jsonb"]);

/**
 * An array literal. The driver's own is general and as slow as all the rest of a batch together; here the type says
 * what has to be quoted. Beside other columns, `unnest` fills up with nulls a column that has no array.
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
