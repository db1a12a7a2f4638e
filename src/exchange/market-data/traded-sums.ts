import { type Amount, plus } from "../../money/amount.ts";
import type { Brand } from "../../std/brand.ts";

/** What was traded in some time. */
export interface Sums {
  readonly high: Amount;
  readonly low: Amount;
  /** In the base asset, and in the quote asset. */
  readonly volume: Amount;
  readonly gross: Amount;
}

/** A minute of the clock, counted from when ids begin. */
export type Minute = Brand<number, "Minute">;

/** Sums of minutes, which are added to in the order of their times. */
export class MinuteSums {
  readonly #minutes = new Map<Minute, Sums>();

  add(minute: Minute, sums: Sums): void {
    const known = this.#minutes.get(minute);
    this.#minutes.set(minute, known === undefined ? sums : sumOf(known, sums));
  }

  /** Of this minute and all that follow. */
  since(first: Minute): Sums | undefined {
    let total: Sums | undefined;
    for (const [minute, sums] of this.#minutes) {
      if (minute >= first) total = total === undefined ? sums : sumOf(total, sums);
    }
    return total;
  }

  /** Drops what was before this minute. A map is walked in the order in which its keys came. */
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

/** What was traded in both. */
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
