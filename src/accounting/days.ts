import { assert } from "../std/assert.ts";
import { formatInstant, type Instant } from "../std/clock.ts";

/** The first and the last day of an export, in UTC, as YYYY-MM-DD. */
export class Days {
  #first: Instant | undefined;
  #last: Instant | undefined;

  add(at: Instant): void {
    if (this.#first === undefined || at < this.#first) this.#first = at;
    if (this.#last === undefined || at > this.#last) this.#last = at;
  }

  get first(): string {
    return dayOf(this.#first);
  }

  get last(): string {
    return dayOf(this.#last);
  }

  /** For programs that check balances at the beginning of a day. */
  get dayAfterLast(): string {
    assert(this.#last !== undefined, "what has a balance was posted on some day");
    return dayOf((this.#last + DAY_MS) as Instant);
  }
}

const DAY_MS = 24 * 60 * 60_000;

export function dayOf(instant: Instant | undefined): string {
  assert(instant !== undefined, "what has a balance was posted on some day");
  return formatInstant(instant).slice(0, 10);
}
