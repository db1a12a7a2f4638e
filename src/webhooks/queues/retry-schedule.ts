/**
 * When a delivery is tried again: the schedule of Standard Webhooks, ten attempts in a little more than three days. Each
 * delay varies by a tenth, so that what failed together is not repeated together.
 */
import type { Instant } from "../../std/clock.ts";
import type { OpenRow, Outcome } from "./delivery-queue.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const DELAYS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

const LONGEST_DELAY_MS = 27 * HOUR;

/** A receiver may ask for so long a wait, and no longer. */
export const LONGEST_RETRY_AFTER_MS = HOUR;

/**
 * @param attempts how many have failed
 * @param random from 0 to below 1
 * @returns undefined after the last attempt
 */
function nextAttemptAt(
  attempts: number,
  now: Instant,
  random: number,
  retryAfterMs: number | undefined,
): Instant | undefined {
  const delay = DELAYS[attempts - 1];
  if (delay === undefined) return undefined;
  const varied = Math.round(delay * (0.9 + random / 5));
  return (now + Math.max(varied, Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS))) as Instant;
}

/** A clock that was ahead may have left one that is due in years. */
export function withinSchedule(row: OpenRow, now: Instant): OpenRow {
  const { nextAttemptAt } = row;
  const latest = (now + LONGEST_DELAY_MS) as Instant;
  return nextAttemptAt !== undefined && nextAttemptAt > latest ? { ...row, nextAttemptAt: latest } : row;
}

/** The row of an event after an attempt that failed. */
export function failedRow(
  { number, objectId, attempts }: Pick<OpenRow, "number" | "objectId" | "attempts">,
  outcome: Exclude<Outcome, { kind: "accepted" }>,
  now: Instant,
  random: number,
): OpenRow {
  const retryAfterMs = outcome.kind === "failed" ? outcome.retryAfterMs : undefined;
  const next = nextAttemptAt(attempts + 1, now, random, retryAfterMs);
  return {
    number,
    objectId,
    status: next === undefined ? "UNDELIVERED" : "RETRYING",
    attempts: attempts + 1,
    nextAttemptAt: next,
    lastError: outcome.error,
  };
}
