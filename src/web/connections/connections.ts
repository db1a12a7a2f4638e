/**
 * Limits the connections of a server, in total and per address, so that an address that opens many leaves room for
 * others, and how fast an address opens new ones. Connections over a limit are dropped before a byte is read, and reported in
 * groups.
 *
 * A connection that floods the server with requests, or with small pieces of a request, is closed. An address that floods
 * repeatedly loses all its connections, except those on which another customer has used a valid token, and gets no new ones
 * for a while.
 */
import type { EventEmitter } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { mostOf, networksOf } from "../limits/address.ts";
import { ConnectionPace } from "./connection-pace.ts";
import { Floods } from "./flood-blocks.ts";
import { type FloodReason, noteFloodReport, type OnFlood } from "./flood-reports.ts";
import { type Excess, FragmentCounter, hasBody, type Keys } from "./fragmented-requests.ts";
import { holdReading } from "./held-reads.ts";
import { stopReadingAtOnce } from "./lingering-close.ts";
import { OpenConnections, pairOf } from "./open-connections.ts";
import { ReadsPerTurn } from "./reads-per-turn.ts";
import { excessive } from "./reject-connection.ts";
import { boundHandshakes } from "./tls-handshakes.ts";
import { countUnanswered, isPipelined } from "./tracked-response.ts";

export interface ConnectionBounds {
  readonly most: number;
  /** Whether many callers share the address (`sharedBy`). Only the total limit applies to it. */
  readonly isShared: (address: string) => boolean;
  /** Called with the number of connections dropped since the last call. */
  readonly onDropped: (dropped: Dropped) => void;
  /** One for all servers of the process, which share its thread. Absent: one of its own. */
  readonly pace?: Pick<ConnectionPace, "admit"> | undefined;
}

export interface Dropped {
  readonly count: number;
  /** Of the first one. */
  readonly address: string;
  readonly reason:
    | "too many connections"
    | "too many connections from one address"
    | "too many new connections from one address"
    | "idle while others need connections"
    | FloodReason;
}

const REPORT_INTERVAL_MS = 10_000;
/** Unanswered requests of one connection. Clients that pipeline at all are rare, and none pipelines many requests. */
const MOST_UNANSWERED = 16;
/**
 * Pipelined requests of one address; four times as many of an IPv6 network of 48 bits. Node starts all requests of one read in
 * the same turn of the event loop, and those with long heads take memory: 60 KB count as 15 requests.
 */
const MOST_BEHIND = 128;
const BYTES_OF_ONE = 4_096;

/** In requests with short heads. */
function weightOf({ url = "", rawHeaders }: IncomingMessage): number {
  let bytes = url.length;
  for (const { length } of rawHeaders) bytes += length;
  return Math.max(1, Math.ceil(bytes / BYTES_OF_ONE));
}

/** @param server one whose responses are of the class `TrackedResponse` */
export function boundConnections(server: Server, bounds: ConnectionBounds): void {
  const { most, isShared, onDropped, pace = new ConnectionPace() } = bounds;
  const report = reportInGroups(onDropped);
  const openConnections = new OpenConnections(most);
  const floods = new Floods();
  server.maxConnections = most;
  server.on("drop", (data) => report(data?.remoteAddress ?? "unknown", "too many connections"));
  const noteFlood = (socket: Socket, reason: FloodReason, isBlockedAtOnce = false): void => {
    const address = socket.remoteAddress ?? "unknown";
    report(address, reason);
    if (isShared(address)) return;
    const network = isBlockedAtOnce ? floods.block(address) : floods.add(address);
    if (network === undefined) return;
    for (const other of openConnections.othersOfFlood(socket, network)) other.destroy();
  };
  const keysOf = (socket: Socket): Keys => {
    const { remoteAddress = "" } = socket;
    return isShared(remoteAddress) ? [pairOf(socket)] : networksOf(remoteAddress);
  };
  const start = startOf(server);
  /** Starts a connection, now or later. @returns why it is dropped instead, if it is */
  const admit = (socket: Socket, address: string): Dropped["reason"] | undefined => {
    if (floods.isBlocked(address)) return FLOODED;
    if (!openConnections.add(address, socket, (idle) => report(idle, "idle while others need connections")))
      return "too many connections from one address";
    // A socket that waits has no other listener for errors.
    socket.on("error", () => undefined);
    if (!pace.admit(address, socket, () => start(socket))) return "too many new connections from one address";
    return undefined;
  };
  // A connection that was reset before its address was asked for has none, but what it sent could still be read. No request
  // is served whose caller has no address. Node remembers an address that it has once found.
  server.on("connection", (socket: Socket) => {
    noteFloodReport(socket, noteFlood);
    const address = socket.remoteAddress;
    if (address === undefined) return void socket.destroy();
    if (isShared(address)) return start(socket);
    const why = admit(socket, address);
    if (why === undefined) return;
    socket.destroy();
    report(address, why);
  });
  server.on("secureConnection", (socket: Socket) => {
    endReading(socket);
    if (socket.remoteAddress === undefined) socket.destroy();
    noteFloodReport(socket, noteFlood);
    openConnections.noteSecure(socket);
  });
  if (server instanceof TlsServer) {
    boundHandshakes(server, (socket) => {
      // No client does this by mistake.
      noteFlood(socket, "an endless TLS handshake", true);
      socket.destroy();
    });
  }
  boundRequests(server, isShared, keysOf, noteFlood);
}

