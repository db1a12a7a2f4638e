/**
 * Ends a connection on which no more requests are read, without losing the answer that is on its way. To close a
 * connection on which bytes lie unread resets it, and a caller who still sends may then lose the answer unread. So what
 * comes is thrown away for a while, as bytes: Node's parser, which calls us for each chunk of a body, is not given it.
 */
import type { Socket } from "node:net";
import { SMALL_PIECE_BYTES } from "./fragmented-requests.ts";

/** For so long a caller may go on sending, and read its answer. */
const LINGER_MS = 1_000;
/** So many small pieces are thrown away. A record of TLS that holds one byte costs as much as one that holds 16 KiB. */
const MOST_SMALL_PIECES = 100;

/** Reads nothing more as requests. The connection stays open for what is still to be answered. */
export function stopReading(socket: Socket): void {
  // Not at once: where Node has paused a connection or is about to go on with it, it has to do so itself.
  setImmediate(() => {
    if (socket.isPaused()) socket.once("resume", () => stopReading(socket));
    else stopReadingAtOnce(socket);
  });
}

/** The same in the middle of a read, whatever is lost by it. */
export function stopReadingAtOnce(socket: Socket): void {
  if (socket.destroyed) return;
  let small = 0;
  // Node's parser is one of those that listen, and it reads past us only until somebody else listens.
  socket.removeAllListeners("data").on("data", ({ length }: Buffer) => {
    if (length >= SMALL_PIECE_BYTES) return;
    small += 1;
    if (small > MOST_SMALL_PIECES) socket.destroy();
  });
}

/** Has Node end the connection in this way, when its last answer has left. */
export function lingerAfterAnswer(socket: Socket): void {
  socket.destroySoon = () => linger(socket);
}

/** Ends the connection behind what was written to it, `last` included. */
export function linger(socket: Socket, last?: string): void {
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  if (last === undefined) socket.end();
  else socket.end(last);
}
