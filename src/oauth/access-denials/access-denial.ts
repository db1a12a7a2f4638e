import type { Instant } from "../../std/clock.ts";

/** A request that failed authentication or authorization. */
export interface AccessDenial {
  readonly kind: "no_token" | "invalid_token" | "insufficient_scope" | "invalid_client";
  /** For `invalid_client`: as presented; stored only if such a client exists. */
  readonly clientId?: string | undefined;
  readonly tokenId?: string | undefined;
  /** Undefined: several addresses. */
  readonly address?: string | undefined;
  /** Method and path pattern. */
  readonly operation?: string | undefined;
}

export interface CountedDenial extends AccessDenial {
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  readonly count: number;
}
