/**
 * Bounds in how many pieces requests come. Node hands over each chunk of a chunked body, and each record of TLS, by a call
 * and in a copy of its own: a read of 64 KiB holds eleven thousand chunks of one byte, and nobody else has a turn before
 * the last of them.
 *
 * A few of each request are free, so requests as clients send them are never counted. What is past that is counted for
 * everybody at an address, by the second.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { CountsPerSecond } from "../limits/per-second.ts";

/** Below this its bytes are not what a piece costs. */
export const SMALL_PIECE_BYTES = 512;
/** Of each request. */
const FREE = 16;
/** Some ten milliseconds of work. */
const MOST_A_SECOND = 2_000;

/** Whether a request announces a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || headers["content-length"] !== undefined;
}

export class FragmentCounter {
  readonly #counts = new CountsPerSecond();
  /** Small records of each TLS connection since its last request. */
  readonly #records = new WeakMap<Socket, number>();

  /** Counts those of a request for `key`. `onTooMany` is called once, and nothing more of the body is kept then. */
  follow(request: IncomingMessage, key: string, onTooMany: () => void): void {
    const push = request.push.bind(request);
    let pieces = 0;
    let isTooMany = false;
    // Node hands over what it has read of a body as every stream is given what it is to hold.
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
    // Who listens costs a few microseconds a record: Node's parser no longer reads past us.
    socket.on("data", ({ length }: Buffer) => {
      if (length >= SMALL_PIECE_BYTES) return;
      const records = (this.#records.get(socket) ?? 0) + 1;
      this.#records.set(socket, records);
      if (records > FREE && this.#counts.add(key) > MOST_A_SECOND) onTooMany();
    });
  }

  /** To be called for each request of a connection. */
  begin(socket: Socket): void {
    this.#records.delete(socket);
  }
}
