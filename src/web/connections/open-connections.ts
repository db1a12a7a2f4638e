/**
 * The open connections of those who have a share of them. Where there is no room for a newcomer, a connection of somebody
 * who has more of them than the newcomer ends, when no whole request is under way on it and no good token was shown on it.
 */
import type { Socket } from "node:net";
import { networksOf } from "../limits/address.ts";
import { Shares } from "../limits/address-shares.ts";
import { awaitsCaller } from "./tracked-response.ts";

interface Open {
  readonly address: string;
  /** The accepted connection, and the one that its requests arrive on: with TLS these differ. */
  readonly socket: Socket;
  carrier: Socket;
  /** Frees its place. */
  readonly leave: () => void;
}

const known = new WeakSet<Socket>();

/** Notes that a good token was shown on a connection. */
export function noteValidToken(socket: Socket): void {
  known.add(socket);
}

export class OpenConnections {
  readonly #shares: Shares<Open>;
  readonly #open = new Set<Open>();
  readonly #byPeer = new Map<string, Open>();

  constructor(most: number) {
    this.#shares = new Shares(most);
  }

  /** @returns Whether there is room. `ended` is called with the address of a connection that was closed to make it. */
  add(address: string, socket: Socket, ended: (address: string) => void): boolean {
    if (!this.#shares.hasRoomFor(address)) {
      const idle = this.#shares.findSurplus(address, ({ carrier }) => awaitsCaller(carrier) && !known.has(carrier));
      if (idle === undefined) return false;
      idle.leave();
      idle.socket.destroy();
      ended(idle.address);
    }
    const peer = peerOf(socket);
    const open: Open = {
      ...{ address, socket, carrier: socket },
      leave: () => {
        free();
        this.#open.delete(open);
        if (this.#byPeer.get(peer) === open) this.#byPeer.delete(peer);
      },
    };
    const free = this.#shares.take(address, open);
    this.#open.add(open);
    this.#byPeer.set(peer, open);
    socket.once("close", open.leave);
    return true;
  }

  /** Told of what TLS has made of a connection. */
  noteSecure(carrier: Socket): void {
    const open = this.#byPeer.get(peerOf(carrier));
    if (open !== undefined) open.carrier = carrier;
  }

  /** The other connections from around an address, but for those on which a good token was shown. */
  othersWithoutToken(socket: Socket, address: string): readonly Socket[] {
    const [network] = networksOf(address);
    const own = this.#byPeer.get(peerOf(socket));
    return [...this.#open]
      .filter((open) => open !== own && networksOf(open.address)[0] === network && !known.has(open.carrier))
      .map((open) => open.socket);
  }
}

/** The same on both sides of TLS. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
