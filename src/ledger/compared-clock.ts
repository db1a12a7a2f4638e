/**
 * The process's clock, checked against the database's, which all processes share. A stored time that is far ahead would
 * stick to the accounts that it reached.
 *
 * The database's clock is measured against the process's monotonic clock, which ignores corrections of the time of day.
 * A step of the time of day is therefore detected on the next read, without a query. When the monotonic clock stops, as
 * on a suspended machine, the time of day appears to have stepped until the next measurement.
 */
import type { Clock, ComparedClock, Instant } from "../std/clock.ts";

export interface DatabaseComparedClockOptions {
  /** How far apart the two clocks may be. */
  readonly toleranceMs: number;
  /** How far the installation's time is ahead of real time on purpose: 0 in production. */
  readonly businessOffsetMs?: number;
}

/** Assumed drift between the two clocks: ms per ms since the last measurement. */
const DRIFT = 1e-3;

export class DatabaseComparedClock implements ComparedClock {
  readonly #system: Clock;
  readonly toleranceMs: number;
  readonly #businessOffsetMs: number;
  /** Bounds of the installation's time minus the monotonic clock, as last measured. */
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;
  #measuredMs = 0;

  constructor(system: Clock, options: DatabaseComparedClockOptions) {
    this.#system = system;
    this.toleranceMs = options.toleranceMs;
    this.#businessOffsetMs = options.businessOffsetMs ?? 0;
  }

  /** The process's time of day or, while that is wrong, the estimated time of the database. */
  now(): Instant {
    const now = this.#system.now();
    return this.#wrongByAt(now) === 0 ? now : this.#expected();
  }

  ownNow(): Instant {
    return this.#system.now();
  }

  /** How far the time of day is ahead of the database's; negative when behind, 0 before the first measurement. */
  get aheadMs(): number {
    return Number.isFinite(this.#least) ? this.#system.now() - this.#expected() : 0;
  }

  /** Like `aheadMs`, but 0 unless it is certain that the tolerance is exceeded. */
  get wrongByMs(): number {
    return this.#wrongByAt(this.#system.now());
  }

  /** Why nothing may be decided now, in words; undefined while the clock is within tolerance. */
  get fault(): string | undefined {
    const wrongByMs = this.wrongByMs;
    if (wrongByMs === 0) return undefined;
    const seconds = (Math.abs(wrongByMs) / 1_000).toFixed(1);
    const allowed = this.toleranceMs / 1_000;
    const side = wrongByMs > 0 ? "ahead of" : "behind";
    return `the clock of this node is ${seconds} s ${side} the database's, and ${allowed} s are allowed`;
  }

  /**
   * Compares the clocks. The database read its clock between our two readings. The earlier bounds still hold, widened
   * by drift, so a slow response never makes the estimate worse.
   * @param anew discards the earlier bounds: it may be another database
   */
  async measure(readTime: () => Promise<number>, anew = false): Promise<void> {
    const before = performance.now();
    const databaseMs = (await readTime()) + this.#businessOffsetMs;
    const after = performance.now();
    const drift = anew ? Number.POSITIVE_INFINITY : (after - this.#measuredMs) * DRIFT;
    const least = Math.max(databaseMs - after, this.#least - drift);
    const most = Math.min(databaseMs - before, this.#most + drift);
    // Contradictory bounds: one of the two clocks has stepped since.
    [this.#least, this.#most] = least <= most ? [least, most] : [databaseMs - after, databaseMs - before];
    this.#measuredMs = after;
  }

  /** Converts our time to the database's. */
  databaseTime(instant: Instant): Instant {
    if (!Number.isFinite(this.#least)) return instant;
    const aheadMs = this.now() - this.#expected();
    return Math.floor(instant - aheadMs - this.#businessOffsetMs) as Instant;
  }

  /** The earliest database time at which a decision made at `decidedAt`, our time, may be stored. */
  notBefore(decidedAt: Instant): Instant {
    return Math.floor(decidedAt - this.#businessOffsetMs - this.toleranceMs) as Instant;
  }

  #wrongByAt(now: Instant): number {
    const steady = performance.now();
    // Wrong only when certain: a slow measurement must not stop a node.
    const isAhead = now - steady - this.#most > this.toleranceMs;
    const isBehind = this.#least + steady - now > this.toleranceMs;
    return isAhead || isBehind ? now - this.#expected() : 0;
  }

  #expected(): Instant {
    return Math.floor(performance.now() + (this.#least + this.#most) / 2) as Instant;
  }
}
