/**
 * Paces the TLS handshakes of each address. A handshake takes a millisecond or more of the one thread, so an address that
 * opens connection after connection would delay all others. Connections beyond the pace wait for their handshake, in the
 * order of their arrival: a client that opens many at once gets all of them, a little later.
 */
const PER_SECOND = 100;
const INTERVAL_MS = 1_000 / PER_SECOND;
/** So many of an address that was quiet start without waiting. More at once would block the thread noticeably. */
const BURST = 20;
/** Clients do not wait much longer for a connection. */
const MAX_WAIT_MS = 5_000;
const SWEEP_MS = 1_000;

export class HandshakePace {
  readonly #now: () => number;
  /** When the next handshake of each address may start. Of an address that was quiet, `BURST` intervals ago. */
  readonly #nextAt = new Map<string, number>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  /** @param now monotonic, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @returns the milliseconds that one more handshake has to wait; undefined when it would wait too long */
  next(address: string): number | undefined {
    const now = this.#now();
    this.#sweep(now);
    const at = Math.max(this.#nextAt.get(address) ?? Number.NEGATIVE_INFINITY, full(now));
    if (at > now + MAX_WAIT_MS) return undefined;
    this.#nextAt.set(address, at + INTERVAL_MS);
    return Math.max(at - now, 0);
  }

  /** Forgets addresses that were quiet. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [address, at] of this.#nextAt) if (at <= full(now)) this.#nextAt.delete(address);
  }
}

const full = (now: number): number => now - (BURST - 1) * INTERVAL_MS;
