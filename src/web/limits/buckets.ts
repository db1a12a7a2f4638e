import { FULL, spendTokens, type Taking, takeTokens } from "./token-bucket.ts";

/**
 * The token buckets of all callers of one rate, bounded. Only full buckets are deleted, so a caller cannot get a new one by
 * making the table overflow: callers that arrive while there is no room share one bucket. To keep the table full takes its
 * capacity times the rate, more than a process can answer.
 */
export class Buckets {
  readonly #perSecond: number;
  readonly #capacity: number;
  readonly #fullAt = new Map<string, number>();
  /** Cycles through the buckets, a few steps per new caller. */
  #hand: Iterator<[string, number]> = this.#fullAt.entries();

  constructor(perSecond: number, capacity: number) {
    this.#perSecond = perSecond;
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#fullAt.size;
  }

  /** Takes tokens from the bucket of this key. */
  take(key: string, now: number, tokens = 1): Taking {
    const place = this.#placeOf(key, now);
    const taking = takeTokens(this.#fullAt.get(place) ?? FULL, this.#perSecond, now, tokens);
    this.#fullAt.set(place, taking.fullAt);
    return taking;
  }

  /** Takes tokens from the bucket of this key for what has been done already: it may have become full since it took the first. */
  spend(key: string, now: number, tokens: number): void {
    const place = this.#placeOf(key, now);
    this.#fullAt.set(place, spendTokens(this.#fullAt.get(place) ?? FULL, this.#perSecond, now, tokens));
  }

  #placeOf(key: string, now: number): string {
    return this.#fullAt.has(key) || this.#makeRoom(now) ? key : SHARED;
  }

  /** Deletes full buckets among the next few. @returns whether there is room for one more */
  #makeRoom(now: number): boolean {
    for (let step = 0; step < STEPS; step += 1) {
      const next = this.#hand.next();
      if (next.done === true) this.#hand = this.#fullAt.entries();
      else if (next.value[1] <= now) this.#fullAt.delete(next.value[0]);
    }
    return this.#fullAt.size < this.#capacity;
  }
}

/** No key is empty. */
const SHARED = "";
/** More than one, so that the table shrinks when few new callers arrive. */
const STEPS = 4;
