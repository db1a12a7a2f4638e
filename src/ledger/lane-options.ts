/** What a lane is given, what bounds it, and what it tells the operator. */
import type { Database } from "../postgres/database.ts";
import type { Clock } from "../std/clock.ts";

export interface LaneOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Names this process among all that share the database; the same again after a restart on the same data. */
  readonly holder: string;
  readonly log: (event: LaneEvent) => void;
  readonly bounds?: Partial<LaneBounds>;
}

export interface LaneBounds {
  /** Commands in one batch at most. */
  readonly batch: number;
  /** Commands inside the lane at most, and of one customer. Past it: 503. */
  readonly inside: number;
  readonly insidePerCustomer: number;
  /** How long after its arrival a command may still take effect. */
  readonly deadlineMs: number;
  readonly leaseMs: number;
  /** Rows remembered per table, and ref_ids. */
  readonly remembered: number;
}

export const BOUNDS: LaneBounds = {
  batch: 500,
  inside: 10_000,
  insidePerCustomer: 2_000,
  deadlineMs: 10_000,
  leaseMs: 15_000,
  remembered: 200_000,
};

/** What an operator may want to know. */
export type LaneEvent =
  | { readonly kind: "batch_failed"; readonly slot: number; readonly n: bigint; readonly error: Error }
  | { readonly kind: "database_away"; readonly error: Error }
  | { readonly kind: "recovered"; readonly slot: number; readonly committed: number; readonly again: number }
  | { readonly kind: "command_failed"; readonly error: Error };
