/** An ES256 signature is r and s, 32 bytes each, and is as valid with n - s in the place of s. */

/** The order of P-256 (FIPS 186-5, SP 800-186 section 3.2.1.3). */
const N = 115792089210356248762697446949407573529996955224135760342422259061068512044369n;

export function otherForm(signature: Buffer): Buffer {
  const s = BigInt(`0x${signature.subarray(32).toString("hex")}`);
  const other = (N - s).toString(16).padStart(64, "0");
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(other, "hex")]);
}

/** The form whose s is the lower one. */
export function lowForm(signature: Buffer): Buffer {
  const other = otherForm(signature);
  return signature.subarray(32).compare(other.subarray(32)) < 0 ? signature : other;
}
