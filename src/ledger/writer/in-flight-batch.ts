/** A batch that was sent and whose outcome is not known yet. */
import type { Database } from "../../postgres/database.ts";
import type { Claim } from "../decision.ts";
import { type Key, keyName, readKeys } from "../tables.ts";
import { guardsOf } from "./batch.ts";
import { isConflict, isContention } from "./batch-conflicts.ts";
import type { DecidedBatch } from "./decider.ts";
import type { CommittedBatch, LaneEvent } from "./lane-options.ts";
import type { PendingCommand } from "./pending-command.ts";
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

/** Whether it is known not to have committed, and the session to go on. */
export const isRefused = ({ decided }: InFlightBatch, error: Error): boolean => isConflict(error, claimsOf(decided));

const claimsOf = (decided: InFlightBatch["decided"]): Claim[] => decided.flatMap(({ pending }) => pending.claims);

/** The key names of rows whose version is not the one that was decided on: another process changed them. */
export async function movedRows(database: Database, { content }: InFlightBatch, slot: number): Promise<string[]> {
  const guards = guardsOf(content);
  const keys = content.states.flatMap(({ table, opened, changed, checked, seen }) =>
    [...opened, ...changed, ...checked, ...seen].map((row): Key => ({ table, key: table.keyOf(row) })),
  );
  const now = await readKeys(database, keys, slot, "none");
  return now.filter((key) => guards.get(keyName(key)) !== key.row.version).map(keyName);
}
