/**
 * Paces the new connections of each address, on all servers of the process. A connection, its TLS handshake and a request
 * that is rejected take about a millisecond of the one thread, and a handshake with a key of RSA with 4,096 bits takes 6 ms
 * more, so an address that opens connection after connection would delay all others. Connections beyond the pace wait
 * in the order of their arrival: a client that opens many at once gets all of them, a little later.
 *
 * The addresses of an IPv6 /48 have a pace together too: its holder has 65,536 networks of 64 bits. So have all addresses, for
 * those connections that are not the few of an address or /48: a dozen at their pace would take all of the thread. What waits
 * for this one is taken in turn by address or /48, or who opens most would make all others wait.
 */
import { QueuesInTurn } from "../../std/queues-in-turn.ts";
import { networksOf } from "../limits/address.ts";

/** What a connection takes of the thread, beside its TLS handshake: with a request that is rejected, and its end. */
const CONNECTION_MS = 0.6;
/** The new connections of an address may take a tenth of the thread. */
const INTERVALS_PER_COST = 10;
/** Of an address that was quiet as many start without waiting as may in this time. More at once would block the thread noticeably. */
const BURST_MS = 200;
/** A /48 as many as two addresses. With four times as many its holder delayed all others noticeably. */
const PACES_OF_WIDE = 2;
/** All addresses together as many as three. */
const PACES_OF_ALL = 3;
/** A tenth of an address's connections, and ten at once, do not wait for those of all: most clients need no more. */
const CONNECTIONS_OF_A_FREE_ONE = 10;
const FREE_AT_ONCE = 10;
/** Clients do not wait much longer for a connection. */
const MAX_WAIT_MS = 5_000;
const SWEEP_MS = 1_000;

/** A connection, which may be gone before its turn. */
interface Connection {
  readonly destroyed: boolean;
}

interface Waiting {
  readonly connection: Connection;
  readonly start: () => void;
}

export class ConnectionPace {
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

  /** @param ms what a TLS handshake takes of the thread, with the key in use */
  setCost(ms: number): void {
    const intervalMs = INTERVALS_PER_COST * (CONNECTION_MS + ms);
    const burst = Math.max(1, Math.floor(BURST_MS / intervalMs));
    this.#narrow.setPace(intervalMs, burst);
    this.#wide.setPace(intervalMs / PACES_OF_WIDE, burst * PACES_OF_WIDE);
    this.#free.setPace(intervalMs * CONNECTIONS_OF_A_FREE_ONE, Math.min(burst, FREE_AT_ONCE));
    this.#all.setPace(intervalMs / PACES_OF_ALL, burst * PACES_OF_ALL);
  }

  /** Starts a connection, now or later, unless it is gone then. @returns false when it would wait too long */
  admit(address: string, connection: Connection, start: () => void): boolean {
    const now = this.#now();
    this.#sweep(now);
    const [first, second] = networksOf(address);
    const narrow = second ?? first;
    const wide = second === undefined ? undefined : first;
    const isFree = this.#free.nextOf(first, now) <= now;
    const ownAt = Math.max(
      now,
      this.#narrow.nextOf(narrow, now),
      wide === undefined ? now : this.#wide.nextOf(wide, now),
    );
    const at = isFree ? ownAt : Math.max(ownAt, this.#all.expectedAt(first, now));
    if (at > now + MAX_WAIT_MS) return false;
    this.#narrow.take(narrow, now);
    if (wide !== undefined) this.#wide.take(wide, now);
    if (isFree) this.#free.take(first, now);
    const begin = isFree ? start : () => this.#all.add(first, { connection, start });
    if (ownAt === now) begin();
    else setTimeout(() => connection.destroyed || begin(), ownAt - now).unref();
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

/** When the next connection of each network may start. */
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

/** Starts connections at the pace of all, one of each network at a time. */
class InTurn {
  readonly #now: () => number;
  #intervalMs = 0;
  #burst = 1;
  #nextAt = Number.NEGATIVE_INFINITY;
  /** By network. */
  readonly #waiting = new QueuesInTurn<string, Waiting>();
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
    const own = this.#waiting.lengthOf(network);
    const networks = this.#waiting.size + (own === 0 ? 1 : 0);
    return this.#next(now) + own * networks * this.#intervalMs;
  }

  add(network: string, waiting: Waiting): void {
    this.#waiting.add(network, waiting);
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
      const waiting = this.#waiting.next(({ connection }) => connection.destroyed);
      if (waiting === undefined) continue;
      this.#nextAt = at + this.#intervalMs;
      waiting.start();
    }
  }

  #next(now: number): number {
    return Math.max(this.#nextAt, now - (this.#burst - 1) * this.#intervalMs);
  }
}
