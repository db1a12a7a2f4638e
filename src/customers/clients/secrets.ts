/**
 * Client secrets: generation, storage and comparison. Secrets are never stored in clear.
 *
 * A generated secret has 256 random bits and cannot be guessed from its digest: a keyed hash is enough, and takes
 * microseconds. A chosen secret can be guessed, so guessing is made expensive with scrypt.
 *
 * The form of the presented secret selects the scheme, never what is stored, and an unknown client is compared with a
 * decoy: response times reveal neither which clients exist nor how their secrets are stored.
 */
import { createHmac, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { LruCache } from "../../std/lru-cache.ts";
import { done, type Result, reject } from "../../std/result.ts";
import { queueKey } from "../../web/limits/address.ts";
import { FairAdmission } from "../../web/limits/fair-admission.ts";

/** `hmac`: HMAC-SHA-256 with the salt as key; `scrypt`: with `SCRYPT` below. Other parameters need a new scheme. */
export type SecretScheme = "hmac" | "scrypt";

/** A secret as stored. */
export interface SecretDigest {
  readonly scheme: SecretScheme;
  readonly salt: Buffer;
  readonly digest: Buffer;
}

/** 256 bits as base64url. */
const GENERATED = /^[A-Za-z0-9_-]{43}$/;
const DIGEST_BYTES = 32;
const SALT_BYTES = 16;

/** From OWASP's password storage cheat sheet: 16 MiB, about 0.2 s. */
const SCRYPT = { N: 2 ** 14, r: 8, p: 5 } as const;

/**
 * scrypt runs on libuv's few threads, which also sign tokens and resolve names: one at a time leaves them free. The queue
 * is bounded, so that wrong secrets cannot pile up work, and addresses take turns. Generated secrets do not queue.
 */
const SCRYPT_QUEUE = {
  atOnce: 1,
  alone: 1,
  share: 1,
  most: 17,
  shortQueue: 17,
  expectedMs: 5_000,
  // After that, callers have usually given up.
  maxWaitMs: 5_000,
};

const CACHE_TTL_MS = 5 * 60_000;
const CACHE_CAPACITY = 1_000;

export function generateSecret(): string {
  return randomBytes(DIGEST_BYTES).toString("base64url");
}

/** Any secret of the generated form counts as generated. */
export function schemeOf(secret: string): SecretScheme {
  return GENERATED.test(secret) ? "hmac" : "scrypt";
}

/** Digests a secret for storage, with a new salt. */
export async function digestSecret(secret: string): Promise<SecretDigest> {
  const scheme = schemeOf(secret);
  const salt = randomBytes(SALT_BYTES);
  return { scheme, salt, digest: scheme === "hmac" ? keyedHash(secret, salt) : await slowHash(secret, salt) };
}

export class SecretMatcher {
  readonly #scryptQueue = new FairAdmission(SCRYPT_QUEUE);
  /**
   * Chosen secrets that matched recently, with the expiry of the entry. Without this cache, each token request of a client
   * costs 0.2 s of CPU. An entry is bound to the digest that matched, which must still be among those read for the
   * request: a rotated or expired secret is rejected all the same. Keys are hashes keyed per process. Wrong secrets are
   * not cached.
   */
  readonly #matchedSecrets = new LruCache<number>(CACHE_CAPACITY);
  readonly #hashKey = randomBytes(DIGEST_BYTES);

  /**
   * @param address who presents it
   * @returns the digest that matches, if one does; "full" when nothing was compared
   */
  async match<Stored extends SecretDigest>(
    presented: string,
    stored: readonly Stored[],
    now: number,
    address: string,
  ): Promise<Result<Stored | undefined, "full">> {
    const scheme = schemeOf(presented);
    const candidates = stored.filter((each) => each.scheme === scheme);
    return scheme === "hmac"
      ? done(matchGenerated(presented, candidates))
      : this.#matchChosen(presented, candidates, now, address);
  }

  async #matchChosen<Stored extends SecretDigest>(
    presented: string,
    candidates: readonly Stored[],
    now: number,
    address: string,
  ): Promise<Result<Stored | undefined, "full">> {
    const known = candidates.find((each) => (this.#matchedSecrets.get(this.#cacheKey(presented, each)) ?? 0) > now);
    if (known !== undefined) return done(known);
    let matched: Stored | undefined;
    for (const each of candidates.length === 0 ? [DECOY] : candidates) {
      const digest = await this.#scryptQueue.run(queueKey(address), () => slowHash(presented, each.salt));
      if (digest === undefined) return reject("full");
      if (timingSafeEqual(digest, each.digest)) matched = candidates.find((candidate) => candidate === each);
    }
    if (matched !== undefined) this.#matchedSecrets.set(this.#cacheKey(presented, matched), now + CACHE_TTL_MS);
    return done(matched);
  }

  #cacheKey(presented: string, { digest }: SecretDigest): string {
    return createHmac("sha256", this.#hashKey).update(digest).update(presented).digest("base64");
  }
}

/** Matches no secret: its digest is random. */
const DECOY: SecretDigest = {
  scheme: "hmac",
  salt: randomBytes(SALT_BYTES),
  digest: randomBytes(DIGEST_BYTES),
};

/** Compares with every candidate, even after a match, to take constant time. */
function matchGenerated<Stored extends SecretDigest>(
  presented: string,
  candidates: readonly Stored[],
): Stored | undefined {
  let matched: Stored | undefined;
  for (const each of candidates.length === 0 ? [DECOY] : candidates) {
    const equal = timingSafeEqual(keyedHash(presented, each.salt), each.digest);
    if (equal) matched = candidates.find((candidate) => candidate === each);
  }
  return matched;
}

function keyedHash(secret: string, salt: Buffer): Buffer {
  return createHmac("sha256", salt).update(secret).digest();
}

function slowHash(secret: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, fail) => {
    scrypt(secret, salt, DIGEST_BYTES, SCRYPT, (error, digest) => (error === null ? resolve(digest) : fail(error)));
  });
}
