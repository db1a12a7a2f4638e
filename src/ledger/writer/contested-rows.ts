/**
 * Rows that another process changed or held lately. Decided on as they are in memory, batches would be refused again: they are
 * locked first, until they were found as they were known here several times in a row. That costs who needs them several round
 * trips each time, so one payment from elsewhere must not do so for long.
 *
 * A row that was calm so often may be changed again at once all the same. Who needs many such rows would find one of them changed
 * each time: for it they count until they have not been changed for a while.
 */
import type { Clock, Instant } from "../../std/clock.ts";
import { LIMITS } from "./lane-options.ts";

/** Rows that were locked, by the names of their keys: whether another process had changed them since they were last known. */
export interface FoundUnderLock {
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
}

/** Its size is bounded by how many can be added before they expire. */
export class ContestedRows {
  readonly #clock: Clock;
  readonly #rows = new Map<string, { readonly until: Instant; readonly timesUnchanged: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  /** Whether who needs it has to lock it first. */
  has(name: string): boolean {
    const row = this.#rows.get(name);
    return row !== undefined && row.timesUnchanged < LIMITS.timesUnchanged;
  }

  /** Whether it was changed or held lately, even if it has been calm since. */
  hasLately(name: string): boolean {
    return this.#rows.has(name);
  }

  add(names: readonly string[]): void {
    const until = (this.#clock.now() + LIMITS.contestedMs) as Instant;
    for (const name of names) this.#rows.set(name, { until, timesUnchanged: 0 });
  }

  noteFound({ changed, unchanged }: FoundUnderLock): void {
    this.add(changed.filter((name) => this.#rows.has(name)));
    for (const name of unchanged) {
      const row = this.#rows.get(name);
      if (row !== undefined) this.#rows.set(name, { ...row, timesUnchanged: row.timesUnchanged + 1 });
    }
  }

  /** Also those that were added while the clock was ahead. */
  removeExpired(): void {
    const now = this.#clock.now();
    for (const [name, { until }] of this.#rows)
      if (until <= now || until > now + LIMITS.contestedMs) this.#rows.delete(name);
  }
}
