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
 * whether a cached token still holds (expiry, key, client).
 */
export class TokenCache {
  readonly #tokens: LruCache<VerifiedToken>;

  constructor(capacity: number) {
    this.#tokens = new LruCache(capacity);
  }

  get(key: string): VerifiedToken | undefined {
    return this.#tokens.get(key);
  }

  add(key: string, token: VerifiedToken): void {
    this.#tokens.set(key, token);
  }
}
