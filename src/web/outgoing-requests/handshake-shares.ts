/**
 * Shares of the thread for TLS handshakes with receivers. Each costs what the receiver's certificates make it cost, up to
 * half a second, in one piece. Who has taken more than its share waits, with the next piece of its handshakes, until it is
 * within it again: others' come first.
 */
import { FULL, spendTokens } from "../limits/token-bucket.ts";

/** Of the time, for one payer: a hundred usual handshakes a second. */
const SHARE = 0.2;
/** So much at once is not too much. */
const AT_ONCE_MS = 200;
/** A piece of a usual handshake takes less. Nobody else's is read meanwhile, so one that takes ten times as long counts a hundred times. */
const USUAL_MS = 10;
const SWEEP_MS = 1_000;

export class HandshakeShares {
  readonly #now: () => number;
  /** Of each payer that took some lately: when a bucket of its time is full again. */
  readonly #fullAt = new Map<string, number>();
  /** Of those that have taken too much, in order. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #sweptAt = 0;

  /** @param now monotonic, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Does work at once, or behind the payer's earlier work once that is within its share. */
  run(payer: string, work: () => void): void {
    const waiting = this.#waiting.get(payer);
    if (waiting !== undefined) waiting.push(work);
    else if (this.#waitMs(payer) === 0) this.#take(payer, work);
    else this.#wait(payer, [work]);
  }

  #wait(payer: string, works: (() => void)[]): void {
    this.#waiting.set(payer, works);
    setTimeout(() => this.#goOn(payer, works), this.#waitMs(payer)).unref();
  }

  #goOn(payer: string, works: (() => void)[]): void {
    do {
      const next = works.shift();
      if (next !== undefined) this.#take(payer, next);
    } while (works.length > 0 && this.#waitMs(payer) === 0);
    if (works.length > 0) this.#wait(payer, works);
    else this.#waiting.delete(payer);
  }

  #take(payer: string, work: () => void): void {
    const begun = this.#now();
    this.#sweep(begun);
    work();
    const now = this.#now();
    const took = now - begun;
    const costMs = took * Math.max(took / USUAL_MS, 1);
    this.#fullAt.set(payer, spendTokens(this.#fullAt.get(payer) ?? FULL, SHARE * 1_000, now, costMs));
  }

  #waitMs(payer: string): number {
    return Math.max((this.#fullAt.get(payer) ?? FULL) - AT_ONCE_MS / SHARE - this.#now(), 0);
  }

  /** A full bucket need not be stored. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [payer, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(payer);
  }
}
