/**
 * Execution ids have 63 bits: 41 for the milliseconds since 2020, 8 for the market's number and 14 for a counter. Ids are
 * ordered by time across all markets, and always increase within a market. A match has two: the maker's is even, the
 * taker's is the next odd one.
 */
import { assert } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { ExecutionId } from "./execution.ts";

const EPOCH = Date.UTC(2020, 0, 1);
const TIME_SHIFT = 22n;
const MARKET_SHIFT = 14n;
const COUNTER_MASK = (1n << MARKET_SHIFT) - 1n;
const MAX_MILLIS = 2 ** 41;
/**
 * Later times count as this one, in August 2088, and the counter continues from there: the year above it has room for
 * 2.8 * 10^14 matches. No time, right or wrong, can therefore stop a market.
 */
const LATEST_MILLIS = MAX_MILLIS - 2 ** 35;

/** The last execution id of a market without matches. */
export const NO_EXECUTION = 0n as ExecutionId;
/** The maximum of the column. */
export const HIGHEST_EXECUTION = (2n ** 63n - 1n) as ExecutionId;
const FIRST_MARKET = 1;

/**
 * The maker's id of the next match. If the clock stands still or stepped back, ids continue from `last`; when a
 * millisecond is full, the next one begins early. Ids and the times in them are thus in match order, whatever the clock
 * says.
 * @param last the taker's id of the previous match
 */
export function nextMatchId(last: ExecutionId, market: number, now: Instant): ExecutionId {
  const millis = Math.min(Math.max(now - EPOCH, 1), LATEST_MILLIS);
  const fresh = firstIdAt((EPOCH + millis) as Instant, market);
  if (fresh > last) return fresh;
  const next = (last + 1n) as ExecutionId;
  if ((next & COUNTER_MASK) !== 0n) return next;
  return firstIdAt((executedAtOf(last) + 1) as Instant, market);
}

export function takerId(maker: ExecutionId): ExecutionId {
  assert((maker & 1n) === 0n, "the maker's id of a match is even");
  return (maker | 1n) as ExecutionId;
}

export function executedAtOf(id: ExecutionId): Instant {
  return (Number(id >> TIME_SHIFT) + EPOCH) as Instant;
}

/** The distance between ids that are `millis` ms apart. */
export function idSpan(millis: number): bigint {
  return BigInt(millis) << TIME_SHIFT;
}

/**
 * The id of a match's journal, which encodes the maker's id, so that each can be derived from the other. It is a version
 * 8 UUID (RFC 9562, section 5.8: vendor-specific) that begins with the first 15 hex digits of the maker's id and ends
 * with its last.
 */
export function matchJournalId(maker: ExecutionId): Uuid {
  const digits = maker.toString(16).padStart(16, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(12, 15)}-8000-00000000000${digits.slice(15)}` as Uuid;
}

/** The inverse of `matchJournalId`. */
export function makerIdOf(journalId: Uuid): ExecutionId {
  const digits = journalId.slice(0, 8) + journalId.slice(9, 13) + journalId.slice(15, 18) + journalId.slice(35);
  return BigInt(`0x${digits}`) as ExecutionId;
}

/** The lowest id of a market at this time. */
function firstIdAt(instant: Instant, market: number): ExecutionId {
  const millis = instant - EPOCH;
  assert(millis > 0 && millis < MAX_MILLIS, "an id encodes a time between 2020 and 2089");
  assert(Number.isInteger(market) && market > 0 && market < 256, "a market's number has 8 bits");
  return ((BigInt(millis) << TIME_SHIFT) | (BigInt(market) << MARKET_SHIFT)) as ExecutionId;
}

/** The lowest possible id, of any market, at this time or later. */
export function lowestId(instant: Instant): ExecutionId {
  if (instant <= executedAtOf(NO_EXECUTION)) return NO_EXECUTION;
  return instant > executedAtOf(HIGHEST_EXECUTION) ? HIGHEST_EXECUTION : firstIdAt(instant, FIRST_MARKET);
}
