import { expect, test } from "vitest";
import { hasCanonicalSignature, withCanonicalSignature } from "./canonical-signature.ts";

/** The order of P-256 (SP 800-186, section 3.2.1.3). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const HALF = ORDER / 2n;

/** A token whose signature has this s, and some r. */
function tokenWith(s: bigint): string {
  const signature = Buffer.from("7".repeat(64) + s.toString(16).padStart(64, "0"), "hex");
  return `e30.e30.${signature.toString("base64url")}`;
}

test.each([1n, 0xfn, 1n << 247n, 1n << 251n, HALF])(
  "a signature with the s %d or its negative is issued with that s",
  (s) => {
    for (const either of [s, ORDER - s]) expect(withCanonicalSignature(tokenWith(either))).toBe(tokenWith(s));
    expect([s, ORDER - s].map((either) => hasCanonicalSignature(tokenWith(either)))).toEqual([true, false]);
  },
);
