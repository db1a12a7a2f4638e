/**
 * A token bucket in one number: the time at which it will be full again (the generic cell rate algorithm). It fills up
 * evenly, holds what five minutes bring, and gives one token to each request. So a rate is an average over five
 * minutes, and whoever was quiet may be quick for a while.
 *
 * A bucket that is full need not be kept: a new one is the same. Times are milliseconds of a clock that never steps
 * back, and come as arguments.
 */

/** How long an empty bucket takes to fill up. */
export const FILLS_WITHIN_MS = 300_000;

/** A bucket that nobody has taken from. */
export const FULL = Number.NEGATIVE_INFINITY;

/** Times are sums of fractions: whoever waited as long as was said must not be refused for a rounding. */
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

/** Takes one token, or says how long to wait for it. A refusal costs nothing. */
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
