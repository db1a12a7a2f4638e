/**
 * Limits the small pieces in which requests arrive. Node makes a call and a copy for each chunk of a chunked body and for
 * each TLS record: a read of 64 KiB may hold eleven thousand chunks of one byte, all processed in one turn of the event loop.
 *
 * The first pieces of each request are free, so requests of ordinary clients are never counted. Further ones count per
 * address and second, and per IPv6 network of 48 bits.
 *
 * Limits also what a connection brings beside heads of requests and their content. Node's parser skips it without a bound:
 * empty lines before a request, blanks in its head, extensions of chunks.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { ADDRESSES_OF_WIDE } from "../limits/address.ts";
import { CountsPerSecond } from "../limits/counts-per-second.ts";

/** Below this size the cost of a piece does not depend on its bytes. */
export const SMALL_PIECE_BYTES = 512;
/** Per request. */
const FREE = 16;
/** About ten milliseconds of work. */
const MOST_A_SECOND = 2_000;
/** Twice what a head may have. Many chunks of a body may have extensions of 16 KiB each. */
const MOST_SKIPPED_BYTES = 128 * 1_024;

export type Excess = "small pieces" | "skipped bytes";

/** The networks of an address, the widest of two first (`networksOf`), or of a shared one the connection. */
export type Keys = readonly [string, ...string[]];

/** Whether the headers announce content. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** No longer HTTP. */
const handedOver = new WeakSet<Socket>();

/** To be called when a connection becomes a WebSocket. */
export const noteHandedOver = (socket: Socket): unknown => handedOver.add(socket);

export class FragmentCounter {
  readonly #counts = new CountsPerSecond();
  /** Small records of each TLS connection since its last request. */
  readonly #records = new WeakMap<Socket, number>();
  /** Of the bytes of each connection: all up to its last head, and content. */
  readonly #accounted = new WeakMap<Socket, number>();

  /**
   * Counts the pieces of a body for `keys`, and what was sent beside its content. Over a limit `onTooMany` is called once, and
   * the rest of the body is dropped.
   */
  follow(request: IncomingMessage, keys: Keys, onTooMany: (excess: Excess) => void): void {
    const { socket } = request;
    const push = request.push.bind(request);
    let pieces = 0;
    let excess: Excess | undefined;
    const excessWith = (length: number): Excess | undefined => {
      this.#accounted.set(socket, (this.#accounted.get(socket) ?? 0) + length);
      if (this.#skipsTooMuch(socket)) return "skipped bytes";
      if (length >= SMALL_PIECE_BYTES) return undefined;
      pieces += 1;
      return pieces > FREE && this.#isTooMany(keys) ? "small pieces" : undefined;
    };
    // Node's parser passes each piece of a body to `push`, as with any readable stream.
    request.push = (piece: Buffer | null, encoding) => {
      if (excess !== undefined) return true;
      if (piece !== null) excess = excessWith(piece.length);
      if (excess === undefined) return push(piece, encoding);
      onTooMany(excess);
      return true;
    };
  }

  /**
   * Counts the bytes of a connection, and the small records of one with TLS for `keys`. `onTooMany` may be called more than
   * once.
   */
  followReads(socket: Socket, keys: Keys | undefined, onTooMany: (excess: Excess) => void): void {
    // Costs 4 microseconds a read: with a listener Node's parser no longer reads the socket directly.
    socket.on("data", ({ length }: Buffer) => {
      if (this.#skipsTooMuch(socket)) return onTooMany("skipped bytes");
      if (keys === undefined || length >= SMALL_PIECE_BYTES) return;
      const records = (this.#records.get(socket) ?? 0) + 1;
      this.#records.set(socket, records);
      if (records > FREE && this.#isTooMany(keys)) onTooMany("small pieces");
    });
  }

  /** To be called when a request's head is complete: counting starts again. */
  begin(socket: Socket): void {
    this.#records.delete(socket);
    this.#accounted.set(socket, socket.bytesRead);
  }

  #isTooMany([first, second]: Keys): boolean {
    const ofFirst = this.#counts.add(first);
    if (second === undefined) return ofFirst > MOST_A_SECOND;
    return this.#counts.add(second) > MOST_A_SECOND || ofFirst > ADDRESSES_OF_WIDE * MOST_A_SECOND;
  }

  #skipsTooMuch(socket: Socket): boolean {
    return socket.bytesRead - (this.#accounted.get(socket) ?? 0) > MOST_SKIPPED_BYTES && !handedOver.has(socket);
  }
}
