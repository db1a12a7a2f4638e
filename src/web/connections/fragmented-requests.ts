/**
 * Limits the small pieces in which requests arrive. Node makes a call and a copy for each chunk of a chunked body and for
 * each TLS record: a read of 64 KiB may hold eleven thousand chunks of one byte, all processed in one turn of the event loop.
 *
 * The first pieces of each request are free, so requests of ordinary clients are never counted. Further ones count per
 * address and second.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { CountsPerSecond } from "../limits/counts-per-second.ts";

/** Below this size the cost of a piece does not depend on its bytes. */
export const SMALL_PIECE_BYTES = 512;
/** Per request. */
const FREE = 16;
/** About ten milliseconds of work. */
const MOST_A_SECOND = 2_000;

/** Whether the headers announce content. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

export class FragmentCounter {
  readonly #counts = new CountsPerSecond();
  /** Small records of each TLS connection since its last request. */
  readonly #records = new WeakMap<Socket, number>();

  /** Counts the pieces of a body for `key`. Over the limit `onTooMany` is called once, and the rest of the body is dropped. */
  follow(request: IncomingMessage, key: string, onTooMany: () => void): void {
    const push = request.push.bind(request);
    let pieces = 0;
    let isTooMany = false;
    // Node's parser passes each piece of a body to `push`, as with any readable stream.
    request.push = (piece: Buffer | null, encoding) => {
      if (isTooMany) return true;
      if (piece === null || piece.length >= SMALL_PIECE_BYTES) return push(piece, encoding);
      pieces += 1;
      if (pieces <= FREE || this.#counts.add(key) <= MOST_A_SECOND) return push(piece, encoding);
      isTooMany = true;
      onTooMany();
      return true;
    };
  }

  /** Counts the records of a TLS connection for `key`. `onTooMany` may be called more than once. */
  followRecords(socket: Socket, key: string, onTooMany: () => void): void {
    // Costs 4 microseconds a record: with a listener Node's parser no longer reads the socket directly.
    socket.on("data", ({ length }: Buffer) => {
      if (length >= SMALL_PIECE_BYTES) return;
      const records = (this.#records.get(socket) ?? 0) + 1;
      this.#records.set(socket, records);
      if (records > FREE && this.#counts.add(key) > MOST_A_SECOND) onTooMany();
    });
  }

  /** To be called when a request's head is complete: counting starts again. */
  begin(socket: Socket): void {
    this.#records.delete(socket);
  }
}
