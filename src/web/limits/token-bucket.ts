/**
 * A token bucket as one number: the time at which it will be full again (the generic cell rate algorithm). It refills
 * evenly, holds the tokens of five minutes, and each request takes one, a costly one more. So a rate is an average over
 * five minutes, with bursts after quiet times.
 *
 * A full bucket need not be stored: a new one is the same. Times are arguments, in milliseconds of a monotonic clock.
 */

/** How long an empty bucket takes to fill up. */
export const FILLS_WITHIN_MS = 300_000;

/** A full bucket. */
export const FULL = Number.NEGATIVE_INFINITY;

/** Times are sums of fractions: a rounding error must not reject a caller that waited for `waitMs`. */
const ROUNDING_MS = 0.001;

export interface Taking {
  readonly taken: boolean;
  /** The bucket after it. */
  readonly fullAt: number;
  /** How many tokens the bucket holds at most, and holds now. */
  readonly limit: number;
  readonly remaining: number;
  /** After how many milliseconds as many can be taken, or the next one if they were; 0 when there are. */
  readonly waitMs: number;
}

/**
 * Takes tokens, or returns how long to wait for them. A rejection costs none.
 * @param tokens from 1; more than the bucket holds counts as all that it holds
 */
export function takeTokens(fullAt: number, perSecond: number, now: number, tokens = 1): Taking {
  const tokenMs = 1_000 / perSecond;
  const limit = Math.floor(FILLS_WITHIN_MS / tokenMs);
  const askedMs = Math.max(Math.min(tokens, limit), 1) * tokenMs;
  const missingMs = Math.max(fullAt - now, 0);
  const taken = missingMs + askedMs <= FILLS_WITHIN_MS + ROUNDING_MS;
  const leftMs = FILLS_WITHIN_MS + ROUNDING_MS - missingMs - (taken ? askedMs : 0);
  return {
    taken,
    fullAt: now + missingMs + (taken ? askedMs : 0),
    limit,
    remaining: Math.max(Math.floor(leftMs / tokenMs), 0),
    waitMs: Math.max((taken ? tokenMs : askedMs) - leftMs, 0),
  };
}

/**
 * Takes tokens for what has been done already: all that there are, if there are fewer.
 * @returns the bucket after it
 */
export function spendTokens(fullAt: number, perSecond: number, now: number, tokens: number): number {
  return Math.min(Math.max(fullAt, now) + (tokens * 1_000) / perSecond, now + FILLS_WITHIN_MS);
}
