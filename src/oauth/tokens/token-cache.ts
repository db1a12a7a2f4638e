import { hash } from "node:crypto";
import type { Instant } from "../../std/clock.ts";
import { LruCache } from "../../std/lru-cache.ts";
import type { Grant } from "./grant.ts";

/** A token whose signature was verified. */
export interface VerifiedToken {
  readonly grant: Grant;
  readonly kid: string;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
}

/** The cache key: a hash, so that no valid tokens are kept in memory. */
export function fingerprint(token: string): string {
  return hash("sha256", token, "base64");
}

/**
 * A bounded cache of verified tokens. Only valid tokens are added, so forgeries cannot fill it. Callers check each time
 * whether a cached token still holds (expiry, key, client). A token is known in the history of the database in which its
 * client was found.
 */
export class TokenCache {
  readonly #tokens: LruCache<{ readonly token: VerifiedToken; readonly history: string }>;

  constructor(capacity: number) {
    this.#tokens = new LruCache(capacity);
  }

  get(key: string, history: string): VerifiedToken | undefined {
    const known = this.#tokens.get(key);
    return known?.history === history ? known.token : undefined;
  }

  add(key: string, token: VerifiedToken, history: string): void {
    this.#tokens.set(key, { token, history });
  }
}
