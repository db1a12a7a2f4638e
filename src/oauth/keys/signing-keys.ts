/**
 * The keys that sign access tokens. They are in the database, because every node must be able to sign and verify.
 *
 * States of a key:
 *   new      for its first seconds: published but not signing, so that every verifier has it before its first token.
 *   signing  until the next key signs, after a rotation by the operator or by age.
 *   retired  still verifies until its last token has expired. Its private half is erased after a minute.
 *   gone     removed. A revoked key is gone at once: within seconds no node accepts its tokens.
 *
 * ES256, because every JWT library supports it and it signs much faster than RS256. (EdDSA is as fast, but less widely
 * supported.)
 */
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import type { Caller } from "../../ledger/caller.ts";
import { recordConfigurationWrite } from "../../ledger/configuration-writes.ts";
import type { Database, Queryable } from "../../postgres/database.ts";
import { isEncrypted } from "../../postgres/storage-encryption.ts";
import { assert, must } from "../../std/assert.ts";
import { type ComparedClock, formatInstant, type Instant, requireCorrectTime } from "../../std/clock.ts";
import type { KeyEncryption } from "./key-encryption.ts";
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

/** Nodes read the keys every two seconds, so every node has read a new key by then. */
export const PUBLISHED_BEFORE_USE_MS = 10_000;

/** How long a retired key verifies: the life of its last token, and ten minutes of clock skew. */
const VERIFIES_AFTER_RETIRING_MS = TOKEN_LIFE_SECONDS * 1_000 + 10 * 60_000;

/** By then every node signs with the next key. */
const SIGNS_AFTER_RETIRING_MS = 60_000;

/** A token with an unknown kid triggers a lookup. Anybody can forge such tokens: at most one lookup a second. */
const LOOKUP_INTERVAL_MS = 1_000;

/** Who replaces keys that are old or missing. */
const RENEWAL: Caller = { house: "auth" };

export interface SigningKey {
  readonly kid: string;
  readonly publicJwk: JWK;
  /** Undefined: the private half is erased. */
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
  /** The age at which a key is replaced. */
  readonly replacedAfterMs: number;
}

export class SigningKeys {
  readonly #options: SigningKeysOptions;
  /** By kid, oldest first. */
  #keys: ReadonlyMap<string, SigningKey> = new Map();
  #reading: Promise<void> | undefined;
  #lastLookupAt = Number.NEGATIVE_INFINITY;

  constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  /** Reads the current keys. If a read is already in progress, starts another after it. */
  async read(): Promise<void> {
    await this.#reading?.catch(() => undefined);
    await this.#read();
  }

  /**
   * Creates a key if none is current (first start, or after a revocation), replaces the current one at its age, and erases
   * private halves that no node signs with any more. Does nothing while the clock has a fault.
   */
  async renew(): Promise<void> {
    const { database, clock, replacedAfterMs } = this.#options;
    if (clock.fault !== undefined) return;
    const now = clock.now();
    const signedUntil = (now - SIGNS_AFTER_RETIRING_MS) as Instant;
    const keys = [...this.#keys.values()];
    const current = keys.find((key) => key.retiredAt === undefined);
    if (current === undefined || current.createdAt <= now - replacedAfterMs) await this.#replace(current?.kid, RENEWAL);
    const isSpent = ({ signs, retiredAt }: SigningKey): boolean =>
      signs !== undefined && retiredAt !== undefined && retiredAt <= signedUntil;
    if (keys.some(isSpent)) await erasePrivateHalves(database, signedUntil);
  }

  /**
   * Replaces the current key. Concurrent rotations create one key together.
   * @returns the new key's kid
   * @throws ClockFault: a wrong time would retire and delete keys too early or too late
   */
  async rotate(caller: Caller): Promise<string> {
    requireCorrectTime(this.#options.clock);
    await this.read();
    return this.#replace([...this.#keys.values()].find((key) => key.retiredAt === undefined)?.kid, caller);
  }

  /** Replaces `former` with a new key, unless another has. Returns the current kid. */
  async #replace(former: string | undefined, caller: Caller): Promise<string> {
    const { database, clock } = this.#options;
    const key = await this.#makeKey();
    const kid = await database.transaction(async (transaction) => {
      const now = clock.now();
      await deleteKeysRetiredBefore(transaction, (now - VERIFIES_AFTER_RETIRING_MS) as Instant);
      if (former !== undefined) await retireCurrentKey(transaction, former, now);
      if (await insertKey(transaction, ALGORITHM, key, now))
        await recordKeyWrite(transaction, caller, key.kid, { created_at: formatInstant(now) });
      return getCurrentKid(transaction);
    });
    await this.read();
    return kid;
  }

  /**
   * Revokes a compromised key and all its tokens, even while the clock has a fault. A current key is replaced at once, or
   * as soon as the fault is over.
   */
  async revoke(kid: string, caller: Caller): Promise<"revoked" | "key_not_found"> {
    const { database, clock } = this.#options;
    const isRevoked = await database.transaction(async (transaction) => {
      if (!(await deleteKey(transaction, kid))) return false;
      await recordKeyWrite(transaction, caller, kid, { revoked_at: formatInstant(clock.now()) });
      return true;
    });
    if (!isRevoked) return "key_not_found";
    await this.read();
    await this.renew();
    return "revoked";
  }

  /** All keys that verify, oldest first. */
  list(): SigningKey[] {
    return [...this.#keys.values()];
  }

  /** The key to sign with: the newest that has been published long enough, or else the oldest that can sign. */
  signing(): { readonly kid: string; readonly signs: CryptoKey } {
    const publishedBy = this.#options.clock.now() - PUBLISHED_BEFORE_USE_MS;
    const keys = [...this.#keys.values()].filter((key) => key.signs !== undefined);
    const { kid, signs } = must(
      keys.findLast((key) => key.createdAt <= publishedBy) ?? keys[0],
      "there is a key before the first token is requested",
    );
    return { kid, signs: must(signs, "a key that was chosen to sign can sign") };
  }

  has(kid: string): boolean {
    return this.#keys.has(kid);
  }

  /** Looks up an unknown kid in the database. */
  async find(kid: string): Promise<SigningKey | undefined> {
    const mayLookUp = performance.now() - this.#lastLookupAt >= LOOKUP_INTERVAL_MS;
    // One that is in progress is joined: of two that ask at once for a new key the second one would find nothing.
    if (!this.#keys.has(kid) && (mayLookUp || this.#reading !== undefined)) {
      if (mayLookUp) this.#lastLookupAt = performance.now();
      await this.#read();
    }
    return this.#keys.get(kid);
  }

  /** The public halves of all keys that verify. */
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
    // With a clock fault no key is dropped: its tokens may still be valid.
    const goneBy = clock.fault === undefined ? clock.now() - VERIFIES_AFTER_RETIRING_MS : Number.NEGATIVE_INFINITY;
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

  /** Of a known key, only `retiredAt` can change. */
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

function recordKeyWrite(
  transaction: Queryable,
  caller: Caller,
  kid: string,
  details: Readonly<Record<string, string>>,
): Promise<void> {
  const write = { kind: "signing_key", subject: kid, customerId: undefined, details } as const;
  return recordConfigurationWrite(transaction, caller, write);
}

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, ALGORITHM);
  assert(!(key instanceof Uint8Array), "a signing key is a pair");
  return key;
}
