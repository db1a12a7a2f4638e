/**
 * The process's clock, held to the database's. All processes share one database, so its clock is the one that they can
 * be compared with: a time that is far ahead, once it is stored, would stay with the accounts that it reached.
 *
 * The database's clock is measured against the process's monotonic one, which no correction of the time of day moves.
 * So a step of the time of day shows at once, whenever somebody asks, and costs no question to the database. Where the
 * monotonic clock stands still, as in a suspended machine, the time of day seems to have stepped, until the next
 * measurement.
 */
import type { Clock, ComparedClock, Instant } from "../std/clock.ts";

export interface LedgerClockOptions {
  /** How far the two clocks may be apart. */
  readonly toleranceMs: number;
  /** How far the installation's time is ahead of real time on purpose: 0 in production. */
  readonly businessOffsetMs?: number;
}

/** By how much more the two clocks may differ for each millisecond since they were compared. */
const DRIFT = 1e-3;

export class LedgerClock implements ComparedClock {
  readonly #system: Clock;
  readonly toleranceMs: number;
  readonly #businessOffsetMs: number;
  /** The installation's time less the monotonic one, as it was measured last: between these bounds. */
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;
  #measuredMs = 0;

  constructor(system: Clock, options: LedgerClockOptions) {
    this.#system = system;
    this.toleranceMs = options.toleranceMs;
    this.#businessOffsetMs = options.businessOffsetMs ?? 0;
  }

  /** The process's time of day; while that is wrong, the time that the database should have by now. */
  now(): Instant {
    const now = this.#system.now();
    return this.#wrongByAt(now) === 0 ? now : this.#expected();
  }

  /** By how much the time of day is ahead of the database's as it was measured; behind: below zero. 0: not measured. */
  get aheadMs(): number {
    return Number.isFinite(this.#least) ? this.#system.now() - this.#expected() : 0;
  }

  /** The same, but 0 while it is within the tolerance as far as known. */
  get wrongByMs(): number {
    return this.#wrongByAt(this.#system.now());
  }

  /** Why nothing may be decided now, in words; undefined while the clock is right. */
  get fault(): string | undefined {
    const wrongByMs = this.wrongByMs;
    if (wrongByMs === 0) return undefined;
    const seconds = (Math.abs(wrongByMs) / 1_000).toFixed(1);
    const allowed = this.toleranceMs / 1_000;
    const side = wrongByMs > 0 ? "ahead of" : "behind";
    return `the clock of this node is ${seconds} s ${side} the database's, and ${allowed} s are allowed`;
  }

  /**
   * Compares the clocks. The database read its own between the question and the answer, and what was measured before
   * still holds but for the drift since, so a slow answer makes nothing less certain. `anew`: it may be another database.
   */
  async measure(askTime: () => Promise<number>, anew = false): Promise<void> {
    const before = performance.now();
    const there = (await askTime()) + this.#businessOffsetMs;
    const after = performance.now();
    const drift = anew ? Number.POSITIVE_INFINITY : (after - this.#measuredMs) * DRIFT;
    const least = Math.max(there - after, this.#least - drift);
    const most = Math.min(there - before, this.#most + drift);
    // Bounds that contradict each other: one of the two clocks has stepped since.
    [this.#least, this.#most] = least <= most ? [least, most] : [there - after, there - before];
    this.#measuredMs = after;
  }

  /** What the database's clock says at this moment of ours. */
  databaseTime(instant: Instant): Instant {
    if (!Number.isFinite(this.#least)) return instant;
    const aheadMs = this.now() - this.#expected();
    return Math.floor(instant - aheadMs - this.#businessOffsetMs) as Instant;
  }

  /** Before this time of the database nothing may be stored that was decided at this moment of ours. */
  notBefore(decidedAt: Instant): Instant {
    return Math.floor(decidedAt - this.#businessOffsetMs - this.toleranceMs) as Instant;
  }

  #wrongByAt(now: Instant): number {
    const steady = performance.now();
    // Wrong only when it is for sure: a measurement that took long must not stop a node.
    const isAhead = now - steady - this.#most > this.toleranceMs;
    const isBehind = this.#least + steady - now > this.toleranceMs;
    return isAhead || isBehind ? now - this.#expected() : 0;
  }

  #expected(): Instant {
    return Math.floor(performance.now() + (this.#least + this.#most) / 2) as Instant;
  }
}
