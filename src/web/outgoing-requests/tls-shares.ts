/**
 * Shares of the thread for TLS with receivers. A handshake costs what the receiver's certificates make it cost, up to half a
 * second, in one piece, and what comes behind it what new keys cost. Who has taken more than its share waits, with the next
 * piece of its connections, until it is within it again: others' come first.
 */
import { SpentTime } from "../limits/spent-time.ts";

/** Of the time, for one payer: a hundred usual handshakes a second. */
const SHARE = 0.2;
/** So much at once is not too much. */
const AT_ONCE_MS = 200;
/** A piece of a usual handshake takes less. Nobody else's is read meanwhile, so one that takes ten times as long counts a hundred times. */
const USUAL_MS = 10;

/** How much processor time the process has used, in milliseconds. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export class TlsShares {
  readonly #now: () => number;
  readonly #processorMs: () => number;
  readonly #spent = new SpentTime(SHARE, AT_ONCE_MS);
  /** Of those that have taken too much, in order. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /**
   * @param now monotonic, in milliseconds
   * @param processor processor time that was used, in milliseconds
   */
  constructor(now: () => number = () => performance.now(), processor = processorMs) {
    this.#now = now;
    this.#processorMs = processor;
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
    const [begun, before] = [this.#now(), this.#processorMs()];
    work();
    const now = this.#now();
    // If the machine was paused meanwhile, that time was nobody's work.
    const took = Math.min(now - begun, this.#processorMs() - before);
    this.#spent.spend(payer, took * Math.max(took / USUAL_MS, 1), now);
  }

  #waitMs(payer: string): number {
    return Math.max(this.#spent.withinShareAt(payer) - this.#now(), 0);
  }
}
