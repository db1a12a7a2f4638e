/**
 * Bounds the connections of a server: in all, and from one address, so that one that opens many leaves room for others.
 * What is too much is dropped before a byte of it is read, and the log is told, in one line for all of a while.
 *
 * A connection ends that is flooded, with requests or with pieces of a body. An address that does it again and again
 * loses those of its connections on which no good token was shown, and gets no new ones for a while.
 */
import type { EventEmitter } from "node:events";
import type { RequestListener, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { rateLimitKey } from "../limits/address.ts";
import { Floods } from "./floods.ts";
import { FragmentCounter, hasBody } from "./fragmented-requests.ts";
import { HandshakePace } from "./handshake-pace.ts";
import { stopReadingAtOnce } from "./lingering-close.ts";
import { OpenConnections } from "./open-connections.ts";
import { tooManyPieces } from "./rejection.ts";
import { TlsOverhead } from "./tls-overhead.ts";
import { countUnanswered } from "./tracked-response.ts";

export interface ConnectionBounds {
  readonly most: number;
  /** Whether an address's connections carry the requests of many (`sharedBy`): only the bound on all of them applies. */
  readonly isShared: (address: string) => boolean;
  /** So many were dropped since it was last told. */
  readonly onDropped: (dropped: Dropped) => void;
}

export interface Dropped {
  readonly count: number;
  /** Of the first of them. */
  readonly address: string;
  readonly reason:
    | "too many connections"
    | "too many connections from one address"
    | "too many TLS handshakes from one address"
    | "idle while others need connections"
    | "too many requests at once on a connection"
    | "too many small pieces of requests"
    | "too many TLS messages without data"
    | "too many messages to a feed";
}

const TELL_EVERY_MS = 10_000;
/**
 * Requests of a connection that are not answered yet. Clients that send a second one before the first is answered are rare,
 * and none sends many.
 */
const MOST_UNANSWERED = 16;
/** Those of an address that wait behind another one on their connection. All of a connection are begun in one turn of the event loop. */
const MOST_BEHIND = 128;

/** The server makes its responses of `TrackedResponse`. */
export function boundConnections(server: Server, { most, isShared, onDropped }: ConnectionBounds): void {
  const tell = inGroups(onDropped);
  const openConnections = new OpenConnections(most);
  const floods = new Floods();
  server.maxConnections = most;
  server.on("drop", (data) => tell(data?.remoteAddress ?? "unknown", "too many connections"));
  const noteFlood = (socket: Socket, reason: Dropped["reason"], isBlockedAtOnce = false): void => {
    const address = socket.remoteAddress ?? "unknown";
    tell(address, reason);
    if (isShared(address)) return;
    if (isBlockedAtOnce) floods.block(address);
    else if (!floods.add(address)) return;
    for (const other of openConnections.othersWithoutToken(socket, address)) other.destroy();
  };
  const pace = server instanceof TlsServer ? new HandshakePace() : undefined;
  const keyOf = ({ remoteAddress = "", remotePort }: Socket): string =>
    isShared(remoteAddress) ? `${remoteAddress} ${remotePort}` : rateLimitKey(remoteAddress);
  const start = startOf(server);
  /** Starts a connection, now or later. @returns why it is dropped instead, if it is */
  const admit = (socket: Socket, address: string): Dropped["reason"] | undefined => {
    if (floods.isBlocked(address)) return FLOODED;
    if (!openConnections.add(address, socket, (idle) => tell(idle, "idle while others need connections")))
      return "too many connections from one address";
    const waitMs = pace === undefined ? 0 : pace.next(rateLimitKey(address));
    if (waitMs === undefined) return "too many TLS handshakes from one address";
    if (waitMs === 0) start(socket);
    // Nobody else listens for errors of a socket that waits.
    else
      setTimeout(
        start,
        waitMs,
        socket.on("error", () => undefined),
      ).unref();
    return undefined;
  };
  server.on("connection", (socket: Socket) => {
    floodReports.set(socket, noteFlood);
    // Undefined when it is gone already.
    const address = socket.remoteAddress;
    if (address === undefined || isShared(address)) return start(socket);
    const why = admit(socket, address);
    if (why === undefined) return;
    socket.destroy();
    tell(address, why);
  });
  server.on("secureConnection", (socket: Socket) => {
    floodReports.set(socket, noteFlood);
    openConnections.noteSecure(socket);
  });
  if (server instanceof TlsServer) {
    new TlsOverhead(server, keyOf, (socket) => {
      // No client does this by mistake.
      noteFlood(socket, "too many TLS messages without data", true);
      socket.destroy();
    });
  }
  boundRequests(server, isShared, keyOf, noteFlood);
}

const floodReports = new WeakMap<Socket, OnFlood>();

/** Counts a flood on a connection that is no longer HTTP. The caller ends the connection. */
export function reportFlood(socket: Socket): void {
  floodReports.get(socket)?.(socket, "too many messages to a feed");
}

/**
 * Takes over when a connection starts: Node's listeners start the TLS handshake or attach a parser, so a connection that is
 * dropped before costs neither.
 */
function startOf(server: Server): (socket: Socket) => void {
  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  // Started through an event of the server: a bug in it is contained like a bug in any other event.
  const events: EventEmitter = server;
  const started = Symbol("started");
  for (const listener of listeners) events.on(started, listener);
  return (socket) => {
    if (!socket.destroyed) events.emit(started, socket);
  };
}

const FLOODED = "too many requests at once on a connection";
const CUT_SMALL = "too many small pieces of requests";

type OnFlood = (socket: Socket, reason: Dropped["reason"]) => void;

/**
 * A read of a socket holds two thousand small requests, which Node hands over in one go, and before anybody else has a turn.
 * So past the bound none of them reaches a handler; and since each costs some microseconds all the same, the connection
 * ends. So it does when the bodies of an address come in too many pieces.
 */
function boundRequests(
  server: Server,
  isShared: (address: string) => boolean,
  keyOf: (socket: Socket) => string,
  onFlood: OnFlood,
): void {
  const handlers = server.listeners("request") as RequestListener[];
  const flooded = new WeakSet<Socket>();
  const fragments = new FragmentCounter();
  const behind = new Behind();
  const flood = (socket: Socket, reason: Dropped["reason"], end: () => void): void => {
    if (flooded.has(socket)) return;
    flooded.add(socket);
    stopReadingAtOnce(socket);
    // Not at once: Node is in the middle of reading the connection, and fails when its parser is gone.
    setImmediate(end);
    onFlood(socket, reason);
  };
  const cutOff = (socket: Socket): void => flood(socket, CUT_SMALL, () => refuse(server, socket));
  server.on("secureConnection", (socket: Socket) =>
    fragments.followRecords(socket, keyOf(socket), () => cutOff(socket)),
  );
  server.removeAllListeners("request");
  server.on("request", ((request, response) => {
    const { socket } = request;
    if (socket.destroyed || flooded.has(socket)) return;
    const unanswered = countUnanswered(response);
    if (unanswered > MOST_UNANSWERED || (unanswered > 1 && !behind.add(response, isShared)))
      return flood(socket, FLOODED, () => socket.destroy());
    fragments.begin(socket);
    if (hasBody(request)) fragments.follow(request, keyOf(socket), () => cutOff(socket));
    for (const handle of handlers) handle.call(server, request, response);
  }) satisfies RequestListener);
}

/** The requests of each address that came while another one of their connection was not answered. */
class Behind {
  readonly #counts = new Map<string, number>();

  /** Answers whether there was room for one more. */
  add(response: ServerResponse, isShared: (address: string) => boolean): boolean {
    const { remoteAddress = "" } = response.req.socket;
    if (isShared(remoteAddress)) return true;
    const network = rateLimitKey(remoteAddress);
    const count = this.#counts.get(network) ?? 0;
    if (count >= MOST_BEHIND) return false;
    this.#counts.set(network, count + 1);
    // Not before the turn is over: a quick response leaves before the next connection is read.
    response.once("close", () => setImmediate(() => this.#release(network)));
    return true;
  }

  #release(network: string): void {
    const left = (this.#counts.get(network) ?? 1) - 1;
    if (left === 0) this.#counts.delete(network);
    else this.#counts.set(network, left);
  }
}

/** In the words of its protocol, which each server has for what Node cannot read. */
function refuse(server: Server, socket: Socket): void {
  if (!server.emit("clientError", tooManyPieces(), socket)) socket.destroy();
}

/** Tells of the first at once, and of those after it when a while has passed. A flood must not fill the log too. */
function inGroups(onDropped: ConnectionBounds["onDropped"]): (address: string, reason: Dropped["reason"]) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (address, reason) => {
    count += 1;
    const now = performance.now();
    if (now < quietUntil) return;
    onDropped({ count, address, reason });
    quietUntil = now + TELL_EVERY_MS;
    count = 0;
  };
}
