/**
 * The time from which the age of what is to be removed is counted. A clock that is wrong must not remove anything, so it is
 * looked at once an hour of the process's own monotonic time, and the earlier of its last two looks counts: one that is
 * ahead for less than an hour removes nothing.
 */
import type { Clock, Instant } from "./clock.ts";

const LOOK_EVERY_MS = 60 * 60 * 1_000;

export class RemovalTime {
  readonly #clock: Clock;
  readonly #elapsedMs: () => number;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #looked: Instant | undefined;
  #confirmed: Instant | undefined;

  /** @param elapsedMs of a monotonic clock */
  constructor(clock: Clock, elapsedMs: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#elapsedMs = elapsedMs;
  }

  /** @returns undefined for the first hour, in which nothing is to be removed */
  find(): Instant | undefined {
    const elapsedMs = this.#elapsedMs();
    if (elapsedMs - this.#lookedMs < LOOK_EVERY_MS) return this.#confirmed;
    const now = this.#clock.now();
    if (this.#looked !== undefined) this.#confirmed = Math.min(now, this.#looked) as Instant;
    this.#looked = now;
    this.#lookedMs = elapsedMs;
    return this.#confirmed;
  }
}
