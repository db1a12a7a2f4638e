/**
 * Client secrets: how they are made, kept and compared. The database never holds one in clear.
 *
 * A generated secret has 256 bits of chance, so nobody can guess it from its digest: a keyed hash is enough and costs
 * microseconds. A chosen one can be guessed, so each guess is made expensive: scrypt.
 *
 * Which of the two is computed depends on the look of what is presented, never on what is stored, and where there is
 * nothing to compare with a decoy takes its place: an unknown client costs what a wrong secret costs, and the time of
 * the answer tells neither which clients there are nor how their secrets were made.
 */
import { createHmac, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { Recent } from "../../std/recent.ts";

/** `hmac`: HMAC-SHA-256 under the salt as key; `scrypt`: as below. Other parameters would be another scheme. */
export type SecretScheme = "hmac" | "scrypt";

/** What is kept of a secret. */
export interface SecretDigest {
  readonly scheme: SecretScheme;
  readonly salt: Buffer;
  readonly digest: Buffer;
}

/** 256 bits as base64url. */
const GENERATED = /^[A-Za-z0-9_-]{43}$/;
const DIGEST_BYTES = 32;
const SALT_BYTES = 16;

/** One of the settings that OWASP's password storage cheat sheet gives for scrypt: 16 MiB, about 0.2 s. */
const SCRYPT = { N: 2 ** 14, r: 8, p: 5 } as const;

/**
 * scrypt runs on the few threads that also sign tokens and resolve names: one at a time leaves them free. What waits
 * is bounded, so that wrong secrets cannot pile up work. Generated secrets never wait here.
 */
const RUNNING_AT_ONCE = 1;
const WAITING_AT_MOST = 16;
/** On a slow machine; whoever asks would soon have given up. */
const WAITS_AT_MOST_MS = 5_000;

const REMEMBERED_MS = 5 * 60_000;
const REMEMBERED_AT_MOST = 1_000;

export function generateSecret(): string {
  return randomBytes(DIGEST_BYTES).toString("base64url");
}

/** A secret that looks generated counts as such: 43 characters of chance are out of reach for any guessing. */
export function schemeOf(secret: string): SecretScheme {
  return GENERATED.test(secret) ? "hmac" : "scrypt";
}

/** Digests a secret that is to be kept, under a new salt. */
export async function digestSecret(secret: string): Promise<SecretDigest> {
  const scheme = schemeOf(secret);
  const salt = randomBytes(SALT_BYTES);
  return { scheme, salt, digest: scheme === "hmac" ? keyedHash(secret, salt) : await slowHash(secret, salt) };
}

export class SecretMatcher {
  readonly #gate = new Gate({ atOnce: RUNNING_AT_ONCE, waiting: WAITING_AT_MOST, waitsMs: WAITS_AT_MOST_MS });
  /**
   * Chosen secrets that matched a moment ago, and until when that is remembered. A client asks for a token again and
   * again with the same secret; without this each of its requests costs 0.2 s of a processor. An entry names the very
   * digest that was matched, which must still be among those read from the database for this request: a secret that
   * was rotated away or has expired is refused in spite of it. It holds a keyed hash under a key that lives and dies
   * with this process, which sees the secrets themselves anyway. Wrong secrets are never remembered.
   */
  readonly #remembered = new Recent<number>(REMEMBERED_AT_MOST);
  readonly #memoryKey = randomBytes(DIGEST_BYTES);

  /** Which of the stored digests is this secret's. `busy`: too many others are waiting, nothing was compared. */
  async match<Stored extends SecretDigest>(
    presented: string,
    stored: readonly Stored[],
    now: number,
  ): Promise<Stored | undefined | "busy"> {
    const scheme = schemeOf(presented);
    const candidates = stored.filter((each) => each.scheme === scheme);
    return scheme === "hmac" ? matchGenerated(presented, candidates) : this.#matchChosen(presented, candidates, now);
  }

  async #matchChosen<Stored extends SecretDigest>(
    presented: string,
    candidates: readonly Stored[],
    now: number,
  ): Promise<Stored | undefined | "busy"> {
    const known = candidates.find((each) => (this.#remembered.get(this.#memory(presented, each)) ?? 0) > now);
    if (known !== undefined) return known;
    let matched: Stored | undefined;
    for (const each of candidates.length === 0 ? [DECOY] : candidates) {
      const digest = await this.#gate.run(() => slowHash(presented, each.salt));
      if (digest === "full") return "busy";
      if (timingSafeEqual(digest, each.digest)) matched = candidates.find((candidate) => candidate === each);
    }
    if (matched !== undefined) this.#remembered.set(this.#memory(presented, matched), now + REMEMBERED_MS);
    return matched;
  }

  #memory(presented: string, { digest }: SecretDigest): string {
    return createHmac("sha256", this.#memoryKey).update(digest).update(presented).digest("base64");
  }
}

/** Matches nothing: its digest is chance, and no secret is known that leads to it. */
const DECOY: SecretDigest = {
  scheme: "hmac",
  salt: randomBytes(SALT_BYTES),
  digest: randomBytes(DIGEST_BYTES),
};

/** Compares with every candidate, also after a match. */
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
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, DIGEST_BYTES, SCRYPT, (error, digest) => (error === null ? resolve(digest) : reject(error)));
  });
}

/** Lets so many through at once and so many more wait for so long; whoever comes then is turned away. */
export class Gate {
  readonly #bounds: GateBounds;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(bounds: GateBounds) {
    this.#bounds = bounds;
  }

  async run<Value>(work: () => Promise<Value>): Promise<Value | "full"> {
    if (this.#running < this.#bounds.atOnce) this.#running += 1;
    // Whoever leaves hands its place on, so the number of those running stays as it is.
    else if (!(await this.#turn())) return "full";
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  /** Whether a place was handed on in time. */
  #turn(): Promise<boolean> {
    if (this.#waiting.length >= this.#bounds.waiting) return Promise.resolve(false);
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        resolve(false);
      }, this.#bounds.waitsMs);
      this.#waiting.push(go);
    });
  }
}

interface GateBounds {
  readonly atOnce: number;
  readonly waiting: number;
  readonly waitsMs: number;
}
