/**
 * Paces the TLS handshakes of each address, on all servers of the process. A handshake takes some tenths of a millisecond of
 * the one thread with a key of P-256, and 6 ms with one of RSA with 4,096 bits, so an address that opens connection after
 * connection would delay all others. Connections beyond the pace wait for their handshake, in the
 * order of their arrival: a client that opens many at once gets all of them, a little later.
 *
 * The addresses of an IPv6 /48 have a pace together too: its holder has 65,536 networks of 64 bits. So have all addresses, for
 * those handshakes that are not an address's few: a dozen addresses at their pace would take all of the thread. What waits
 * for this one is taken in turn by address, or who opens most would make all others wait.
 */
import { ADDRESSES_OF_WIDE, networksOf } from "../limits/address.ts";

const SHORTEST_INTERVAL_MS = 10;
/** The handshakes of an address may take a tenth of the thread. */
const INTERVALS_PER_COST = 10;
/** So many of an address that was quiet start without waiting. More at once would block the thread noticeably. */
const BURST = 20;
/** All addresses together: four tenths of the thread. */
const ADDRESSES_OF_ALL = 4;
/** A tenth of an address's handshakes, and ten at once, do not wait for those of all: most clients need no more. */
const HANDSHAKES_OF_A_FREE_ONE = 10;
const FREE_AT_ONCE = 10;
/** Clients do not wait much longer for a connection. */
const MAX_WAIT_MS = 5_000;
const SWEEP_MS = 1_000;

/** A connection, which may be gone before its handshake starts. */
interface Connection {
  readonly destroyed: boolean;
}

interface Waiting {
  readonly connection: Connection;
  readonly start: () => void;
}

export class HandshakePace {
  readonly #now: () => number;
  readonly #narrow = new Starts();
  readonly #wide = new Starts();
  readonly #free = new Starts();
  readonly #all: InTurn;
  #sweptAt = Number.NEGATIVE_INFINITY;

  /** @param now monotonic, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#all = new InTurn(now);
    this.setCost(0);
  }

  /** @param ms what a handshake takes of the thread, with the key in use */
  setCost(ms: number): void {
    const intervalMs = Math.max(SHORTEST_INTERVAL_MS, INTERVALS_PER_COST * ms);
    // The burst of a slow key takes as long as twenty fast handshakes.
    const burst = Math.max(1, Math.floor((BURST * SHORTEST_INTERVAL_MS) / intervalMs));
    this.#narrow.setPace(intervalMs, burst);
    this.#wide.setPace(intervalMs / ADDRESSES_OF_WIDE, burst * ADDRESSES_OF_WIDE);
    this.#free.setPace(intervalMs * HANDSHAKES_OF_A_FREE_ONE, Math.min(burst, FREE_AT_ONCE));
    this.#all.setPace(intervalMs / ADDRESSES_OF_ALL, burst * ADDRESSES_OF_ALL);
  }

  /** Starts a handshake, now or later, unless its connection is gone then. @returns false when it would wait too long */
  admit(address: string, connection: Connection, start: () => void): boolean {
    const now = this.#now();
    this.#sweep(now);
    const [first, second] = networksOf(address);
    const narrow = second ?? first;
    const wide = second === undefined ? undefined : first;
    const isFree = this.#free.nextOf(narrow, now) <= now;
    const ownAt = Math.max(
      now,
      this.#narrow.nextOf(narrow, now),
      wide === undefined ? now : this.#wide.nextOf(wide, now),
    );
    const at = isFree ? ownAt : Math.max(ownAt, this.#all.expectedAt(first, now));
    if (at > now + MAX_WAIT_MS) return false;
    this.#narrow.take(narrow, now);
    if (wide !== undefined) this.#wide.take(wide, now);
    if (isFree) this.#free.take(narrow, now);
    const begin = isFree ? start : () => this.#all.add(first, { connection, start });
    if (ownAt === now) begin();
    else setTimeout(begin, ownAt - now).unref();
    return true;
  }

  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    this.#narrow.forgetQuiet(now);
    this.#wide.forgetQuiet(now);
    this.#free.forgetQuiet(now);
  }
}

/** When the next handshake of each network may start. */
class Starts {
  #intervalMs = 0;
  #burst = 1;
  /** Of a network that was quiet, `#burst` intervals ago. */
  readonly #nextAt = new Map<string, number>();

  setPace(intervalMs: number, burst: number): void {
    this.#intervalMs = intervalMs;
    this.#burst = burst;
  }

  nextOf(network: string, now: number): number {
    return Math.max(this.#nextAt.get(network) ?? Number.NEGATIVE_INFINITY, this.#full(now));
  }

  take(network: string, now: number): void {
    this.#nextAt.set(network, this.nextOf(network, now) + this.#intervalMs);
  }

  forgetQuiet(now: number): void {
    for (const [network, at] of this.#nextAt) if (at <= this.#full(now)) this.#nextAt.delete(network);
  }

  /** The next start of a network that was quiet. */
  #full(now: number): number {
    return now - (this.#burst - 1) * this.#intervalMs;
  }
}

/** Starts handshakes at the pace of all, one of each network at a time. */
class InTurn {
  readonly #now: () => number;
  #intervalMs = 0;
  #burst = 1;
  #nextAt = Number.NEGATIVE_INFINITY;
  /** The network whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  setPace(intervalMs: number, burst: number): void {
    this.#intervalMs = intervalMs;
    this.#burst = burst;
  }

  /** When one more of this network would start, if each of those that wait now has others all the time. */
  expectedAt(network: string, now: number): number {
    const own = this.#waiting.get(network);
    const networks = this.#waiting.size + (own === undefined ? 1 : 0);
    return this.#next(now) + (own?.length ?? 0) * networks * this.#intervalMs;
  }

  add(network: string, waiting: Waiting): void {
    const queue = this.#waiting.get(network);
    if (queue === undefined) this.#waiting.set(network, [waiting]);
    else queue.push(waiting);
    this.#startDue();
  }

  #startDue(): void {
    const now = this.#now();
    while (this.#waiting.size > 0) {
      const at = this.#next(now);
      if (at > now) {
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined;
          this.#startDue();
        }, at - now).unref();
        return;
      }
      const waiting = this.#takeOne();
      if (waiting === undefined) continue;
      this.#nextAt = at + this.#intervalMs;
      waiting.start();
    }
  }

  #next(now: number): number {
    return Math.max(this.#nextAt, now - (this.#burst - 1) * this.#intervalMs);
  }

  /** @returns undefined when all of the first network are gone */
  #takeOne(): Waiting | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [network, queue] = first;
    let next = queue.shift();
    while (next?.connection.destroyed === true) next = queue.shift();
    this.#waiting.delete(network);
    if (queue.length > 0) this.#waiting.set(network, queue);
    return next;
  }
}
