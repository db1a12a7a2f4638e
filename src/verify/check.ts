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
  broken(record: string, message: string): void;
}

/** One scan over a part of the data. Scans are long, so several checks may share one. */
export interface Examination {
  readonly checks: readonly string[];
  run(database: Database, tally: (check: string) => Tally): Promise<void>;
}

/** Receives progress and findings while examinations run. */
export interface ProgressListener {
  readonly examined?: (check: string, count: number) => void;
  readonly found?: (finding: Finding) => void;
}

/** Runs the examinations one after the other. @returns one result per check, in the order of `examinations` */
export async function examine(
  database: Database,
  examinations: readonly Examination[],
  watcher: ProgressListener = {},
): Promise<CheckResult[]> {
  const counts = new Map<string, Count>();
  for (const { checks } of examinations) for (const check of checks) counts.set(check, new Count(check, watcher));
  const tally = (check: string): Tally => counts.get(check) ?? new Count(check, watcher);
  for (const examination of examinations) await examination.run(database, tally);
  return [...counts.values()].map((count) => count.result());
}

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
    this.#watcher.examined?.(this.#check, this.#examined);
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
