/** A statement of the simulated PostgreSQL, as a function. */
import type { Instant } from "../../../src/std/clock.ts";
import type { LockMode } from "./row-locks.ts";
import type { Row, Tables } from "./tables.ts";

/** What a statement sees and does. Its writes are invisible before the commit, even to itself. */
export interface Run {
  readonly tables: Tables;
  /** `clock_timestamp()`. */
  readonly now: Instant;
  /** As `HISTORY` names it. */
  readonly history: string;
  lock(table: string, key: string, mode: LockMode): Promise<void>;
  /** `skip locked`. @returns false when another transaction holds it */
  lockUnlessHeld(table: string, key: string, mode: LockMode): boolean;
  boundLockWaits(mostMs: number, whose: "of the transaction" | "of the session"): void;
  write(table: string, row: Row): void;
  remove(table: string, row: Row): void;
  /** Commits after everything that it has seen, although it changes no row. `alone`: one such transaction at a time. */
  writeMessage(alone?: "alone"): Promise<void>;
  /** A cursor over these rows. */
  declare(rows: Row[]): void;
  fetch(): Row[];
}

export type Statement = (run: Run, values: readonly unknown[]) => Promise<Row[]> | Row[];
