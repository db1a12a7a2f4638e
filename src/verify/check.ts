/**
 * Verifying: what the books say is computed again from what they are made of. A check examines records and tells each
 * one that is broken by name. It reads in pages, each in a short snapshot of its own, so that it needs little memory
 * whatever the size of the books, and may run while money moves: every check says why what it compares belongs together.
 */
import type { Database } from "../postgres/database.ts";

/** A record that is not as it has to be. */
export interface Finding {
  readonly check: string;
  /** The table and the key, e.g. "batch 1/17". */
  readonly record: string;
  /** What is wrong, to be read after the record: "is missing". */
  readonly message: string;
}

export interface CheckResult {
  readonly check: string;
  readonly examined: number;
  readonly broken: number;
  readonly first: Finding | undefined;
}

/** Where a check notes what it has seen. */
export interface Tally {
  examined(count: number): void;
  broken(record: string, message: string): void;
}

/** One walk over some of the books. A walk is long, so several checks may share one. */
export interface Examination {
  readonly checks: readonly string[];
  run(database: Database, tally: (check: string) => Tally): Promise<void>;
}

/** What is told while an examination goes on. */
export interface Watcher {
  readonly examined?: (check: string, count: number) => void;
  readonly found?: (finding: Finding) => void;
}

/** Does the examinations one after the other, and answers the result of each check in the order of their names. */
export async function examine(
  database: Database,
  examinations: readonly Examination[],
  watcher: Watcher = {},
): Promise<CheckResult[]> {
  const counts = new Map<string, Count>();
  for (const { checks } of examinations) for (const check of checks) counts.set(check, new Count(check, watcher));
  const tally = (check: string): Tally => counts.get(check) ?? new Count(check, watcher);
  for (const examination of examinations) await examination.run(database, tally);
  return [...counts.values()].map((count) => count.result());
}

class Count implements Tally {
  readonly #check: string;
  readonly #watcher: Watcher;
  #examined = 0;
  #broken = 0;
  #first: Finding | undefined;

  constructor(check: string, watcher: Watcher) {
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
