/**
 * The keys that sign access tokens. They live in the database, since every node must be able to sign and to verify.
 *
 * A key is *new* for its first seconds: published, but not signing yet, so that whoever verifies has it before the
 * first token comes. Then it *signs*, until the next one does: that of an operator's command, or the one that takes its
 * place when it has come of age. A *retired* key still verifies until its last token has expired, then it is *gone*;
 * its private half is erased as soon as nobody signs with it. A key that is *revoked* is gone at once: within seconds no
 * node accepts its tokens.
 *
 * ES256, because every library for tokens knows it, and it signs in a fraction of the time that RS256 takes. (EdDSA
 * would be as fast, but is missing in some.)
 */
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import type { Database } from "../../postgres/database.ts";
import { assert, must } from "../../std/assert.ts";
import { type ComparedClock, type Instant, requireRight } from "../../std/clock.ts";
import { isEncrypted, type KeyEncryption } from "./key-encryption.ts";
import {
  deleteKey,
  deleteKeysRetiredBefore,
  erasePrivateHalves,
  getCurrentKid,
  insertKey,
  listKeys,
  type NewKey,
  retireCurrentKey,
  type StoredKey,
} from "./store.ts";

/** An access token is valid for 59 minutes and 59 seconds (docs/contract/tokens.md#access-tokens). */
export const TOKEN_LIFE_SECONDS = 3_599;

export const ALGORITHM = "ES256";

/** Nodes read the keys every two seconds; this is ample for each of them to have read a new one. */
export const PUBLISHED_BEFORE_USE_MS = 10_000;

/** How long a retired key verifies: as long as its last token lives, and ten minutes for clocks that disagree. */
const KEPT_AFTER_RETIRING_MS = TOKEN_LIFE_SECONDS * 1_000 + 10 * 60_000;

/** Long after every node has begun to sign with the next one. */
const SIGNS_AFTER_RETIRING_MS = 60_000;

/** A token that names an unknown key makes us look for it, but strangers can write such tokens: once a second at most. */
const LOOKED_FOR_EVERY_MS = 1_000;

export interface SigningKey {
  readonly kid: string;
  readonly publicJwk: JWK;
  /** Undefined: it was retired, and its private half is erased. */
  readonly signs: CryptoKey | undefined;
  readonly verifies: CryptoKey;
  readonly createdAt: Instant;
  readonly retiredAt: Instant | undefined;
  readonly encrypted: boolean;
}

export interface SigningKeysOptions {
  readonly database: Database;
  readonly clock: ComparedClock;
  readonly encryption: KeyEncryption;
  /** A key that is older is replaced. */
  readonly replacedAfterMs: number;
}

export class SigningKeys {
  readonly #options: SigningKeysOptions;
  /** By kid, oldest first. */
  #keys: ReadonlyMap<string, SigningKey> = new Map();
  #reading: Promise<void> | undefined;
  #lookedForAt = Number.NEGATIVE_INFINITY;

  constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  /** Reads the keys as they are now: not before this was asked for, also when a reading is under way. */
  async read(): Promise<void> {
    await this.#reading?.catch(() => undefined);
    await this.#read();
  }

