import type { Instant } from "../../std/clock.ts";

/** A request that was refused for want of authority. */
export interface AccessDenial {
  readonly kind: "no_token" | "invalid_token" | "insufficient_scope" | "invalid_client";
  /** Of `invalid_client`: as it was presented, which is kept only when there is such a client. */
  readonly clientId?: string | undefined;
  readonly tokenId?: string | undefined;
  /** Undefined: of many. */
  readonly address?: string | undefined;
  /** The method and the path's pattern. */
  readonly operation?: string | undefined;
}

export interface CountedDenial extends AccessDenial {
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  readonly count: number;
}
