/** What the lane tells the operator, as lines of the log. */
import type { Logger } from "pino";
import type { LaneEvent } from "../ledger/writer/lane-options.ts";
import { DatabaseReadOnly, serverError } from "../postgres/database.ts";
import { CountsPerSecond } from "../web/limits/counts-per-second.ts";

/** Of each kind: whoever writes to one profile at two nodes makes as many conflicts as its rate allows. */
const LINES_OF_CONFLICTS_PER_SECOND = 10;

/** @returns a function that writes a line, with `left_out`, how many were not written before it */
export function createLaneLog(log: Logger, conflicts = new CountsPerSecond()): (event: LaneEvent) => void {
  let leftOut = 0;
  return (event) => {
    if (!isOfConflict(event)) writeLine(log, event);
    else if (conflicts.add(event.kind) > LINES_OF_CONFLICTS_PER_SECOND) leftOut += 1;
    else {
      writeLine(leftOut > 0 ? log.child({ left_out: leftOut }) : log, event);
      leftOut = 0;
    }
  };
}

const isOfConflict = (event: LaneEvent): boolean =>
  event.kind === "recovered" || (event.kind === "batch_failed" && event.isContention);

function writeLine(log: Logger, event: LaneEvent): void {
  const { kind } = event;
  if (kind === "recovered") log.info({ ...event }, "lane recovered");
  else if (kind === "warned") log.warn({ ...event }, "database warning: checking the outcome of the last batches");
  else if (kind === "command_failed") log.error({ error: event.error }, "command failed: this is a bug");
  else if (kind === "clock_wrong") log.error({ kind }, `${event.fault}: commands are suspended`);
  else if (kind === "clock_right") log.info({ kind }, "clock is correct again");
  else if (kind === "database_away")
    log.warn({ kind, error: event.error }, isReadOnly(event.error) ? "database is read-only" : "database unreachable");
  else logFailedBatch(log, event);
}

const isReadOnly = (error: Error): boolean => error instanceof DatabaseReadOnly;

function logFailedBatch(
  log: Logger,
  { kind, slot, n, error, isContention }: Extract<LaneEvent, { kind: "batch_failed" }>,
): void {
  const constraint = serverError(error)?.constraint;
  if (constraint !== undefined && isContention) log.info({ kind, slot, n, constraint }, "batch conflicted; retrying");
  // Such as a lock that another process has held for seconds.
  else if (isContention) log.warn({ kind, slot, n, reason: error.message }, "batch conflicted; retrying");
  else log.warn({ kind, slot, n, error }, "batch failed");
}
