/**
 * Bounds in how many pieces the bodies of requests come. Node hands over each chunk of a chunked body, and each record of
 * TLS, by a call and in a copy of its own: a read of 64 KiB holds eleven thousand chunks of one byte, and nobody else has
 * a turn before the last of them.
 *
 * A few of each request are free, so bodies as clients send them are never counted. What is past that is counted for
 * everybody at an address, by the second.
 */
import type { IncomingMessage } from "node:http";

/** Below this its bytes are not what a piece costs. */
export const SMALL_PIECE_BYTES = 512;
/** Of each request. */
const FREE = 16;
/** Some ten milliseconds of work. */
const MOST_A_SECOND = 2_000;
const SECOND_MS = 1_000;

/** Whether a request announces a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || headers["content-length"] !== undefined;
}

export class SmallPieces {
  readonly #now: () => number;
  #counts = new Map<string, number>();
  #countedFrom = Number.NEGATIVE_INFINITY;

  /** `now` answers milliseconds that only ever pass. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

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
      if (pieces <= FREE || this.#count(key) <= MOST_A_SECOND) return push(piece, encoding);
      isTooMany = true;
      onTooMany();
      return true;
    };
  }

  #count(key: string): number {
    const now = this.#now();
    if (now - this.#countedFrom >= SECOND_MS) {
      this.#counts = new Map();
      this.#countedFrom = now;
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count;
  }
}
