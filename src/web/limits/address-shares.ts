/**
 * Places of which everybody may have as many as are left: one address alone has half of them, the next one half of the
 * rest. Of an IPv6 network of 48 bits the same holds, and in it of each one of 64 bits. So that those who come later are
 * not left with ever less, a place may be taken from somebody who has more (`findSurplus`).
 */
import { networksOf, rateLimitKey } from "./address.ts";

interface Place<Holder> {
  readonly address: string;
  readonly holder: Holder;
}

/** So many places are looked at for a newcomer, and others for the next one. */
const LOOKED_AT = 32;
/** Of all places one in so many is kept for who has no share: the machine itself, and proxies. */
const KEPT = 20;

export class Shares<Holder = undefined> {
  readonly #most: number;
  /** First those that were looked at least lately. */
  readonly #places = new Set<Place<Holder>>();
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

  /** Who may lose a place for a newcomer that has no room: of a few the one at the address that has most, if it has more. */
  findSurplus(address: string, mayLose: (holder: Holder) => boolean): Holder | undefined {
    let found: Place<Holder> | undefined;
    for (const place of this.#next()) {
      if (!mayLose(place.holder) || !this.#hasMore(place.address, address)) continue;
      if (found === undefined || this.#hasMore(place.address, found.address)) found = place;
    }
    return found?.holder;
  }

  /** How many places an address has, an IPv6 one with all of its network of 64 bits. */
  heldAt(address: string): number {
    return this.#of(rateLimitKey(address));
  }

  /** Takes a place, which is free again when the function that it answers is called. */
  take(address: string, holder: Holder): () => void {
    const networks = networksOf(address);
    const place = { address, holder };
    this.#places.add(place);
    this.#count(networks, 1);
    return () => {
      if (this.#places.delete(place)) this.#count(networks, -1);
    };
  }

  /** Whether `one` has more than `other` would have with one more, in the widest networks in which they are not together. */
  #hasMore(one: string, other: string): boolean {
    const others = networksOf(other);
    for (const [at, network] of networksOf(one).entries()) {
      const compared = others[at] ?? others[0];
      if (network !== compared) return this.#of(network) > this.#of(compared) + 1;
    }
    return false;
  }

  #next(): readonly Place<Holder>[] {
    const few: Place<Holder>[] = [];
    for (const place of this.#places) {
      if (few.push(place) === LOOKED_AT) break;
    }
    for (const place of few) {
      this.#places.delete(place);
      this.#places.add(place);
    }
    return few;
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
