/** What a lane is given, what bounds it, and what it tells the operator. */
import type { Database } from "../../postgres/database.ts";
import { LEASE_MS } from "../../postgres/leases.ts";
import type { LedgerClock } from "../ledger-clock.ts";
import type { AnyCommand } from "./pending-command.ts";

export interface LaneOptions {
  readonly database: Database;
  readonly clock: LedgerClock;
  /** Names this process among all that share the database; the same again after a restart on the same data. */
  readonly holder: string;
  readonly log: (event: LaneEvent) => void;
  /** Told of every batch that is durable, before its callers are answered. Does not throw. */
  readonly onCommitted?: ((batch: CommittedBatch) => void) | undefined;
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
  leaseMs: LEASE_MS,
  remembered: 200_000,
};

export interface CommittedBatch {
  readonly slot: number;
  readonly n: bigint;
  readonly commands: readonly AnyCommand[];
  /** From when it was sent until it was known to be durable. */
  readonly ms: number;
}

/** Where a lane stands, for who watches it. */
export interface LaneReport {
  readonly state: LaneState;
  readonly slot: number;
  /** Commands inside: waiting, decided, or being committed. */
  readonly depth: number;
  /** Of those, the ones whose rows have to be locked before they are decided. */
  readonly toLock: number;
  /** Batches that were sent and are not answered yet. */
  readonly inFlight: number;
  /** The database did not answer when it was last asked. */
  readonly away: boolean;
  /** Why the clock is too wrong for anything to be decided. */
  readonly clockFault: string | undefined;
}

export type LaneState = "closed" | "running" | "locking" | "recovering";

/** What an operator may want to know. */
export type LaneEvent =
  | { readonly kind: "batch_failed"; readonly slot: number; readonly n: bigint; readonly error: Error }
  | { readonly kind: "database_away"; readonly error: Error }
  | { readonly kind: "warned"; readonly slot: number; readonly warning: string }
  | {
      readonly kind: "recovered";
      readonly slot: number;
      readonly committed: number;
      readonly again: number;
      readonly voided: number;
    }
  /** From here on nothing is decided. */
  | { readonly kind: "clock_wrong"; readonly fault: string }
  | { readonly kind: "clock_right" }
  | { readonly kind: "command_failed"; readonly error: Error };
