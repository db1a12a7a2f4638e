import type { CustomerId } from "../../customers/customer-id.ts";

/** The claims of a valid access token: the caller and its permissions. */
export interface Grant {
  readonly customerId: CustomerId;
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  /** The token's `jti`: identifies the token in logs and records without revealing it. */
  readonly tokenId: string;
}

/** A valid token of a disabled client, or from an address that its client may not use. The response does not say which. */
export interface RestrictedToken {
  readonly restricted: Grant;
}
