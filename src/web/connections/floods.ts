/**
 * Addresses whose connections are flooded again and again. What a flood costs before it is noticed is what a read of a
 * socket holds, some 20 ms. Its own connection ends for one; when several come within a second, its address gets no new
 * connections for a while. Not for the first: others may share the address.
 */
import { networksOf } from "../limits/address.ts";

/** Within a second, from one address and from all. */
const MOST_OF_ONE = 2;
const MOST_OF_ALL = 10;
const SECOND_MS = 1_000;
const SHUT_OUT_MS = 10_000;

export class Floods {
  /** No more of them than floods were noticed lately. */
  readonly #shutOut = new Set<string>();
  #lately: string[] = [];
  #countedFrom = Number.NEGATIVE_INFINITY;

  isShutOut(address: string): boolean {
    return this.#shutOut.has(networksOf(address)[0]);
  }

  /** Counts one. Answers whether its address is shut out for it. */
  note(address: string): boolean {
    const [network] = networksOf(address);
    const now = performance.now();
    if (now - this.#countedFrom >= SECOND_MS) {
      this.#lately = [];
      this.#countedFrom = now;
    }
    this.#lately.push(network);
    const own = this.#lately.filter((one) => one === network).length;
    if (own <= MOST_OF_ONE && this.#lately.length <= MOST_OF_ALL) return false;
    this.#shutOut.add(network);
    setTimeout(() => this.#shutOut.delete(network), SHUT_OUT_MS).unref();
    return true;
  }
}
