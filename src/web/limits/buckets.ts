import { FULL, type Taking, takeToken } from "./token-bucket.ts";

/**
 * The buckets of all who are limited to one rate, bounded. Only a bucket that is full again is ever thrown away, so
 * nobody gets a new one by making the table overflow: whoever comes while there is no room shares one bucket with all
 * others who do. To fill the table for long, its capacity times the rate has to be kept up, and that is more than a
 * process can answer.
 */
export class Buckets {
  readonly #perSecond: number;
  readonly #capacity: number;
  readonly #fullAt = new Map<string, number>();
  /** Walks through the buckets round and round, a few steps with each newcomer. */
  #hand: Iterator<[string, number]> = this.#fullAt.entries();

  constructor(perSecond: number, capacity: number) {
    this.#perSecond = perSecond;
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#fullAt.size;
  }

  /** Takes a token from the bucket of this key. */
  take(key: string, now: number): Taking {
    const place = this.#fullAt.has(key) || this.#makeRoom(now) ? key : SHARED;
    const taking = takeToken(this.#fullAt.get(place) ?? FULL, this.#perSecond, now);
    this.#fullAt.set(place, taking.fullAt);
    return taking;
  }

  /** Throws away what is full among the next few. Answers whether there is room for one more. */
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
/** More than one, so that the table shrinks when newcomers are few. */
const STEPS = 4;
