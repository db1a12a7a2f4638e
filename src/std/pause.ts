/** Only for retries. Wait for conditions instead where possible. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

/** The maximum of a Node timer: a longer one ends at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const LONGEST_REST_MS = 500;

/** How long work rests that took so long and would go on at once, so that thread and database have time for others. */
export const restMs = (tookMs: number, times: number): number => Math.min(times * tookMs, LONGEST_REST_MS);
