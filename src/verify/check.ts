/**
 * Verification recomputes derived data from its sources. A check examines records and reports each broken one. It reads
 * in pages, each in its own short snapshot, so it needs little memory and may run while money moves; every check says
 * why the data that it compares is consistent.
 */
import type { Database } from "../postgres/database.ts";

export interface Finding {
  readonly check: string;
  /** The table and the key, e.g. "batch 1/17". */
  readonly record: string;
  /** What is wrong, phrased to follow the record: "is missing". */
  readonly message: string;
}

export interface CheckResult {
  readonly check: string;
  readonly examined: number;
  readonly broken: number;
  readonly first: Finding | undefined;
}

export interface Tally {
  examined(count: number): void;
  /** Rows of the tables that the examination says it reads: how far it is. */
  read(rows: number): void;
  broken(record: string, message: string): void;
}

/**
 * One scan over a part of the data. Scans are long, so several checks may share one. Others run at the same time, and none
 * relies on another.
 */
export interface Examination {
  readonly checks: readonly string[];
  /** The tables whose rows it reads, if they may be many. */
  readonly reads: readonly string[];
  run(database: Database, tally: (check: string) => Tally): Promise<void>;
}

/**
 * Reads what is not bounded by a page: all that is open, or the executions of a page's orders. And what each row of a page
 * has to be looked up for in several other places: with cold caches a page takes longer than other statements may.
 */
export function readInAnyTime<Row>(database: Database, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return database.transaction((transaction) => transaction.rows<Row>(text, values), "any time");
}

/** Receives progress and findings while examinations run. */
export interface ProgressListener {
  /** About so many rows will be read. */
  readonly begins?: (rows: number) => void;
  readonly read?: (rows: number) => void;
  readonly found?: (finding: Finding) => void;
}

/** While this process computes for one, the database computes for another. */
const AT_ONCE = 2;

/** Runs the examinations, begun in their order. @returns one result per check, in the order of `examinations` */
export async function examine(
  database: Database,
  examinations: readonly Examination[],
  watcher: ProgressListener = {},
): Promise<CheckResult[]> {
  if (watcher.begins !== undefined)
    watcher.begins(
      await estimateRows(
        database,
        examinations.flatMap(({ reads }) => reads),
      ),
    );
  const failing = new AbortController();
  const scans = examinations.map((examination) => ({
    examination,
    counts: new Map(examination.checks.map((check) => [check, new Count(check, watcher, failing.signal)])),
  }));
  const waiting = [...scans];
  const work = async (): Promise<void> => {
    for (let scan = waiting.shift(); scan !== undefined && !failing.signal.aborted; scan = waiting.shift()) {
      const { examination, counts } = scan;
      await examination.run(database, (check) =>
        countOf(counts, check, () => new Count(check, watcher, failing.signal)),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, () => work().catch((error: unknown) => failing.abort(error))));
  failing.signal.throwIfAborted();
  const results = new Map<string, CheckResult>();
  for (const { counts } of scans)
    for (const [check, count] of counts) results.set(check, merged(results.get(check), count.result()));
  return [...results.values()];
}

/** An examination may also find what another one checks. */
function countOf(counts: Map<string, Count>, check: string, count: () => Count): Count {
  const known = counts.get(check) ?? count();
  counts.set(check, known);
  return known;
}

function merged(one: CheckResult | undefined, other: CheckResult): CheckResult {
  if (one === undefined) return other;
  const { check, examined, broken, first } = one;
  return { check, examined: examined + other.examined, broken: broken + other.broken, first: first ?? other.first };
}

/** Without reading them: as the planner does, by the size of each table and how many rows a block had last. */
async function estimateRows(database: Database, tables: readonly string[]): Promise<number> {
  const [found] = await database.rows<{ rows: number }>(
    `select coalesce(sum(blocks * case when c.relpages > 0 then c.reltuples / c.relpages else $2 end), 0)::float8 as rows
       from unnest($1::text[]) as t(name) join pg_class c on c.oid = t.name::regclass
      cross join lateral (
            select pg_relation_size(c.oid) / current_setting('block_size')::integer as blocks) as size`,
    [tables, USUAL_ROWS_PER_BLOCK],
  );
  return Math.round(found?.rows ?? 0);
}

/** Of a table that was never analyzed. */
const USUAL_ROWS_PER_BLOCK = 40;

class Count implements Tally {
  readonly #check: string;
  readonly #watcher: ProgressListener;
  readonly #failing: AbortSignal;
  #examined = 0;
  #broken = 0;
  #first: Finding | undefined;

  /** @param failing aborted by what made another examination fail: this one then ends too */
  constructor(check: string, watcher: ProgressListener, failing: AbortSignal) {
    this.#check = check;
    this.#watcher = watcher;
    this.#failing = failing;
  }

  examined(count: number): void {
    this.#examined += count;
  }

  read(rows: number): void {
    this.#failing.throwIfAborted();
    this.#watcher.read?.(rows);
  }

  broken(record: string, message: string): void {
    const finding = { check: this.#check, record, message };
    this.#broken += 1;
    this.#first ??= finding;
    this.#watcher.found?.(finding);
  }

  result(): CheckResult {
    return { check: this.#check, examined: this.#examined, broken: this.#broken, first: this.#first };
  }
}