  /**
   * Does what time asks for: makes a key when none is current (at the first start, or after a revocation), replaces the
   * current one when it is of age, and erases private halves that have had their day. Nothing while the time is not known.
   */
  async renew(): Promise<void> {
    const { database, clock, replacedAfterMs } = this.#options;
    if (clock.fault !== undefined) return;
    const now = clock.now();
    const signedUntil = (now - SIGNS_AFTER_RETIRING_MS) as Instant;
    const keys = [...this.#keys.values()];
    const current = keys.find((key) => key.retiredAt === undefined);
    if (current === undefined || current.createdAt <= now - replacedAfterMs) await this.#replace(current?.kid);
    const isSpent = ({ signs, retiredAt }: SigningKey): boolean =>
      signs !== undefined && retiredAt !== undefined && retiredAt <= signedUntil;
    if (keys.some(isSpent)) await erasePrivateHalves(database, signedUntil);
  }

  /**
   * Replaces the current key. Answers the new one's kid; rotations that meet make one key together. Not while the time is
   * not known: the former key would be retired, and others dropped, by a time that may be wrong by years.
   */
  async rotate(): Promise<string> {
    requireRight(this.#options.clock);
    await this.read();
    return this.#replace([...this.#keys.values()].find((key) => key.retiredAt === undefined)?.kid);
  }

  /** Makes a new key current in the place of this one; nothing when another already is. Answers the current one's kid. */
  async #replace(former: string | undefined): Promise<string> {
    const { database, clock } = this.#options;
    const key = await this.#makeKey();
    const kid = await database.transaction(async (transaction) => {
      const now = clock.now();
      await deleteKeysRetiredBefore(transaction, (now - KEPT_AFTER_RETIRING_MS) as Instant);
      if (former !== undefined) await retireCurrentKey(transaction, former, now);
      await insertKey(transaction, ALGORITHM, key, now);
      return getCurrentKid(transaction);
    });
    await this.read();
    return kid;
  }

  /**
   * Ends a key and all its tokens, for when it has come into the wrong hands: whatever the time is. The current one is
   * replaced at once, or as soon as the time is known.
   */
  async revoke(kid: string): Promise<"revoked" | "key_not_found"> {
    if (!(await deleteKey(this.#options.database, kid))) return "key_not_found";
    await this.read();
    await this.renew();
    return "revoked";
  }

  /** All that verify, oldest first. */
  list(): SigningKey[] {
    return [...this.#keys.values()];
  }

  /** What to sign with: the newest key that has been published for long enough, or else the oldest that can sign. */
  signing(): { readonly kid: string; readonly signs: CryptoKey } {
    const publishedBy = this.#options.clock.now() - PUBLISHED_BEFORE_USE_MS;
    const keys = [...this.#keys.values()].filter((key) => key.signs !== undefined);
    const { kid, signs } = must(
      keys.findLast((key) => key.createdAt <= publishedBy) ?? keys[0],
      "there are keys before the first token is asked for",
    );
    return { kid, signs: must(signs, "a key that was chosen to sign can sign") };
  }

  has(kid: string): boolean {
    return this.#keys.has(kid);
  }

  /** The key with this kid. One that is not known yet is looked for in the database. */
  async find(kid: string): Promise<SigningKey | undefined> {
    const elapsed = performance.now() - this.#lookedForAt;
    if (!this.#keys.has(kid) && elapsed >= LOOKED_FOR_EVERY_MS) {
      this.#lookedForAt = performance.now();
      await this.#read();
    }
    return this.#keys.get(kid);
  }

  /** What others may know: the public halves of all keys that verify. */
  published(): JWK[] {
    return [...this.#keys.values()].map((key) => key.publicJwk);
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const { database, clock } = this.#options;
    // While the time is not known, no key goes: its tokens may be good.
    const goneBy = clock.fault === undefined ? clock.now() - KEPT_AFTER_RETIRING_MS : Number.NEGATIVE_INFINITY;
    const keys = new Map<string, SigningKey>();
    for (const stored of await listKeys(database, ALGORITHM)) {
      if (stored.retiredAt !== undefined && stored.retiredAt < goneBy) continue;
      keys.set(stored.kid, await this.#keyOf(stored));
    }
    this.#keys = keys;
  }

  async #makeKey(): Promise<NewKey> {
    const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, { extractable: true });
    const publicJwk = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(publicJwk);
    return { kid, privateJwk: await this.#options.encryption.encrypt(kid, await exportJWK(privateKey)), publicJwk };
  }

  /** Of a key that is known already only what can change is taken. */
  async #keyOf({ kid, privateJwk, publicJwk, createdAt, retiredAt }: StoredKey): Promise<SigningKey> {
    const known = this.#keys.get(kid);
    const encrypted = isEncrypted(privateJwk);
    if (known !== undefined && (encrypted || "d" in privateJwk)) return { ...known, retiredAt };
    const opened = await this.#options.encryption.decrypt(kid, privateJwk);
    return {
      kid,
      publicJwk: { ...publicJwk, kid, alg: ALGORITHM, use: "sig" },
      signs: opened && (await importKey(opened)),
      verifies: known?.verifies ?? (await importKey(publicJwk)),
      createdAt,
      retiredAt,
      encrypted,
    };
  }
}

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, ALGORITHM);
  assert(!(key instanceof Uint8Array), "a signing key is a pair");
  return key;
}