/** The event of a server with each connection that starts. */
const STARTED = Symbol("started");

/**
 * Takes over when a connection starts: Node's listeners start the TLS handshake or attach a parser, so a connection that is
 * dropped before costs neither.
 */
function startOf(server: Server): (socket: Socket) => void {
  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  // Started through an event of the server: a bug in it is contained like a bug in any other event.
  const events: EventEmitter = server;
  for (const listener of listeners) events.on(STARTED, listener);
  return (socket) => {
    endReading(socket);
    if (!socket.destroyed) events.emit(STARTED, socket);
  };
}

/** When a connection closes, Node frees its parser for another one: what is still buffered must not get there. */
function endReading(socket: Socket): void {
  socket.prependOnceListener("close", () => socket.removeAllListeners("data"));
}

const FLOODED = "too many requests at once on a connection";
const REASONS = {
  "small pieces": "too many small pieces of requests",
  "skipped bytes": "too many bytes beside requests",
} as const satisfies Record<Excess, FloodReason>;

/**
 * One read of a socket may hold two thousand small requests, and Node emits them all in one turn of the event loop. Past
 * the limit none is emitted, and the connection is closed. The same happens when the requests of an address arrive in too
 * many small pieces, and when a connection brings too much beside requests.
 */
function boundRequests(
  server: Server,
  isShared: (address: string) => boolean,
  keysOf: (socket: Socket) => Keys,
  onFlood: OnFlood,
): void {
  const handlers = server.listeners("request") as RequestListener[];
  const flooded = new WeakSet<Socket>();
  const fragments = new FragmentCounter();
  const reads = new ReadsPerTurn();
  const behind = new Behind();
  const flood = (socket: Socket, reason: FloodReason, end: () => void): void => {
    if (flooded.has(socket)) return;
    flooded.add(socket);
    stopReadingAtOnce(socket);
    // Otherwise Node would read up to 2 MiB more in this turn.
    holdReading(socket);
    // Deferred: Node is still reading the connection, and fails when its parser disappears meanwhile.
    setImmediate(end);
    onFlood(socket, reason);
  };
  const cutOff = (socket: Socket, excess: Excess): void =>
    flood(socket, REASONS[excess], () => reject(server, socket, excess));
  const followReads = (socket: Socket, keys?: Keys): void => {
    fragments.followReads(socket, keys, (excess) => cutOff(socket, excess));
    socket.on("data", ({ length }: Buffer) => reads.add(socket, length));
  };
  const events: EventEmitter = server;
  if (server instanceof TlsServer)
    events.on("secureConnection", (socket: Socket) => followReads(socket, keysOf(socket)));
  else
    events.on(STARTED, (socket: Socket) => {
      // What comes through a proxy has been parsed there.
      if (!isShared(socket.remoteAddress ?? "")) followReads(socket);
    });
  server.removeAllListeners("request");
  server.on("request", ((request, response) => {
    const { socket } = request;
    if (socket.destroyed || flooded.has(socket)) return;
    if (countUnanswered(response) > MOST_UNANSWERED || (isPipelined(response) && !behind.add(response, isShared)))
      return flood(socket, FLOODED, () => socket.destroy());
    fragments.begin(socket);
    if (hasBody(request)) fragments.follow(request, keysOf(socket), (excess) => cutOff(socket, excess));
    for (const handle of handlers) handle.call(server, request, response);
  }) satisfies RequestListener);
}

/** Counts pipelined requests by address, in requests with short heads: those that arrived behind an unanswered one on their connection. */
class Behind {
  readonly #counts = new Map<string, number>();

  /** @returns whether one more is within the limit */
  add(response: ServerResponse, isShared: (address: string) => boolean): boolean {
    const { remoteAddress = "" } = response.req.socket;
    if (isShared(remoteAddress)) return true;
    const networks = networksOf(remoteAddress);
    const weight = weightOf(response.req);
    const isFull = (network: string, at: number): boolean =>
      (this.#counts.get(network) ?? 0) + weight > mostOf(networks, at, MOST_BEHIND);
    if (networks.some(isFull)) return false;
    for (const network of networks) this.#count(network, weight);
    // Counted until the end of the turn: a fast response completes before the next connection is read.
    response.once("close", () =>
      setImmediate(() => {
        for (const network of networks) this.#count(network, -weight);
      }),
    );
    return true;
  }

  #count(network: string, weight: number): void {
    const count = (this.#counts.get(network) ?? 0) + weight;
    if (count === 0) this.#counts.delete(network);
    else this.#counts.set(network, count);
  }
}

/** Through `clientError`, for which each server has a response in its own format. */
function reject(server: Server, socket: Socket, excess: Excess): void {
  if (!server.emit("clientError", excessive(excess), socket)) socket.destroy();
}

/** Reports the first dropped connection at once and later ones in groups, so that a flood does not flood the log. */
function reportInGroups(
  onDropped: ConnectionBounds["onDropped"],
): (address: string, reason: Dropped["reason"]) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (address, reason) => {
    count += 1;
    const now = performance.now();
    if (now < quietUntil) return;
    onDropped({ count, address, reason });
    quietUntil = now + REPORT_INTERVAL_MS;
    count = 0;
  };
}
