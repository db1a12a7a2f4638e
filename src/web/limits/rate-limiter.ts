/**
 * Rate limits of API clients, and of addresses: of unauthenticated callers, and of all callers of what is public. Each process
 * counts its own responses. Clients are identified by their token, so unauthenticated callers cannot use up the buckets of clients.
 */
import { ADDRESSES_OF_WIDE, isLoopback, networksOf } from "./address.ts";
import { Buckets } from "./buckets.ts";
import { RATE_CLASSES, type RateClass, type RequestRates } from "./rates.ts";
import type { Taking } from "./token-bucket.ts";

/** Some 10 MB when all are taken. */
const MOST_BUCKETS = 100_000;

export interface Verdict {
  readonly admitted: boolean;
  /**
   * RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset as draft-ietf-httpapi-ratelimit-headers-06 has them, the
   * last revision with the three names that clients know, and `Retry-After` (RFC 9110, section 10.2.3) when rejected.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Whole seconds after which to try again; 0 when admitted. */
  readonly retryAfter: number;
}

/** Of one address. Monitoring asks once in a few seconds. */
const HEALTH_PER_SECOND = 10;

/** What was limited, and by what it was counted. */
export interface Limited {
  readonly rate: RateClass | "health";
  readonly caller: "client" | "address";
}

export class RateLimiter {
  readonly #clients: Readonly<Record<RateClass, Buckets>>;
  readonly #addresses: Readonly<Record<RateClass, Buckets>>;
  /** Of IPv6 networks of 48 bits. */
  readonly #wide: Readonly<Record<RateClass, Buckets>>;
  readonly #health: Buckets;
  readonly #wideHealth: Buckets;
  readonly #isShared: (address: string) => boolean;
  readonly #now: () => number;
  readonly #onLimited: (limited: Limited) => void;

  /**
   * @param options `now`: monotonic, in milliseconds; `onLimited`: called for each rejected request; `isShared`: addresses
   * without a limit on health checks
   */
  constructor(
    rates: RequestRates,
    {
      now = () => performance.now(),
      mostBuckets = MOST_BUCKETS,
      onLimited = (_limited: Limited): void => undefined,
      isShared = isLoopback,
    } = {},
  ) {
    this.#clients = bucketsOf(rates, mostBuckets);
    this.#addresses = bucketsOf(rates, mostBuckets);
    this.#wide = bucketsOf(rates, mostBuckets, ADDRESSES_OF_WIDE);
    this.#health = new Buckets(HEALTH_PER_SECOND, mostBuckets);
    this.#wideHealth = new Buckets(HEALTH_PER_SECOND * ADDRESSES_OF_WIDE, mostBuckets);
    this.#isShared = isShared;
    this.#now = now;
    this.#onLimited = onLimited;
  }

  /** @param cost how many requests it counts as */
  ofClient(rateClass: RateClass, clientId: string, cost = 1): Verdict {
    return this.#take(this.#clients[rateClass], clientId, { rate: rateClass, caller: "client" }, cost);
  }

  /** @param cost how many requests it counts as */
  ofAddress(rateClass: RateClass, address: string, cost = 1): Verdict {
    const limited: Limited = { rate: rateClass, caller: "address" };
    return this.#takeOfNetworks(this.#addresses[rateClass], this.#wide[rateClass], address, limited, { cost });
  }

  /** What an admitted request counts as besides, once that is known. */
  alsoOfAddress(rateClass: RateClass, address: string, cost: number): void {
    const [first, second] = networksOf(address);
    const now = this.#now();
    this.#addresses[rateClass].spend(second ?? first, now, cost);
    if (second !== undefined) this.#wide[rateClass].spend(first, now, cost);
  }

  /** A client that is known by its secret, with a bucket per address. */
  ofClientAt(rateClass: RateClass, clientId: string, address: string): Verdict {
    const limited: Limited = { rate: rateClass, caller: "client" };
    return this.#takeOfNetworks(this.#clients[rateClass], this.#wide[rateClass], address, limited, { clientId });
  }

  /** Health checks. @returns undefined for addresses without a limit */
  ofHealth(address: string): Verdict | undefined {
    if (this.#isShared(address)) return undefined;
    return this.#takeOfNetworks(this.#health, this.#wideHealth, address, { rate: "health", caller: "address" });
  }

  /** @param wide of IPv6 networks of 48 bits */
  #takeOfNetworks(
    narrow: Buckets,
    wide: Buckets,
    address: string,
    limited: Limited,
    { clientId, cost = 1 }: { readonly clientId?: string; readonly cost?: number } = {},
  ): Verdict {
    const [first, second] = networksOf(address);
    const keyOf = (network: string): string => (clientId === undefined ? network : `${network} ${clientId}`);
    const verdict = this.#take(narrow, keyOf(second ?? first), limited, cost);
    // What an address is refused takes nothing from its neighbours.
    if (second === undefined || !verdict.admitted) return verdict;
    const ofWide = this.#take(wide, keyOf(first), limited, cost);
    return ofWide.admitted ? verdict : ofWide;
  }

  #take(buckets: Buckets, key: string, limited: Limited, cost = 1): Verdict {
    const now = this.#now();
    const verdict = verdictOn(buckets.take(key, now, cost), now);
    if (!verdict.admitted) this.#onLimited(limited);
    return verdict;
  }
}

function verdictOn({ taken, limit, remaining, fullAt, waitMs }: Taking, now: number): Verdict {
  const headers = {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(Math.ceil((fullAt - now) / 1_000)),
  };
  if (taken) return { admitted: true, headers, retryAfter: 0 };
  const retryAfter = Math.max(Math.ceil(waitMs / 1_000), 1);
  return { admitted: false, headers: { ...headers, "retry-after": String(retryAfter) }, retryAfter };
}

function bucketsOf(rates: RequestRates, capacity: number, times = 1): Record<RateClass, Buckets> {
  const entries = RATE_CLASSES.map((rateClass) => [rateClass, new Buckets(rates[rateClass] * times, capacity)]);
  return Object.fromEntries(entries) as Record<RateClass, Buckets>;
}
