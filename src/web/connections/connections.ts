/**
 * Bounds the connections of a server: in all, and from one address, so that one that opens many leaves room for others.
 * What is too much is dropped before a byte of it is read, and the log is told, in one line for all of a while.
 *
 * An address that floods one of its connections with requests loses all of them, and gets no new ones for a while.
 */
import type { RequestListener } from "node:http";
import type { Server, Socket } from "node:net";
import { isLoopback, rateLimitKey } from "../limits/address.ts";
import { countUnanswered } from "./last-response.ts";

export interface ConnectionBounds {
  readonly most: number;
  /** Whose connections are those of many: only the bound on all of them holds. */
  readonly isProxy: (address: string) => boolean;
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
    | "too many requests at once on a connection";
}

/** Of all connections, one address that is not a proxy has at most one in so many. */
const SHARE = 4;
const TELL_EVERY_MS = 10_000;

/**
 * Requests of a connection that are not answered yet. Clients that send a second one before the first is answered are rare,
 * and none sends many.
 */
const MOST_UNANSWERED = 16;
const SHUT_OUT_MS = 10_000;

/** The server makes its responses of `TrackedResponse`. */
export function boundConnections(server: Server, { most, isProxy, onDropped }: ConnectionBounds): void {
  const mostOfOne = Math.max(Math.floor(most / SHARE), 1);
  const tell = inGroups(onDropped);
  const addresses = new Addresses();
  server.maxConnections = most;
  server.on("drop", (data) => tell(data?.remoteAddress ?? "unknown", "too many connections"));
  server.on("connection", (socket: Socket) => {
    // Undefined when it is gone already.
    const address = socket.remoteAddress;
    if (address === undefined || isLoopback(address) || isProxy(address)) return;
    const tooMany = addresses.add(rateLimitKey(address), socket, mostOfOne);
    if (tooMany === undefined) return;
    socket.destroy();
    tell(address, tooMany);
  });
  boundUnanswered(server, (socket) => {
    tell(socket.remoteAddress ?? "unknown", FLOODED);
    const ended = addresses.shutOut(socket);
    // Not at once: Node is in the middle of reading the connection, and fails when its parser is gone.
    process.nextTick(() => {
      for (const one of ended) one.destroy();
    });
  });
}

const FLOODED = "too many requests at once on a connection";

/**
 * A read of a socket holds two thousand small requests, which Node hands over in one go, and before anybody else has a turn.
 * So past the bound none of them reaches a handler; and since each costs some microseconds all the same, `onFlood`, which
 * is called once for a connection, has to see to it that no more come.
 */
function boundUnanswered(server: Server, onFlood: (socket: Socket) => void): void {
  const handlers = server.listeners("request") as RequestListener[];
  const flooded = new WeakSet<Socket>();
  server.removeAllListeners("request");
  server.on("request", ((request, response) => {
    const { socket } = request;
    if (socket.destroyed || flooded.has(socket)) return;
    if (countUnanswered(response) > MOST_UNANSWERED) {
      flooded.add(socket);
      onFlood(socket);
      return;
    }
    for (const handle of handlers) handle.call(server, request, response);
  }) satisfies RequestListener);
}

/** The open connections of each address that has a share, and which addresses are shut out. */
class Addresses {
  readonly #open = new Map<string, Set<Socket>>();
  /** No more of them than had connections lately: see `shutOut`. */
  readonly #shutOut = new Set<string>();

  /** Answers why there is no room for it. */
  add(key: string, socket: Socket, most: number): Dropped["reason"] | undefined {
    if (this.#shutOut.has(key)) return FLOODED;
    const open = this.#open.get(key) ?? new Set();
    if (open.size >= most) return "too many connections from one address";
    this.#open.set(key, open.add(socket));
    socket.once("close", () => {
      open.delete(socket);
      if (open.size === 0) this.#open.delete(key);
    });
    return undefined;
  }

  /**
   * The connections that have to end for what one of them did: itself, and all others of its address, which gets no new
   * ones for a while, unless it stands for many.
   */
  shutOut(socket: Socket): readonly Socket[] {
    const key = rateLimitKey(socket.remoteAddress ?? "");
    const open = this.#open.get(key);
    if (open === undefined) return [socket];
    this.#shutOut.add(key);
    setTimeout(() => this.#shutOut.delete(key), SHUT_OUT_MS).unref();
    // With TLS the connection itself is not the one that was announced.
    return [socket, ...open];
  }
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
