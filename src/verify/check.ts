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

/** One scan over a part of the data. Scans are long, so several checks may share one. */
export interface Examination {
  readonly checks: readonly string[];
  /** The tables whose rows it reads, if they may be many. */
  readonly reads: readonly string[];
  run(database: Database, tally: (check: string) => Tally): Promise<void>;
}

/** Receives progress and findings while examinations run. */
export interface ProgressListener {
  /** About so many rows will be read. */
  readonly begins?: (rows: number) => void;
  readonly read?: (rows: number) => void;
  readonly found?: (finding: Finding) => void;
}

/** Runs the examinations one after the other. @returns one result per check, in the order of `examinations` */
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
  const counts = new Map<string, Count>();
  for (const { checks } of examinations) for (const check of checks) counts.set(check, new Count(check, watcher));
  const tally = (check: string): Tally => counts.get(check) ?? new Count(check, watcher);
  for (const examination of examinations) await examination.run(database, tally);
  return [...counts.values()].map((count) => count.result());
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
  #examined = 0;
  #broken = 0;
  #first: Finding | undefined;

  constructor(check: string, watcher: ProgressListener) {
    this.#check = check;
    this.#watcher = watcher;
  }

  examined(count: number): void {
    this.#examined += count;
  }

  read(rows: number): void {
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
