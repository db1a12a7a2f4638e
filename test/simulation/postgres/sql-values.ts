/** Values of statements: read by their SQL types as PostgreSQL does, and small expressions over them. */
import { assert, must } from "../../../src/std/assert.ts";
import type { Row } from "./tables.ts";

/** A value as the driver gives it back, of the text that it was sent. */
function readValue(type: string, sent: unknown): unknown {
  if (sent === null || sent === undefined) return null;
  if (Buffer.isBuffer(sent)) return sent;
  const text = String(sent);
  switch (type) {
    case "smallint":
    case "integer":
      return Number(text);
    case "boolean":
      return text === "true";
    case "timestamptz":
      return sent instanceof Date ? sent.getTime() : Date.parse(text);
    case "jsonb":
      return JSON.parse(text);
    case "bytea":
      return Buffer.from(text.slice(2), "hex");
    default:
      return text;
  }
}

/** The elements of an array: the driver takes a JavaScript one, the lane writes the literal itself. Of none there are none. */
function readArray(type: string, sent: unknown): unknown[] {
  if (sent === null) return [];
  const texts = Array.isArray(sent) ? sent : elementsOf(String(sent));
  return texts.map((text) => readValue(type, text));
}

function elementsOf(literal: string): (string | null)[] {
  const elements: (string | null)[] = [];
  const element = /"((?:[^"\\]|\\.)*)"|([^",{}]+)/y;
  element.lastIndex = 1;
  while (element.lastIndex < literal.length - 1) {
    const match = must(element.exec(literal) ?? undefined, `an array literal: ${literal.slice(0, 80)}`);
    const [, quoted, plain] = match;
    elements.push(
      quoted === undefined ? (plain === "NULL" ? null : (plain as string)) : quoted.replace(/\\(.)/g, "$1"),
    );
    element.lastIndex += 1;
  }
  return elements;
}

/** Whether SQL's `=` says so. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === null || b === null) return false;
  return Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.equals(b) : String(a) === String(b);
}

/** Splits at a separator that is in no parentheses. */
export function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === "(") depth += 1;
    else if (text[i] === ")") depth -= 1;
    else if (depth === 0 && text.startsWith(separator, i)) {
      parts.push(text.slice(from, i).trim());
      from = i + separator.length;
      i = from - 1;
    }
  }
  return [...parts, text.slice(from).trim()];
}

/** What an expression is computed in. */
export interface Scope {
  readonly values: readonly unknown[];
  /** By alias; columns without one are of "k". */
  readonly rows: Readonly<Record<string, Row>>;
  /** How many rows each common table expression has come to. */
  readonly counts: ReadonlyMap<string, number>;
  /** PostgreSQL's `clock_timestamp()`. */
  readonly now: number;
}

export type Expression = (scope: Scope) => unknown;

/** The few expressions that statements of the lane are made of. An unknown one is an error, never a guess. */
export function expressionOf(text: string): Expression {
  const both = (operator: string, compute: (a: unknown, b: unknown) => unknown): Expression | undefined => {
    const [first, ...rest] = splitOutside(text, operator).map((part) => part.trim());
    if (first === undefined || rest.length === 0) return undefined;
    return rest
      .map(expressionOf)
      .reduce<Expression>((a, b) => (scope) => compute(a(scope), b(scope)), expressionOf(first));
  };
  const value = /^\$(\d+)::(\w+)$/.exec(text);
  if (value !== null) {
    const [place, type] = [Number(value[1]) - 1, value[2] as string];
    return ({ values }) => readValue(type, values[place]);
  }
  if (/^\d+$/.test(text)) return () => Number(text);
  if (text === "true" || text === "false") return () => text === "true";
  if (text === "null") return () => null;
  if (text === "clock_timestamp()") return ({ now }) => now;
  const count = /^\(select count\(\*\) from (\w+)\)$/.exec(text);
  if (count !== null) return ({ counts }) => must(counts.get(count[1] as string), `${count[1]} was computed`);
  const column = /^(?:(\w)\.)?(\w+)$/.exec(text);
  if (column !== null) {
    const [alias, name] = [column[1] ?? "k", column[2] as string];
    return ({ rows }) => {
      const row = must(rows[alias], `there is a table ${alias}`);
      assert(name in row, `${alias} has a column ${name}`);
      return row[name];
    };
  }
  const compound =
    both(" and ", (a, b) => a === true && b === true) ??
    both(" <= ", (a, b) => Number(a) <= Number(b)) ??
    both(" = ", isSame) ??
    both(" + ", (a, b) => Number(a) + Number(b)) ??
    both(" - ", (a, b) => Number(a) - Number(b));
  return must(compound, `an expression that the simulated database knows: ${text}`);
}

/** `unnest($1::uuid[], $2::text[]) as k(id, name)` as rows. */
export function unnestOf(text: string): (values: readonly unknown[]) => Row[] {
  const match = /^unnest\((.+)\) as k\(([^)]+)\)$/.exec(text);
  const [, arrays = "", names = ""] = must(match ?? undefined, `arrays that are unnested: ${text}`);
  const columns = names.split(", ");
  const sources = splitOutside(arrays, ", ").map((array) => {
    const [, place, type] = must(/^\$(\d+)::(\w+)\[\]$/.exec(array) ?? undefined, `an array: ${array}`);
    return { place: Number(place) - 1, type: type as string };
  });
  return (values) => {
    const read = sources.map(({ place, type }) => readArray(type, values[place]));
    const rows = Math.max(...read.map(({ length }) => length));
    return Array.from({ length: rows }, (_, i) =>
      Object.fromEntries(columns.map((column, j) => [column, read[j]?.[i] ?? null])),
    );
  };
}
