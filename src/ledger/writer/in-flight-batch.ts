/** A batch that was sent and whose outcome is not known yet. */
import { isConflict, isContention } from "./batch-conflicts.ts";
import type { DecidedBatch } from "./decider.ts";
import type { CommittedBatch, LaneEvent } from "./lane-options.ts";
import { claimsOf, type PendingCommand } from "./pending-command.ts";
import type { Link } from "./slot-chain.ts";

export interface InFlightBatch extends DecidedBatch {
  readonly link: Link;
  /** By the monotonic clock. */
  readonly sentMs: number;
}

export function dispatch(batch: DecidedBatch, link: Link): InFlightBatch {
  for (const { pending } of batch.decided) pending.enterBatch();
  return { ...batch, link, sentMs: performance.now() };
}

/** Once its outcome is known. @returns its commands, which may be decided again if it has not committed */
export function dissolve({ decided }: InFlightBatch): PendingCommand[] {
  for (const { pending } of decided) pending.leaveBatch();
  return decided.map(({ pending }) => pending);
}

/** What observers receive about a durable batch. */
export function committed({ link: { slot, n, hash }, content, decided, sentMs }: InFlightBatch): CommittedBatch {
  const commands = decided.map(({ pending }) => pending.command);
  return { slot, n, hash, content, commands, ms: performance.now() - sentMs };
}

/** What the log says about one that failed. */
export function failed({ link: { slot, n }, decided }: InFlightBatch, error: Error): LaneEvent {
  const claims = claimsOf(decided);
  // A rule that fails again on locked rows is a bug, and reported as one then.
  return {
    kind: "batch_failed",
    slot,
    n,
    error,
    isContention: isContention(error, claims) || isConflict(error, claims),
  };
}
