/**
 * Private signing keys as stored: in clear, or, if the operator has set an encryption key, as an encrypted JWK (RFC 7517,
 * section 7: a JWE of the JWK). Then read access to the database, a backup or a replica is not enough to issue tokens.
 */
import type { FlattenedJWE, JWK } from "jose";
import { isEncrypted, type SecretLabel, StorageEncryption } from "../../postgres/storage-encryption.ts";

/** A private key as stored. Of a retired key, only the public half is left. */
export type StoredPrivateKey = JWK | FlattenedJWE;

/** RFC 7518, section 6.2.2: `d` is the private half. */
export type PrivateJwk = JWK & { readonly d: string };

export class KeyEncryption {
  readonly #encryption: StorageEncryption;

  /** @param keys 256 bits each. The first encrypts; the others only decrypt. Empty: keys are stored in clear. */
  constructor(keys: readonly Uint8Array[]) {
    this.#encryption = new StorageEncryption(keys);
  }

  /** Binds the kid to the ciphertext, so that one key cannot be substituted for another. */
  async encrypt(kid: string, jwk: JWK): Promise<StoredPrivateKey> {
    return (await this.#encryption.encrypt(labelOf(kid), JSON.stringify(jwk))) ?? jwk;
  }

  /**
   * @returns undefined if only the public half is left
   * @throws CannotDecrypt
   */
  async decrypt(kid: string, stored: StoredPrivateKey): Promise<PrivateJwk | undefined> {
    const jwk = isEncrypted(stored)
      ? (JSON.parse(await this.#encryption.decrypt(labelOf(kid), stored)) as JWK)
      : stored;
    return isPrivate(jwk) ? jwk : undefined;
  }
}

const labelOf = (kid: string): SecretLabel => ({ id: kid, type: "jwk+json", name: "the signing key" });

function isPrivate(jwk: JWK): jwk is PrivateJwk {
  return jwk.d !== undefined;
}
