/**
 * Divides a number of places among addresses. An address may have as many as are left: alone it gets half of them, the next
 * one half of the rest, up to a bound that holds for each. The same applies to an IPv6 /48, and within it to each /64. So that
 * later addresses do not get ever less, a place may be taken from an address that has more (`findSurplus`).
 */
import { networksOf, rateLimitKey } from "./address.ts";

interface Place<Holder> {
  readonly address: string;
  readonly holder: Holder;
}

/** Places examined per new holder; the next one examines others. */
const LOOKED_AT = 32;
/** One place in so many is reserved for addresses without a share: loopback and trusted proxies. */
const KEPT = 20;

export class Shares<Holder = undefined> {
  readonly #most: number;
  readonly #mostOfOne: number;
  /** The least recently examined first. */
  readonly #places = new Set<Place<Holder>>();
  /** By network. */
  readonly #held = new Map<string, number>();
  #all = 0;

  /** @param mostOfOne of an address or a /48, however many are left */
  constructor(most: number, mostOfOne = most) {
    this.#most = most - Math.floor(most / KEPT);
    this.#mostOfOne = mostOfOne;
  }

  hasRoomFor(address: string): boolean {
    let room = this.#most - this.#all;
    for (const network of networksOf(address)) {
      const held = this.#of(network);
      if (held + 1 > Math.min(room, this.#mostOfOne)) return false;
      room -= held;
    }
    return true;
  }

  /** Finds a holder that may lose its place to a new one: of those examined, the one at the address with the most places. */
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

  /** Takes a place. @returns a function that frees it */
  take(address: string, holder: Holder): () => void {
    const networks = networksOf(address);
    const place = { address, holder };
    this.#places.add(place);
    this.#count(networks, 1);
    return () => {
      if (this.#places.delete(place)) this.#count(networks, -1);
    };
  }

  /** Whether `one` has more than `other` would have with one more, compared by the widest networks in which they differ. */
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
