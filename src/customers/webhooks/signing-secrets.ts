/**
 * What webhooks sign with, by Standard Webhooks 1.0.0: `v1` is HMAC-SHA-256 under a secret that both sides know, `v1a`
 * Ed25519, whose public half anybody may have. Keys are written as that specification writes them: base64 after a prefix
 * that says what it is.
 */
import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { assert } from "../../std/assert.ts";

export type SigningSecret =
  | { readonly kind: "v1"; readonly secret: Buffer }
  | { readonly kind: "v1a"; readonly privateKey: KeyObject };

/** The specification wants 24 to 64. */
const V1_BYTES = 32;
const ED25519_BYTES = 32;

/** A new secret for `v1`, `whsec_...`. The receiver needs it to verify. */
export function generateV1(): string {
  return `whsec_${randomBytes(V1_BYTES).toString("base64")}`;
}

/** A new pair of keys for `v1a`. The receiver needs only `publicKey`, `whpk_...`, which is no secret. */
export function generateV1a(): { readonly secret: string; readonly publicKey: string } {
  const { d = "", x = "" } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  const [seed, point] = [Buffer.from(d, "base64url"), Buffer.from(x, "base64url")];
  // The seed and then its public half, as libsodium has it: whatever reads the one can check the other.
  return {
    secret: `whsk_${Buffer.concat([seed, point]).toString("base64")}`,
    publicKey: `whpk_${point.toString("base64")}`,
  };
}

/** Reads a secret that was made here. */
export function readSigningSecret(kind: SigningSecret["kind"], text: string): SigningSecret {
  const [, prefix, base64 = ""] = /^(whsec_|whsk_)([A-Za-z0-9+/]+=*)$/.exec(text) ?? [];
  const bytes = Buffer.from(base64, "base64");
  if (kind === "v1") {
    assert(prefix === "whsec_" && bytes.length === V1_BYTES, "a stored secret for v1 is what generateV1 makes");
    return { kind, secret: bytes };
  }
  assert(prefix === "whsk_" && bytes.length === 2 * ED25519_BYTES, "a stored key for v1a is what generateV1a makes");
  const [d, x] = [bytes.subarray(0, ED25519_BYTES), bytes.subarray(ED25519_BYTES)];
  const jwk = { kty: "OKP", crv: "Ed25519", d: d.toString("base64url"), x: x.toString("base64url") };
  return { kind, privateKey: createPrivateKey({ key: jwk, format: "jwk" }) };
}

export interface SignedMessage {
  /** Of the header `webhook-id`. It has no dot, so that no other message has the same signed text. */
  readonly id: string;
  /** Of the header `webhook-timestamp`: seconds since 1970. */
  readonly timestampSeconds: number;
  /** Exactly what is sent. */
  readonly body: string;
}

/**
 * The header `webhook-signature`: a signature of each secret, separated by spaces. A receiver accepts a message if one of
 * them is valid, so a secret is replaced without a gap while both sign.
 */
export function signatures(secrets: readonly SigningSecret[], message: SignedMessage): string {
  const { id, timestampSeconds, body } = message;
  assert(secrets.length > 0, "a webhook has a secret to sign with");
  assert(!id.includes("."), "the id of a message has no dot");
  const text = `${id}.${timestampSeconds}.${body}`;
  return secrets.map((secret) => `${secret.kind},${signature(secret, text).toString("base64")}`).join(" ");
}

function signature(secret: SigningSecret, text: string): Buffer {
  return secret.kind === "v1"
    ? createHmac("sha256", secret.secret).update(text).digest()
    : sign(null, Buffer.from(text), secret.privateKey);
}
