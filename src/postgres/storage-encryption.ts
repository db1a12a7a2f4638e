/**
 * Encryption of single secrets that are stored: signing keys, and secrets of webhooks. Each is a JWE (RFC 7516) under
 * PARBOOK_KEY_ENCRYPTION_KEY: then read access to the database, a backup or a replica is not enough to use them.
 */
import { errors, FlattenedEncrypt, type FlattenedJWE, flattenedDecrypt } from "jose";

/** No configured encryption key decrypts a stored secret. */
export class CannotDecrypt extends Error {
  override readonly name = "CannotDecrypt";
}

/** What a secret is, so that one cannot be substituted for another: authenticated with its ciphertext. */
export interface SecretLabel {
  readonly id: string;
  /** The content type (RFC 7516, section 4.1.12). */
  readonly type: string;
  /** For the operator, such as "the signing key". */
  readonly name: string;
}

const HEADER = { alg: "dir", enc: "A256GCM" } as const;

export class StorageEncryption {
  readonly #keys: readonly Uint8Array[];

  /** @param keys 256 bits each. The first encrypts; the others only decrypt. Empty: secrets are stored in clear. */
  constructor(keys: readonly Uint8Array[]) {
    this.#keys = keys;
  }

  /** @returns undefined without an encryption key: the secret is stored in clear */
  async encrypt({ id, type }: SecretLabel, plain: string): Promise<FlattenedJWE | undefined> {
    const [key] = this.#keys;
    if (key === undefined) return undefined;
    const header = { ...HEADER, cty: type, kid: id };
    return new FlattenedEncrypt(new TextEncoder().encode(plain)).setProtectedHeader(header).encrypt(key);
  }

  /**
   * Encrypts it with the first key, if it is not yet.
   * @returns undefined: it stays as it is stored
   * @throws CannotDecrypt
   */
  async renew(label: SecretLabel, stored: FlattenedJWE | string): Promise<FlattenedJWE | undefined> {
    const [first] = this.#keys;
    if (first === undefined) return undefined;
    if (!isEncrypted(stored)) return this.encrypt(label, stored);
    const isCurrent = (await decryptWith(first, label, stored)) !== undefined;
    return isCurrent ? undefined : this.encrypt(label, await this.decrypt(label, stored));
  }

  /** @throws CannotDecrypt */
  async decrypt(label: SecretLabel, stored: FlattenedJWE): Promise<string> {
    for (const key of this.#keys) {
      const plain = await decryptWith(key, label, stored);
      if (plain !== undefined) return plain;
    }
    const why = this.#keys.length === 0 ? "is not set" : "is not the key that it was encrypted with";
    throw new CannotDecrypt(`${label.name} ${label.id} is encrypted, and PARBOOK_KEY_ENCRYPTION_KEY ${why}`);
  }
}

/** An encrypted secret has a ciphertext, whatever it has in clear. */
export function isEncrypted(stored: object | string): stored is FlattenedJWE {
  return typeof stored === "object" && "ciphertext" in stored;
}

async function decryptWith(key: Uint8Array, { id, type }: SecretLabel, jwe: FlattenedJWE): Promise<string | undefined> {
  try {
    const { plaintext, protectedHeader } = await flattenedDecrypt(jwe, key, {
      keyManagementAlgorithms: [HEADER.alg],
      contentEncryptionAlgorithms: [HEADER.enc],
    });
    const isOfLabel = protectedHeader?.kid === id && protectedHeader.cty === type;
    return isOfLabel ? new TextDecoder().decode(plaintext) : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
