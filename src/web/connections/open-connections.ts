/**
 * The open connections of all addresses that have a share (`Shares`). When there is no room for a new connection, one of an
 * address with more connections is closed, provided that it has no complete request in progress and no valid token was used
 * on it.
 */
import type { Socket } from "node:net";
import { networksOf } from "../limits/address.ts";
import { Shares } from "../limits/address-shares.ts";
import { awaitsCaller } from "./tracked-response.ts";

interface Open {
  readonly address: string;
  /**
   * The connection that carries requests. With TLS it is not the accepted one, which lies below it and is not to be destroyed
   * itself: Node would then emit the "close" of the upper one in the midst of its `destroy`, and free its parser while that
   * is at work.
   */
  carrier: Socket;
  /** Frees its place. */
  readonly leave: () => void;
}

/**
 * An address that has more connections may lose idle ones on which a good token was shown. One client, at a few
 * addresses, would have all of them for good otherwise.
 */
const PROTECTED = 64;

/**
 * Of an address or an IPv6 network of 48 bits, as many as ops/proxies lets it have. A connection with TLS holds 40 KB while it is
 * idle, and up to 300 KB with an unfinished request.
 */
const MOST_OF_ONE = 500;

/** Whose valid token was used on a connection. */
const known = new WeakMap<Socket, string>();

/** Records that a valid token of a customer was used on a connection. */
export function noteValidToken(socket: Socket, customer: string): void {
  known.set(socket, customer);
}

export class OpenConnections {
  readonly #shares: Shares<Open>;
  readonly #open = new Set<Open>();
  readonly #byPair = new Map<string, Open>();

  constructor(most: number) {
    this.#shares = new Shares(most, MOST_OF_ONE);
  }

  /** @returns whether there is room. `ended` is called with the address of a connection that was closed to make room. */
  add(address: string, socket: Socket, ended: (address: string) => void): boolean {
    if (!this.#shares.hasRoomFor(address)) {
      const idle = this.#findIdle(address);
      if (idle === undefined) return false;
      idle.leave();
      idle.carrier.destroy();
      ended(idle.address);
    }
    const pair = pairOf(socket);
    const open: Open = {
      ...{ address, carrier: socket },
      leave: () => {
        free();
        this.#open.delete(open);
        if (this.#byPair.get(pair) === open) this.#byPair.delete(pair);
      },
    };
    const free = this.#shares.take(address, open);
    this.#open.add(open);
    this.#byPair.set(pair, open);
    socket.once("close", open.leave);
    return true;
  }

  /** Whose connection may end for a newcomer: those with a good token last, and only of an address that has many. */
  #findIdle(address: string): Open | undefined {
    return (
      this.#shares.findSurplus(address, ({ carrier }) => awaitsCaller(carrier) && !known.has(carrier)) ??
      this.#shares.findSurplus(
        address,
        (open) => awaitsCaller(open.carrier) && this.#shares.heldAt(open.address) > PROTECTED,
      )
    );
  }

  /** To be called with the TLS connection after the handshake. */
  noteSecure(carrier: Socket): void {
    const open = this.#byPair.get(pairOf(carrier));
    if (open !== undefined) open.carrier = carrier;
  }

  /**
   * The other connections that a flood on this one ends: those of this network on which no valid token was used, or one of
   * the same customer. What they hold would be read next.
   */
  othersOfFlood(socket: Socket, network: string): readonly Socket[] {
    const own = this.#byPair.get(pairOf(socket));
    const customer = known.get(own?.carrier ?? socket);
    const isOther = ({ carrier }: Open): boolean => known.has(carrier) && known.get(carrier) !== customer;
    return [...this.#open]
      .filter((open) => open !== own && networksOf(open.address).includes(network) && !isOther(open))
      .map((open) => open.carrier);
  }
}

/**
 * The same for both objects of a TLS connection, and for no other: a client can connect from one port of its own to several
 * addresses of a server that listens on all.
 */
export function pairOf(socket: Socket): string {
  const remembered = pairs.get(socket);
  if (remembered !== undefined) return remembered;
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  const pair = `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
  pairs.set(socket, pair);
  return pair;
}

/** Node forgets a connection's own address when it closes. */
const pairs = new WeakMap<Socket, string>();
