/**
 * Paces the TLS handshakes of each address, on all servers of the process. A handshake takes some tenths of a millisecond of
 * the one thread with a key of P-256, and 6 ms with one of RSA with 4,096 bits, so an address that opens connection after
 * connection would delay all others. Connections beyond the pace wait for their handshake, in the
 * order of their arrival: a client that opens many at once gets all of them, a little later.
 */
const SHORTEST_INTERVAL_MS = 10;
/** The handshakes of an address may take a tenth of the thread. */
const INTERVALS_PER_COST = 10;
/** So many of an address that was quiet start without waiting. More at once would block the thread noticeably. */
const BURST = 20;
/** Clients do not wait much longer for a connection. */
const MAX_WAIT_MS = 5_000;
const SWEEP_MS = 1_000;

export class HandshakePace {
  readonly #now: () => number;
  #intervalMs = SHORTEST_INTERVAL_MS;
  /** When the next handshake of each address may start. Of an address that was quiet, `BURST` intervals ago. */
  readonly #nextAt = new Map<string, number>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  /** @param now monotonic, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @param ms what a handshake takes of the thread, with the key in use */
  setCost(ms: number): void {
    this.#intervalMs = Math.max(SHORTEST_INTERVAL_MS, INTERVALS_PER_COST * ms);
  }

  /** @returns the milliseconds that one more handshake has to wait; undefined when it would wait too long */
  next(address: string): number | undefined {
    const now = this.#now();
    this.#sweep(now);
    const at = Math.max(this.#nextAt.get(address) ?? Number.NEGATIVE_INFINITY, this.#full(now));
    if (at > now + MAX_WAIT_MS) return undefined;
    this.#nextAt.set(address, at + this.#intervalMs);
    return Math.max(at - now, 0);
  }

  /** Forgets addresses that were quiet. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [address, at] of this.#nextAt) if (at <= this.#full(now)) this.#nextAt.delete(address);
  }

  /** The next start of an address that was quiet: its burst takes as long as twenty fast handshakes. */
  #full(now: number): number {
    const burst = Math.max(1, Math.floor((BURST * SHORTEST_INTERVAL_MS) / this.#intervalMs));
    return now - (burst - 1) * this.#intervalMs;
  }
}
