/** What is limited, to how many requests a second, averaged over five minutes (docs/contract/requests.md#limits). */

export const RATE_CLASSES = ["token", "order_book", "recent_executions", "rest"] as const;

/** The token endpoint, two reads of market data, and everything else; each has buckets of its own. */
export type RateClass = (typeof RATE_CLASSES)[number];

export type RequestRates = Readonly<Record<RateClass, number>>;

export const DEFAULT_RATES: RequestRates = { token: 1, order_book: 10, recent_executions: 10, rest: 50 };
