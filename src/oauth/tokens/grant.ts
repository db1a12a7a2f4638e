import type { CustomerId } from "../../customers/customer-id.ts";

/** What a valid access token says: who calls, and what that caller may do. */
export interface Grant {
  readonly customerId: CustomerId;
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  /** The token's `jti`: names the token in logs and records without giving it away. */
  readonly tokenId: string;
}

/** A token that is good, in a place where it is not, or of a client that was disabled. Its sender is not told which. */
export interface RestrictedToken {
  readonly restricted: Grant;
}
