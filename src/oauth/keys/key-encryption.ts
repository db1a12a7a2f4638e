/**
 * Private signing keys as stored: in clear, or, if the operator has set an encryption key, as an encrypted JWK (RFC 7517,
 * section 7: a JWE of the JWK). Then read access to the database, a backup or a replica is not enough to issue tokens.
 */
import { errors, FlattenedEncrypt, type FlattenedJWE, flattenedDecrypt, type JWK } from "jose";

/** A private key as stored. Of a retired key, only the public half is left. */
export type StoredPrivateKey = JWK | FlattenedJWE;

/** No configured encryption key decrypts a signing key. */
export class KeyUnreadable extends Error {
  override readonly name = "KeyUnreadable";
}

/** RFC 7518, section 6.2.2: `d` is the private half. */
export type PrivateJwk = JWK & { readonly d: string };

const HEADER = { alg: "dir", enc: "A256GCM", cty: "jwk+json" } as const;

export class KeyEncryption {
  readonly #keys: readonly Uint8Array[];

  /** @param keys 256 bits each. The first encrypts; the others only decrypt. Empty: keys are stored in clear. */
  constructor(keys: readonly Uint8Array[]) {
    this.#keys = keys;
  }

  /** Binds the kid to the ciphertext, so that one key cannot be substituted for another. */
  async encrypt(kid: string, jwk: JWK): Promise<StoredPrivateKey> {
    const [key] = this.#keys;
    if (key === undefined) return jwk;
    const plain = new TextEncoder().encode(JSON.stringify(jwk));
    return new FlattenedEncrypt(plain).setProtectedHeader({ ...HEADER, kid }).encrypt(key);
  }

  /**
   * @returns undefined if only the public half is left
   * @throws KeyUnreadable
   */
  async decrypt(kid: string, stored: StoredPrivateKey): Promise<PrivateJwk | undefined> {
    if (!isEncrypted(stored)) return isPrivate(stored) ? stored : undefined;
    for (const key of this.#keys) {
      const jwk = await decryptWith(key, kid, stored);
      if (jwk !== undefined) return jwk;
    }
    const why = this.#keys.length === 0 ? "is not set" : "is not the key that it was encrypted with";
    throw new KeyUnreadable(`the signing key ${kid} is encrypted, and PARBOOK_KEY_ENCRYPTION_KEY ${why}`);
  }
}

export function isEncrypted(stored: StoredPrivateKey): stored is FlattenedJWE {
  return "ciphertext" in stored;
}

async function decryptWith(key: Uint8Array, kid: string, jwe: FlattenedJWE): Promise<PrivateJwk | undefined> {
  try {
    const { plaintext, protectedHeader } = await flattenedDecrypt(jwe, key, {
      keyManagementAlgorithms: [HEADER.alg],
      contentEncryptionAlgorithms: [HEADER.enc],
    });
    const jwk = JSON.parse(new TextDecoder().decode(plaintext)) as JWK;
    return protectedHeader?.kid === kid && isPrivate(jwk) ? jwk : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

function isPrivate(jwk: JWK): jwk is PrivateJwk {
  return jwk.d !== undefined;
}
