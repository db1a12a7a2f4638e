/**
 * Addresses that flood the server: with requests, with small pieces of requests, or with frames on a feed. One flood ends
 * its own connection only, because other clients may share the address. Several within a second block new connections from
 * the address for a while: a rejected connection costs far less than a response that says so. Four times as many block an
 * IPv6 /48, or its holder would flood from one /64 of it after the other.
 */
import { ADDRESSES_OF_WIDE, networksOf, rateLimitKey } from "../limits/address.ts";
import { CountsPerSecond } from "../limits/counts-per-second.ts";

/** Within a second, from one address and from all. */
const MAX_PER_ADDRESS = 2;
const MAX_TOTAL = 10;
export const BLOCK_MS = 10_000;
/** Of one that floods again soon after a block has ended: each block is twice as long, so that floods stay few. */
const LONGEST_BLOCK_MS = 80_000;
/** No address has this key. */
const ALL = "";

export class Floods {
  /** At most one entry per recent flood. */
  readonly #blocked = new Set<string>();
  /** The last block of each network, for as long again after its end. */
  readonly #lastBlocks = new Map<string, { readonly ms: number }>();
  readonly #counts = new CountsPerSecond();

  isBlocked(address: string): boolean {
    return networksOf(address).some((network) => this.#blocked.has(network));
  }

  /** Counts one flood. @returns the network that is blocked from now on, if one is */
  add(address: string): string | undefined {
    const [first, second] = networksOf(address);
    const network = second ?? first;
    const total = this.#counts.add(ALL);
    const floods = this.#counts.add(network);
    if (second !== undefined && this.#counts.add(first) > MAX_PER_ADDRESS * ADDRESSES_OF_WIDE)
      return this.#block(first);
    return floods > MAX_PER_ADDRESS || total > MAX_TOTAL ? this.#block(network) : undefined;
  }

  /** @returns its network */
  block(address: string): string {
    return this.#block(rateLimitKey(address));
  }

  #block(network: string): string {
    if (this.#blocked.has(network)) return network;
    const last = this.#lastBlocks.get(network);
    const block = { ms: last === undefined ? BLOCK_MS : Math.min(2 * last.ms, LONGEST_BLOCK_MS) };
    this.#blocked.add(network);
    this.#lastBlocks.set(network, block);
    setTimeout(() => this.#blocked.delete(network), block.ms).unref();
    setTimeout(() => {
      if (this.#lastBlocks.get(network) === block) this.#lastBlocks.delete(network);
    }, 2 * block.ms).unref();
    return network;
  }
}
