/**
 * Execution ids: 63 bits, of which 41 are the milliseconds since 2020, 8 the market's number and 14 a counter. So the
 * order of ids is the order of times, over all markets, and within a market ids only ever rise. A match takes two: the
 * maker's is even, the taker's the odd one behind it.
 */
import { assert } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { ExecutionId } from "./execution.ts";

const EPOCH = Date.UTC(2020, 0, 1);
const TIME_SHIFT = 22n;
const MARKET_SHIFT = 14n;
const COUNTER_MASK = (1n << MARKET_SHIFT) - 1n;
const MOST_MILLIS = 2 ** 41;
/**
 * A time that is later counts as this one, in August 2088, and ids go on from there by the counter: in the year above it
 * there is room for 2.8 * 10^14 matches. So no time stops a market, be it wrong or after all these years right.
 */
const LATEST_MILLIS = MOST_MILLIS - 2 ** 35;

/** What a market has whose engine has matched nothing yet. */
export const NO_EXECUTION = 0n as ExecutionId;

/**
 * The maker's id of the next match. `last` is the taker's of the match before it: when the clock has stepped back, or
 * stands still, the time of that one goes on; when a millisecond has no more ids, the next one begins early. So the order
 * of ids is that of matches, and of the times that ids tell, whatever the clock says.
 */
export function nextMatchId(last: ExecutionId, market: number, now: Instant): ExecutionId {
  const millis = Math.min(Math.max(now - EPOCH, 1), LATEST_MILLIS);
  const fresh = firstIdAt((EPOCH + millis) as Instant, market);
  if (fresh > last) return fresh;
  const next = (last + 1n) as ExecutionId;
  if ((next & COUNTER_MASK) !== 0n) return next;
  return firstIdAt((executedAtOf(last) + 1) as Instant, market);
}

/** The taker's id of the match whose maker's id this is. */
export function takerId(maker: ExecutionId): ExecutionId {
  assert((maker & 1n) === 0n, "the maker's id of a match is even");
  return (maker | 1n) as ExecutionId;
}

/** The time that an id was made from. */
export function executedAtOf(id: ExecutionId): Instant {
  return (Number(id >> TIME_SHIFT) + EPOCH) as Instant;
}

/** A stretch of time as the distance between ids that lie so far apart. */
export function idSpan(millis: number): bigint {
  return BigInt(millis) << TIME_SHIFT;
}

/**
 * The id of a match's journal, which the maker's id is written into: whoever has one finds the other, without a column.
 * It is a UUID of version 8 (RFC 9562, section 5.8: free for one's own use), and begins with the id's first 15
 * hexadecimal digits and ends with its last.
 */
export function matchJournalId(maker: ExecutionId): Uuid {
  const digits = maker.toString(16).padStart(16, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(12, 15)}-8000-00000000000${digits.slice(15)}` as Uuid;
}

/** The way back: the maker's id of the match that a journal is of. */
export function makerIdOf(journalId: Uuid): ExecutionId {
  const digits = journalId.slice(0, 8) + journalId.slice(9, 13) + journalId.slice(15, 18) + journalId.slice(35);
  return BigInt(`0x${digits}`) as ExecutionId;
}

/** The lowest id of a market that tells this time. */
export function firstIdAt(instant: Instant, market: number): ExecutionId {
  const millis = instant - EPOCH;
  assert(millis > 0 && millis < MOST_MILLIS, "an id tells a time between 2020 and 2089");
  assert(Number.isInteger(market) && market > 0 && market < 256, "a market's number has 8 bits");
  return ((BigInt(millis) << TIME_SHIFT) | (BigInt(market) << MARKET_SHIFT)) as ExecutionId;
}
