import type { Brand } from "../std/brand.ts";

/** The code of an asset, e.g. "USD". Case-sensitive. */
export type AssetCode = Brand<string, "AssetCode">;

/** `fiat` has 2 decimals; a `stablecoin` is issued here, at par with USD; `crypto` only passes through. */
export type AssetKind = "fiat" | "stablecoin" | "crypto";

/** An asset of the catalogue. */
export interface Asset {
  readonly code: AssetCode;
  readonly kind: AssetKind;
  /** Decimals that input may have, judged by value. */
  readonly precision: number;
}

/** What stablecoins are redeemed for, and what the reserve is kept in. */
export const USD = "USD" as AssetCode;
