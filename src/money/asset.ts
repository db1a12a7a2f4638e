import type { Brand } from "../std/brand.ts";

/** The code of an asset, e.g. "USD". Case-sensitive. */
export type AssetCode = Brand<string, "AssetCode">;

/** `fiat` has 2 decimals; a `stablecoin` is issued here, at par with USD; `crypto` is held for customers only. */
export type AssetKind = "fiat" | "stablecoin" | "crypto";

/** An asset of the catalogue. */
export interface Asset {
  readonly code: AssetCode;
  readonly kind: AssetKind;
  /** The maximum number of decimals of input, by value. */
  readonly precision: number;
}

/** The asset of redemptions and of the reserve. */
export const USD = "USD" as AssetCode;
