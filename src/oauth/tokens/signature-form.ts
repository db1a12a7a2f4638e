/**
 * One token, one text. An ECDSA signature (r, s) is as valid with n - s in the place of s, and base64url may end in bits
 * that mean nothing; so whoever has a token could write another one that is as good and that no cache or list knows. Ours
 * have the lower s, which is what "low-s" means elsewhere (BIP 146), and nothing else is accepted.
 */

/** The order of P-256 (SP 800-186, section 3.2.1.3). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const S_AT = 32;

/** A token with the lower form of its signature. */
export function inOneForm(token: string): string {
  const at = token.lastIndexOf(".") + 1;
  const signature = Buffer.from(token.slice(at), "base64url");
  const s = readS(signature);
  if (s <= ORDER / 2n) return token;
  signature.write((ORDER - s).toString(16).padStart(64, "0"), S_AT, "hex");
  return token.slice(0, at) + signature.toString("base64url");
}

/** Whether a token could be ours: whether its signature is good is still to be checked. */
export function isInOneForm(token: string): boolean {
  const text = token.slice(token.lastIndexOf(".") + 1);
  const signature = Buffer.from(text, "base64url");
  return signature.length === 64 && signature.toString("base64url") === text && readS(signature) <= ORDER / 2n;
}

function readS(signature: Buffer): bigint {
  return BigInt(`0x${signature.toString("hex", S_AT)}`);
}
