/**
 * One canonical text per token. An ECDSA signature (r, s) is equally valid with n - s for s, and base64url may end in
 * ignored bits; so a token's holder could derive other valid texts that no cache or list knows. Only signatures with the
 * lower s ("low-s", BIP 146) and without stray bits are issued and accepted.
 */

/** The order of P-256 (SP 800-186, section 3.2.1.3). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const S_AT = 32;

/** The same token with the canonical form of its signature. */
export function withCanonicalSignature(token: string): string {
  const at = token.lastIndexOf(".") + 1;
  const signature = Buffer.from(token.slice(at), "base64url");
  const s = readS(signature);
  if (s <= ORDER / 2n) return token;
  signature.write((ORDER - s).toString(16).padStart(64, "0"), S_AT, "hex");
  return token.slice(0, at) + signature.toString("base64url");
}

/** Checks the form only; the signature is still to be verified. */
export function hasCanonicalSignature(token: string): boolean {
  const text = token.slice(token.lastIndexOf(".") + 1);
  const signature = Buffer.from(text, "base64url");
  return signature.length === 64 && signature.toString("base64url") === text && readS(signature) <= ORDER / 2n;
}

function readS(signature: Buffer): bigint {
  return BigInt(`0x${signature.toString("hex", S_AT)}`);
}
