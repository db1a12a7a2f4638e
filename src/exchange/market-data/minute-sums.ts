import { type Amount, plus } from "../../money/amount.ts";
import type { Brand } from "../../std/brand.ts";

export interface Sums {
  readonly high: Amount;
  readonly low: Amount;
  /** In the base asset, and in the quote asset. */
  readonly volume: Amount;
  readonly gross: Amount;
}

/** A minute in UTC, counted from the epoch of execution ids. */
export type Minute = Brand<number, "Minute">;

/** Sums per minute, added in time order. */
export class MinuteSums {
  readonly #minutes = new Map<Minute, Sums>();

  add(minute: Minute, sums: Sums): void {
    const known = this.#minutes.get(minute);
    this.#minutes.set(minute, known === undefined ? sums : sumOf(known, sums));
  }

  /** The sum from this minute on. */
  since(first: Minute): Sums | undefined {
    let total: Sums | undefined;
    for (const [minute, sums] of this.#minutes) {
      if (minute >= first) total = total === undefined ? sums : sumOf(total, sums);
    }
    return total;
  }

  /** Maps iterate in insertion order, which is time order. */
  removeBefore(before: Minute): void {
    for (const minute of this.#minutes.keys()) {
      if (minute >= before) return;
      this.#minutes.delete(minute);
    }
  }

  get size(): number {
    return this.#minutes.size;
  }
}

export function sumOf(a: Sums, b: Sums): Sums {
  return {
    high: higher(a.high, b.high),
    low: lower(a.low, b.low),
    volume: plus(a.volume, b.volume),
    gross: plus(a.gross, b.gross),
  };
}

function higher(a: Amount, b: Amount): Amount {
  if (a > b) return a;
  return b;
}

function lower(a: Amount, b: Amount): Amount {
  if (a < b) return a;
  return b;
}
