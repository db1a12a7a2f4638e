/**
 * Addresses that flood the server: with requests, with small pieces of requests, or with frames on a feed. One flood
 * costs what one read of a socket holds, about 20 ms, and ends its own connection only, because other clients may share
 * the address. Several within a second block new connections from the address for a while: a rejected connection costs
 * far less than a response that says so.
 */
import { rateLimitKey } from "../limits/address.ts";
import { CountsPerSecond } from "../limits/counts-per-second.ts";

/** Within a second, from one address and from all. */
const MAX_PER_ADDRESS = 2;
const MAX_TOTAL = 10;
export const BLOCK_MS = 10_000;
/** No address has this key. */
const ALL = "";

export class Floods {
  /** At most one entry per recent flood. */
  readonly #blocked = new Set<string>();
  readonly #counts = new CountsPerSecond();

  isBlocked(address: string): boolean {
    return this.#blocked.has(rateLimitKey(address));
  }

  /** Counts one flood. @returns whether its address is blocked from now on */
  add(address: string): boolean {
    const network = rateLimitKey(address);
    const total = this.#counts.add(ALL);
    if (this.#counts.add(network) <= MAX_PER_ADDRESS && total <= MAX_TOTAL) return false;
    this.block(address);
    return true;
  }

  block(address: string): void {
    const network = rateLimitKey(address);
    if (this.#blocked.has(network)) return;
    this.#blocked.add(network);
    setTimeout(() => this.#blocked.delete(network), BLOCK_MS).unref();
  }
}
