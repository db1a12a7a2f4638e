/**
 * The two statements whose text is generated from table descriptions: the lane's batch, and reading rows by their keys. They
 * are parsed part by part, so that a guard that is missing in the text is missing in the simulation too.
 *
 * As in PostgreSQL, every part sees the rows at the start of the statement; a row that another transaction is changing is
 * waited for, and the condition is evaluated again on its new version.
 */
import { must } from "../../../src/std/assert.ts";
import { type Expression, expressionOf, type Scope, splitOutside, unnestOf } from "./sql-values.ts";
import type { Run, Statement } from "./statement.ts";
import { checkRow, keyOfRow, primaryKey, type Row, uniqueEntries, uniqueViolation } from "./tables.ts";

/** A row of a table that meets the condition together with one of `k`. */
interface Met {
  readonly key: string;
  readonly seen: Row;
  readonly k: Row;
}

interface Part {
  readonly name: string;
  /** Reads the rows at the start of the statement. @returns the rest of the work, which returns the number of rows */
  begin(run: Run, values: readonly unknown[]): () => Promise<number>;
}

/** The columns of `k` that a condition compares with the key of `t`. */
function keyColumns(table: string, condition: string): string[] {
  return primaryKey(table).map((column) => {
    const match = new RegExp(`t\\.${column} = k\\.(\\w+)`).exec(condition);
    return must(match?.[1], `rows of ${table} are found by their key: ${condition}`);
  });
}

/** Joins the table with `k`: finds each row by its key, and evaluates the whole condition. */
function join(table: string, condition: string, source: string) {
  const unnest = unnestOf(source);
  const keys = keyColumns(table, condition);
  const holds = expressionOf(condition);
  const isMet = (run: Run, values: readonly unknown[], t: Row, k: Row): boolean =>
    holds({ values, rows: { t, k }, counts: NONE, now: run.now }) === true;
  return {
    find: (run: Run, values: readonly unknown[]): Met[] =>
      unnest(values).flatMap((k) => {
        const key = keys.map((name) => String(k[name])).join("/");
        const seen = run.tables.get(table, key);
        return seen !== undefined && isMet(run, values, seen, k) ? [{ key, seen, k }] : [];
      }),
    /** The row under the lock, if it still meets the condition. */
    again: (run: Run, values: readonly unknown[], { key, seen, k }: Met): Row | undefined => {
      const now = run.tables.get(table, key);
      return now !== undefined && (now === seen || isMet(run, values, now, k)) ? now : undefined;
    },
  };
}

const NONE: ReadonlyMap<string, number> = new Map();

function updatePart(name: string, body: string): Part | undefined {
  const match = /^update (\w+) t set (.+?) from (unnest\(.+\) as k\([^)]+\)) where (.+) returning 1$/.exec(body);
  if (match === null) return undefined;
  const [, table, assignments, source, condition] = match as unknown as [string, string, string, string, string];
  const set = splitOutside(assignments, ", ").map((assignment): [string, Expression] => {
    const [column, expression] = assignment.split(" = ") as [string, string];
    return [column, expressionOf(expression)];
  });
  return eachLocked(name, { table, condition, source }, (run, values, row, k) => {
    const scope: Scope = { values, rows: { t: row, k }, counts: NONE, now: run.now };
    run.write(table, { ...row, ...Object.fromEntries(set.map(([column, of]) => [column, of(scope)])) });
  });
}

function deletePart(name: string, body: string): Part | undefined {
  const match = /^delete from (\w+) t using (unnest\(.+\) as k\([^)]+\)) where (.+) returning 1$/.exec(body);
  if (match === null) return undefined;
  const [, table, source, condition] = match as unknown as [string, string, string, string];
  return eachLocked(name, { table, condition, source }, (run, _values, row) => run.remove(table, row));
}

/** Locks each row that meets the condition, and changes it if it still does. */
function eachLocked(
  name: string,
  { table, condition, source }: { readonly table: string; readonly condition: string; readonly source: string },
  act: (run: Run, values: readonly unknown[], row: Row, k: Row) => void,
): Part {
  const joined = join(table, condition, source);
  return {
    name,
    begin: (run, values) => {
      const found = joined.find(run, values);
      return async () => {
        let count = 0;
        for (const met of found) {
          await run.lock(table, met.key, "exclusive");
          const row = joined.again(run, values, met);
          if (row === undefined) continue;
          act(run, values, row, met.k);
          count += 1;
        }
        return count;
      };
    },
  };
}

