import { hash } from "node:crypto";
import type { Instant } from "../../std/clock.ts";
import { Recent } from "../../std/recent.ts";
import type { Grant } from "./grant.ts";

/** What is known of a token whose signature was found good. */
export interface VerifiedToken {
  readonly grant: Grant;
  readonly kid: string;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
}

/** A fingerprint instead of the token, so that no live tokens lie about in memory and a key is short. */
export function fingerprint(token: string): string {
  return hash("sha256", token, "base64");
}

/**
 * Tokens that were verified before, up to a bound; past it one that was not seen lately goes, and is verified again when it
 * is next seen. Only good tokens come in, so strangers cannot fill it. Whether what is found still holds (expiry, key,
 * disabled client) is judged by whoever asks, each time.
 */
export class TokenCache {
  readonly #tokens: Recent<VerifiedToken>;

  constructor(capacity: number) {
    this.#tokens = new Recent(capacity);
  }

  get(key: string): VerifiedToken | undefined {
    return this.#tokens.get(key);
  }

  add(key: string, token: VerifiedToken): void {
    this.#tokens.set(key, token);
  }
}
