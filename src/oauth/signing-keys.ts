/**
 * The keys that sign access tokens. They live in the database, since every node must be able to sign and to verify.
 *
 * A key is *new* for its first seconds: published, but not signing yet, so that whoever verifies has it before the
 * first token comes. Then it *signs*, until the next one does. A *retired* key still verifies until its last token has
 * expired, then it is *gone*. To revoke a key at once, delete its row: within seconds no node accepts its tokens, and
 * a new key takes its place.
 *
 * ES256, because every library for tokens knows it, and it signs in a fraction of the time that RS256 takes. (EdDSA
 * would be as fast, but is missing in some.)
 */
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import type { Database } from "../postgres/database.ts";
import { assert, must } from "../std/assert.ts";
import type { Clock, Instant } from "../std/clock.ts";
import {
  deleteKeysRetiredBefore,
  getCurrentKid,
  insertKey,
  listKeys,
  type NewKey,
  retireKeys,
  type StoredKey,
} from "./store.ts";
import { TOKEN_LIFE_SECONDS } from "./token-life.ts";

export const ALGORITHM = "ES256";

/** Nodes read the keys every two seconds; this is ample for each of them to have read a new one. */
export const PUBLISHED_BEFORE_USE_MS = 10_000;

/** How long a retired key verifies: as long as its last token lives, and ten minutes for clocks that disagree. */
const KEPT_AFTER_RETIRING_MS = TOKEN_LIFE_SECONDS * 1_000 + 10 * 60_000;

/** A token that names an unknown key makes us look for it, but strangers can write such tokens: once a second at most. */
const LOOKED_FOR_EVERY_MS = 1_000;

export interface SigningKey {
  readonly kid: string;
  readonly publicJwk: JWK;
  readonly signs: CryptoKey;
  readonly verifies: CryptoKey;
  readonly createdAt: Instant;
  readonly retiredAt: Instant | undefined;
}

export class SigningKeys {
  readonly #database: Database;
  readonly #clock: Clock;
  /** By kid, oldest first. */
  #keys: ReadonlyMap<string, SigningKey> = new Map();
  #reading: Promise<void> | undefined;
  #lookedForAt = Number.NEGATIVE_INFINITY;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Reads the keys as they are now, and makes one when none is current: at the first start, or after a revocation. */
  async follow(): Promise<void> {
    await this.#read();
    if ([...this.#keys.values()].some((key) => key.retiredAt === undefined)) return;
    await insertKey(this.#database, ALGORITHM, await makeKey(), this.#clock.now());
    await this.#read();
  }

  /** Retires the current key for a new one. Answers the new one's kid; rotations that meet make one key together. */
  async rotate(): Promise<string> {
    const key = await makeKey();
    const kid = await this.#database.transaction(async (transaction) => {
      const now = this.#clock.now();
      await deleteKeysRetiredBefore(transaction, (now - KEPT_AFTER_RETIRING_MS) as Instant);
      await retireKeys(transaction, now);
      await insertKey(transaction, ALGORITHM, key, now);
      return getCurrentKid(transaction);
    });
    await this.#read();
    return kid;
  }

  /** The key to sign with: the newest that has been published for long enough, or else the oldest that there is. */
  signing(): SigningKey {
    const keys = [...this.#keys.values()];
    const publishedBy = this.#clock.now() - PUBLISHED_BEFORE_USE_MS;
    return must(
      keys.findLast((key) => key.createdAt <= publishedBy) ?? keys[0],
      "there are keys before the first token is asked for",
    );
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
    const stored = await listKeys(this.#database, ALGORITHM);
    const goneBy = this.#clock.now() - KEPT_AFTER_RETIRING_MS;
    const keys = new Map<string, SigningKey>();
    for (const each of stored) {
      if (each.retiredAt !== undefined && each.retiredAt < goneBy) continue;
      const known = this.#keys.get(each.kid);
      keys.set(each.kid, known === undefined ? await importKey(each) : { ...known, retiredAt: each.retiredAt });
    }
    this.#keys = keys;
  }
}

async function makeKey(): Promise<NewKey> {
  const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const publicJwk = await exportJWK(publicKey);
  return { kid: await calculateJwkThumbprint(publicJwk), privateJwk: await exportJWK(privateKey), publicJwk };
}

async function importKey({ kid, privateJwk, publicJwk, createdAt, retiredAt }: StoredKey): Promise<SigningKey> {
  const signs = await importJWK(privateJwk, ALGORITHM);
  const verifies = await importJWK(publicJwk, ALGORITHM);
  assert(!(signs instanceof Uint8Array) && !(verifies instanceof Uint8Array), "a signing key is a pair");
  return { kid, publicJwk: { ...publicJwk, kid, alg: ALGORITHM, use: "sig" }, signs, verifies, createdAt, retiredAt };
}
