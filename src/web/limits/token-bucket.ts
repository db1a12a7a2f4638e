/**
 * A token bucket as one number: the time at which it will be full again (the generic cell rate algorithm). It refills
 * evenly, holds the tokens of five minutes, and each request takes one. So a rate is an average over five minutes, with
 * bursts after quiet times.
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
  /** After how many milliseconds the next token can be taken; 0 when there is one. */
  readonly waitMs: number;
}

/** Takes one token, or returns how long to wait for it. A rejection costs no token. */
export function takeToken(fullAt: number, perSecond: number, now: number): Taking {
  const tokenMs = 1_000 / perSecond;
  const limit = Math.floor(FILLS_WITHIN_MS / tokenMs);
  const missingMs = Math.max(fullAt - now, 0);
  const taken = missingMs + tokenMs <= FILLS_WITHIN_MS + ROUNDING_MS;
  const leftMs = FILLS_WITHIN_MS + ROUNDING_MS - missingMs - (taken ? tokenMs : 0);
  return {
    taken,
    fullAt: now + missingMs + (taken ? tokenMs : 0),
    limit,
    remaining: Math.max(Math.floor(leftMs / tokenMs), 0),
    waitMs: Math.max(tokenMs - leftMs, 0),
  };
}
