/** What the lane tells the operator, as lines of the log. */
import type { Logger } from "pino";
import type { LaneEvent } from "../ledger/writer/lane-options.ts";
import { DatabaseReadOnly, serverError } from "../postgres/database.ts";
import type { CountsPerSecond } from "../web/limits/counts-per-second.ts";
import { LinesPerSecond } from "./lines-per-second.ts";

/** @returns a function that writes a line for an event. Of conflicts only some are written. */
export function createLaneLog(log: Logger, counts?: CountsPerSecond): (event: LaneEvent) => void {
  const conflicts = new LinesPerSecond(log, counts);
  return (event) => {
    const lines = isOfConflict(event) ? conflicts.next(event.kind) : log;
    if (lines !== undefined) writeLine(lines, event);
  };
}

/** A client that writes to one profile through two nodes can cause a conflict with each request, and a recovery after each. */
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
