/** What a statement of the simulated PostgreSQL is: a function of what it may see and do. */
import type { Instant } from "../../src/std/clock.ts";
import type { LockMode } from "./row-locks.ts";
import type { Row, Tables } from "./tables.ts";

/** What a statement sees and does. Writes are seen by nobody, itself included, before the commit. */
export interface Run {
  readonly tables: Tables;
  /** `clock_timestamp()`. */
  readonly now: Instant;
  lock(table: string, key: string, mode: LockMode): Promise<void>;
  write(table: string, row: Row): void;
  remove(table: string, row: Row): void;
  /** Commits behind what it has seen, though it changes no row. `alone`: one such transaction at a time. */
  writeMessage(alone?: "alone"): Promise<void>;
  /** A cursor over these rows, and all that it has. */
  declare(rows: Row[]): void;
  fetch(): Row[];
}

export type Statement = (run: Run, values: readonly unknown[]) => Promise<Row[]> | Row[];