function sharePart(name: string, body: string): Part | undefined {
  const match =
    /^select 1 from (\w+) t join (unnest\(.+\) as k\([^)]+\)) on (.+?)( for share of t| order by .+ for no key update of t)?$/.exec(
      body,
    );
  if (match === null) return undefined;
  const [, table, source, condition, lock] = match as unknown as [string, string, string, string, string | undefined];
  const joined = join(table, condition, source);
  return {
    name,
    begin: (run, values) => {
      const found = joined.find(run, values);
      return async () => {
        if (lock === undefined) return found.length;
        let count = 0;
        for (const met of found) {
          await run.lock(table, met.key, lock === " for share of t" ? "share" : "exclusive");
          if (joined.again(run, values, met) !== undefined) count += 1;
        }
        return count;
      };
    },
  };
}

function insertPart(name: string, body: string): Part | undefined {
  const match =
    /^insert into (\w+) \(([^)]+)\) select (.+) from (unnest\(.+\) as k\([^)]+\))( on conflict do nothing)?( returning 1)?$/.exec(
      body,
    );
  if (match === null) return undefined;
  const [, table, into, from, source, onConflict] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string?,
  ];
  const columns = into.split(", ");
  const expressions = splitOutside(from, ", ").map(expressionOf);
  const unnest = unnestOf(source);
  return {
    name,
    begin: (run, values) => {
      const sources = unnest(values);
      return async () => {
        let count = 0;
        for (const k of sources) {
          const scope: Scope = { values, rows: { k }, counts: NONE, now: run.now };
          const row = Object.fromEntries(columns.map((column, i) => [column, expressions[i]?.(scope) ?? null]));
          if (await insertRow(run, table, row, onConflict !== undefined)) count += 1;
        }
        return count;
      };
    },
  };
}

/** Waits for a transaction that inserts the same key or an equal entry of a unique index. @returns false when there is such a row, which is no error */
export async function insertRow(run: Run, table: string, row: Row, orNothing: boolean): Promise<boolean> {
  checkRow(table, row);
  const key = keyOfRow(table, row);
  const isThere = (): boolean => run.tables.get(table, key) !== undefined;
  if (!isThere()) await run.lock(table, key, "exclusive");
  if (isThere()) {
    if (!orNothing) throw uniqueViolation(`${table}_pkey`);
    return false;
  }
  for (const { constraint, entry } of uniqueEntries(table, row)) {
    if (run.tables.withEntry(entry) === undefined) await run.lock(table, entry, "exclusive");
    if (run.tables.withEntry(entry) === undefined) continue;
    if (orNothing) return false;
    throw uniqueViolation(constraint);
  }
  run.write(table, row);
  return true;
}

/** How many accounts these owners had at the start of the statement. */
function ownedPart(name: string, body: string): Part | undefined {
  const match = /^select 1 from account t where t\.owner_id = any\(\$(\d+)::uuid\[\]\)$/.exec(body);
  if (match === null) return undefined;
  const owners = unnestOf(`unnest($${match[1]}::uuid[]) as k(owner_id)`);
  return {
    name,
    begin: (run, values) => {
      const ids = owners(values).map((k) => k.owner_id);
      const count = run.tables.rows("account").filter((row) => ids.includes(row.owner_id)).length;
      return async () => count;
    },
  };
}

/** Whether there was a row with this key at the start of the statement, such as the batch before. */
function countPart(name: string, body: string): Part | undefined {
  const match = /^select 1 from (\w+) where (.+)$/.exec(body);
  if (match === null) return undefined;
  const [, table, condition] = match as unknown as [string, string, string];
  const holds = expressionOf(condition);
  const equals = new Map(splitOutside(condition, " and ").map((one) => one.split(" = ") as [string, string]));
  const key = primaryKey(table).map((column) =>
    expressionOf(must(equals.get(column), `a row of ${table} is found by its key: ${condition}`)),
  );
  return {
    name,
    begin: (run, values) => {
      const scope: Scope = { values, rows: {}, counts: NONE, now: run.now };
      const row = run.tables.get(table, key.map((of) => String(of(scope))).join("/"));
      const count = row !== undefined && holds({ ...scope, rows: { k: row } }) === true ? 1 : 0;
      return async () => count;
    },
  };
}

