/**
 * Closes a connection without losing the last response. Closing a socket with unread bytes resets the connection, and a
 * caller that is still sending may then lose the response. So incoming bytes are discarded for a while before the close.
 * Node's parser is detached first: it would make a call for each chunk of a body.
 */
import type { Socket } from "node:net";
import { isLoopback, mostOf, networksOf } from "../limits/address.ts";
import { CountsPerSecond } from "../limits/counts-per-second.ts";
import { reportFlood } from "./flood-reports.ts";
import { SMALL_PIECE_BYTES } from "./fragmented-requests.ts";
import { holdReading, isHeld, releaseReading } from "./held-reads.ts";

/** How long a caller may read its response, and longer while it still sends: many read only when they have sent all. */
const LINGER_MS = 1_000;
/** As long as a request may take, and a longest body. */
const LONGEST_LINGER_MS = 30_000;
const MOST_LINGERING_BYTES = 2 * 1_024 * 1_024;
/** Small pieces that are discarded before the connection is destroyed. A TLS record of one byte costs as much as one of 16 KiB. */
const MOST_SMALL_PIECES = 100;

/**
 * Bytes that are discarded in a second, of an address and of all. At the rate of a fast line they would take all of the
 * thread's time. Of an address more than the longest body that a caller may send by mistake before it reads; of an IPv6
 * network of 48 bits four times as many.
 */
const MOST_OF_ADDRESS = 10 * 1_024 * 1_024;
const MOST_OF_ALL = 64 * 1_024 * 1_024;
/**
 * Connections of an address, past that, in a second: more are a flood. A caller whose token has expired may send long bodies on
 * several connections before it reads the first response, and must not block its address with them.
 */
const MOST_HELD = 20;
/** No address has this key. */
const ALL = "";

interface Counts {
  readonly discardedBytes: CountsPerSecond;
  readonly held: CountsPerSecond;
}

const OF_ALL_SERVERS: Counts = { discardedBytes: new CountsPerSecond(), held: new CountsPerSecond() };

const ending = new WeakSet<Socket>();

/** Whether a connection's last response is decided, and nothing behind its request is answered. */
export const isEnding = (socket: Socket): boolean => ending.has(socket);

/** Parses no further requests. The connection stays open for outstanding responses. */
export function stopReading(socket: Socket): void {
  const isPausedByNode = socket.isPaused() && !isHeld(socket);
  // It would be read on until then.
  if (!isPausedByNode) holdReading(socket);
  // Deferred: a connection that Node has paused has to be resumed by Node.
  setImmediate(() => {
    if (isPausedByNode && socket.isPaused()) return void socket.once("resume", () => stopReading(socket));
    stopReadingAtOnce(socket);
    if (!isPausedByNode) releaseReading(socket);
  });
}

/**
 * The same at once, in the middle of a read: bytes that Node has buffered are lost.
 * @param counts of all connections
 */
export function stopReadingAtOnce(socket: Socket, { discardedBytes, held }: Counts = OF_ALL_SERVERS): void {
  if (socket.destroyed) return;
  skipRestOfRead(socket);
  let small = 0;
  const { remoteAddress = "" } = socket;
  const networks = isLoopback(remoteAddress) ? [] : networksOf(remoteAddress);
  /** Counts for the address and for the IPv6 network of 48 bits that it is in. */
  const exceeds = (most: number, counts: CountsPerSecond, amount?: number): boolean =>
    networks.map((network, at) => counts.add(network, amount) > mostOf(networks, at, most)).includes(true);
  // Node's parser is one of the listeners. It reads the socket directly only while it is the only one.
  socket.removeAllListeners("data").on("data", ({ length }: Buffer) => {
    if (length < SMALL_PIECE_BYTES) small += 1;
    if (small > MOST_SMALL_PIECES) return void socket.destroy();
    const isTooMuchOfAll = discardedBytes.add(ALL, length) > MOST_OF_ALL;
    const isTooMuch = exceeds(MOST_OF_ADDRESS, discardedBytes, length);
    // Until it is closed. The caller can still read its response.
    if (isTooMuch || isTooMuchOfAll) holdReading(socket);
    // For the bytes of others no address is blocked.
    if (isTooMuch && exceeds(MOST_HELD, held)) reportFlood(socket, "too many bytes beside requests");
  });
}

/** Node's, of the head of a request: there is no body, and what follows is not HTTP. */
const NO_MORE_HTTP = 2;

/**
 * Node parses all that one read of the socket brought, also after the socket is destroyed: two thousand requests, which it
 * aborts one by one when the socket closes. After the next one its parser now stops, and nobody gets that.
 */
function skipRestOfRead(socket: Socket & { readonly parser?: { onIncoming?: OnIncoming } | null }): void {
  const { parser } = socket;
  if (parser === undefined || parser === null) return;
  parser.onIncoming = (request) => {
    request.upgrade = false;
    return NO_MORE_HTTP;
  };
}

type OnIncoming = (request: { upgrade: boolean }) => number;

/** Makes Node close the connection in this way once its last response has been sent. */
export function lingerAfterAnswer(socket: Socket): void {
  ending.add(socket);
  socket.destroySoon = () => linger(socket);
}

/** Closes the connection after everything written to it, including `last`. */
export function linger(socket: Socket, last?: string): void {
  const endsAtMs = performance.now() + LONGEST_LINGER_MS;
  const mostRead = socket.bytesRead + MOST_LINGERING_BYTES;
  let { bytesRead } = socket;
  const timer = setInterval(() => {
    const isSending = socket.bytesRead > bytesRead && socket.bytesRead <= mostRead && !isHeld(socket);
    ({ bytesRead } = socket);
    if (!isSending || performance.now() >= endsAtMs) socket.destroy();
  }, LINGER_MS).unref();
  socket.once("close", () => clearInterval(timer));
  if (last === undefined) socket.end();
  else socket.end(last);
}
