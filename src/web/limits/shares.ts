/**
 * Places of which everybody may have as many as are left: one address alone has half of them, the next one half of the
 * rest. Of an IPv6 network of 48 bits the same holds, and in it of each one of 64 bits. So that those who come later are
 * not left with ever less, a place may be taken from somebody who has more (`hasMoreThan`).
 */
import { networksOf } from "./address.ts";

/** Of all places one in so many is kept for who has no share: the machine itself, and proxies. */
const KEPT = 20;

export class Shares {
  readonly #most: number;
  /** By network. */
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(most: number) {
    this.#most = most - Math.floor(most / KEPT);
  }

  hasRoomFor(address: string): boolean {
    let room = this.#most - this.#all;
    for (const network of networksOf(address)) {
      const held = this.#of(network);
      if (held + 1 > room) return false;
      room -= held;
    }
    return true;
  }

  /** Whether `one` has more than `other` would have with one more, where they are not in the same network. */
  hasMoreThan(one: string, other: string): boolean {
    const networks = networksOf(one);
    const others = networksOf(other);
    for (const [at, network] of networks.entries()) {
      const compared = others[at] ?? others[0];
      if (network !== compared) return this.#of(network) > this.#of(compared) + 1;
    }
    return false;
  }

  /** How many are held by the widest network of an address. */
  heldAround(address: string): number {
    return this.#of(networksOf(address)[0]);
  }

  /** Takes a place, which is free again when the function that it answers is called. */
  take(address: string): () => void {
    const networks = networksOf(address);
    this.#count(networks, 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#count(networks, -1);
      isHeld = false;
    };
  }

  #of(network: string): number {
    return this.#held.get(network) ?? 0;
  }

  #count(networks: readonly string[], change: 1 | -1): void {
    this.#all += change;
    for (const network of networks) {
      const held = this.#of(network) + change;
      if (held === 0) this.#held.delete(network);
      else this.#held.set(network, held);
    }
  }
}
