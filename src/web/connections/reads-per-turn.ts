/**
 * Bounds what is read in one turn of the event loop. Of each connection that has as much, Node reads up to 32 times 64 KiB
 * before it looks at the next one: a hundred that send at the rate of a fast line would hold up all others for seconds.
 */
import type { Socket } from "node:net";
import { holdReading, releaseReading } from "./held-reads.ts";

/** Beside one read of each connection. Each read is a buffer of its own, and many of them keep the garbage collector at work. */
const MOST_BYTES = 256 * 1_024;
/** A record of TLS. After a shorter read there is nothing more to read, and who sends that little need not wait for its turn. */
const LONG_READ_BYTES = 16 * 1_024;

export class ReadsPerTurn {
  #bytes = 0;

  /** To be called for each read. Past the bound the connection is read on in the next turn. */
  add(socket: Socket, length: number): void {
    if (this.#bytes === 0) setImmediate(() => (this.#bytes = 0));
    this.#bytes += length;
    if (this.#bytes <= MOST_BYTES || length < LONG_READ_BYTES || socket.isPaused()) return;
    holdReading(socket);
    setImmediate(() => releaseReading(socket));
  }
}