/** The parts `name as (body)` of a `with`, and what follows them. */
function partsOf(text: string): { parts: Part[]; rest: string } {
  const parts: Part[] = [];
  let rest = text.replace(/^with /, "");
  for (;;) {
    const name = must(/^(\w+) as \(/.exec(rest)?.[1], `a common table expression: ${rest.slice(0, 80)}`);
    const from = name.length + " as (".length;
    let depth = 1;
    let to = from;
    for (; depth > 0; to += 1) depth += rest[to] === "(" ? 1 : rest[to] === ")" ? -1 : 0;
    const body = rest.slice(from, to - 1);
    const part = [updatePart, insertPart, deletePart, sharePart, ownedPart, countPart].reduce<Part | undefined>(
      (found, partOf) => found ?? partOf(name, body),
      undefined,
    );
    parts.push(must(part, `a part that the simulated database knows: ${body.slice(0, 200)}`));
    rest = rest.slice(to).trim();
    if (!rest.startsWith(",")) return { parts, rest };
    rest = rest.slice(1).trim();
  }
}

/** The lane's batch: `with ... insert into batch (...) select ...`. */
export function batchStatement(text: string): Statement | undefined {
  if (!text.startsWith("with ") || !text.includes(" insert into batch (")) return undefined;
  const { parts, rest } = partsOf(text);
  const match = /^insert into batch \(([^)]+)\) select (.+)$/.exec(rest);
  const [, into, from] = must(match ?? undefined, `a batch ends with its row: ${rest}`) as unknown as string[];
  const columns = (into as string).split(", ");
  const expressions = splitOutside(from as string, ", ").map(expressionOf);
  const counted = [...(from as string).matchAll(/count\(\*\) from (\w+)/g)].map(([, name]) => name as string);
  return async (run, values) => {
    const begun = new Map(parts.map((part) => [part.name, part.begin(run, values)]));
    const counts = new Map<string, number>();
    const goOn = async (name: string): Promise<void> => {
      counts.set(name, await must(begun.get(name), `a batch has a part ${name}`)());
    };
    // The counted parts come first, in the order of their names; those that only write follow the batch's row.
    for (const name of counted) await goOn(name);
    const scope: Scope = { values, rows: {}, counts, now: run.now };
    const row = Object.fromEntries(columns.map((column, i) => [column, expressions[i]?.(scope) ?? null]));
    await insertRow(run, "batch", row, false);
    for (const { name } of parts) if (!counts.has(name)) await goOn(name);
    return [];
  };
}

/** `readKeys`: rows by their keys, in the order of these, locked or not. */
export function keysStatement(text: string): Statement | undefined {
  const match =
    /^select ((?:t\.\w+, )+t\.version) from (\w+) t join (unnest\(.+\) as k\([^)]+\)) on (.+) order by [^()]+?(?: for (update|share) of t( skip locked)?)?$/.exec(
      text,
    );
  if (match === null) return undefined;
  const [, selected, table, source, condition, lock, skips] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string?,
    string?,
  ];
  const columns = selected.split(", ").map((column) => column.slice("t.".length));
  const mode = lock === "share" ? "share" : "exclusive";
  const joined = join(table, condition, source);
  return async (run, values) => {
    const found = joined.find(run, values).sort((a, b) => (a.key < b.key ? -1 : 1));
    const rows: Row[] = [];
    for (const met of found) {
      if (skips !== undefined && !run.lockUnlessHeld(table, met.key, mode)) continue;
      if (lock !== undefined) await run.lock(table, met.key, mode);
      const row = lock === undefined ? met.seen : joined.again(run, values, met);
      if (row !== undefined) rows.push(Object.fromEntries(columns.map((column) => [column, row[column] ?? null])));
    }
    return rows;
  };
}
