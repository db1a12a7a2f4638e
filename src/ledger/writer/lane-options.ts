/** A lane's options and bounds, and what it reports to the operator. */
import type { Database } from "../../postgres/database.ts";
import { LEASE_MS } from "../../postgres/leases.ts";
import type { DatabaseComparedClock } from "../compared-clock.ts";
import type { HashedContent } from "./batch.ts";
import type { AnyCommand, AnyOutcome } from "./pending-command.ts";

export interface LaneOptions {
  readonly database: Database;
  readonly clock: DatabaseComparedClock;
  /** Identifies this process among all that share the database, also after a restart on the same data. */
  readonly holder: string;
  readonly log: (event: LaneEvent) => void;
  /** Called for every durable batch, before its outcomes are reported. Must not throw. */
  readonly onCommitted?: ((batch: CommittedBatch) => void) | undefined;
  /** Called for every command as it arrives, with its outcome to come. Must not throw, and must handle a rejection. */
  readonly onExecute?: ((command: AnyCommand, outcome: Promise<AnyOutcome>) => void) | undefined;
  readonly bounds?: Partial<LaneBounds>;
}

export interface LaneBounds {
  readonly batch: number;
  /** What the commands of a batch weigh together, unless it is one command alone: the rows and ref_ids that they name, or more. */
  readonly batchRows: number;
  /** Pending commands, in total and of one customer. Beyond it: `Unavailable`. */
  readonly pending: number;
  readonly pendingPerCustomer: number;
  /** How long after its arrival a command may still take effect. */
  readonly deadlineMs: number;
  readonly leaseMs: number;
  /** How long a batch waits for each lock that another process holds, at least: see `LockPatience`. */
  readonly leastLockWaitMs: number;
  /** Bytes of rows kept in memory, and how many ref_ids. */
  readonly cachedBytes: number;
  readonly cachedRefIds: number;
}

export const BOUNDS: LaneBounds = {
  batch: 500,
  // As many as 400 transfers have, and less than two rounds of an engine that are full: what comes behind such a batch waits
  // for it.
  batchRows: 2_000,
  pending: 10_000,
  pendingPerCustomer: 2_000,
  deadlineMs: 10_000,
  leaseMs: LEASE_MS,
  leastLockWaitMs: 50,
  cachedBytes: 256 * 2 ** 20,
  cachedRefIds: 200_000,
};

/** Of every lane. */
export const LIMITS = {
  /** One batch commits while the next is decided and dispatched. */
  inFlight: 2,
  /** Attempts to decide a command before it fails as unavailable. */
  rounds: 5,
  /** A batch without a response for this long is treated as lost. */
  inFlightMs: 9_000,
  /** How long commands with an unknown outcome wait for a database that is away. */
  unknownOutcomeWaitMs: 2_000,
  sweepMs: 100,
  /** Commands decided under lock at a time. Others are not decided meanwhile, so these take turns with a batch of others. */
  locking: 16,
  /**
   * How many wait in line for rows that other processes hold, each with a connection: in total, for commands of one customer, and
   * for rounds of markets, for which these are kept.
   */
  lines: 8,
  linesPerCustomer: 2,
  linesOfHouse: 4,
  /** Commands that wait in line together and are decided in one turn (see `CustomerTurns`), and what they weigh, unless it is one. */
  turn: 128,
  turnRows: 2_000,
  /** How many times as long as a turn the pause after it is. */
  turnPauses: 3,
  /** How long the next ones gather without an attempt while one waits for its turn. */
  stuckMs: 500,
  /** How long others rest until they are tried again. */
  restMs: 25,
  /** How long one that has its rows waits for its turn. */
  lineIdleMs: 900,
  /** How long a row that another process changed is locked before it is decided on. */
  contestedMs: 10_000,
  /** Found unchanged so often in a row, it is not locked first any more. */
  timesUnchanged: 4,
  /** A command that needs more rows than these waits in line for all that other processes change. */
  fewRows: 8,
  /** If other processes change so many of its rows, it waits at once: one of them is most likely held. */
  manyContested: 3,
} as const;

export interface CommittedBatch {
  readonly slot: number;
  readonly n: bigint;
  readonly commands: readonly AnyCommand[];
  /** Its link in the slot's hash chain, and what that covers. */
  readonly hash: Buffer;
  readonly content: HashedContent;
  /** From dispatch until it was known to be durable. */
  readonly ms: number;
}

export interface LaneReport {
  readonly state: LaneState;
  readonly slot: number;
  /** Pending commands: queued, decided, or being committed. */
  readonly depth: number;
  /** Those whose rows must be locked before they are decided. */
  readonly toLock: number;
  readonly inFlight: number;
  readonly databaseAway: boolean;
  /** Why the clock prevents decisions. */
  readonly clockFault: string | undefined;
}

export type LaneState = "closed" | "running" | "locking" | "recovering";

/** For the operator's log. */
export type LaneEvent =
  | {
      readonly kind: "batch_failed";
      readonly slot: number;
      readonly n: bigint;
      readonly error: Error;
      /** Another process was first with a row or a ref_id. */
      readonly isContention: boolean;
    }
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
