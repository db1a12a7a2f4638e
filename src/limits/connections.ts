/**
 * Bounds the connections of a server: in all, and from one address, so that one that opens many leaves room for others.
 * What is too much is dropped before a byte of it is read, and the log is told, in one line for all of a while.
 */
import type { Server, Socket } from "node:net";
import { isLoopback, neighbourhood } from "./address.ts";

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
  readonly reason: "too many connections" | "too many connections from one address";
}

/** Of all connections, one address that is not a proxy has at most one in so many. */
const SHARE = 4;
const TELL_EVERY_MS = 10_000;

export function boundConnections(server: Server, { most, isProxy, onDropped }: ConnectionBounds): void {
  const perAddress = new Map<string, number>();
  const mostOfOne = Math.max(Math.floor(most / SHARE), 1);
  const tell = inGroups(onDropped);
  server.maxConnections = most;
  server.on("drop", (data) => tell(data?.remoteAddress ?? "unknown", "too many connections"));
  server.on("connection", (socket: Socket) => {
    // Undefined when it is gone already.
    const address = socket.remoteAddress;
    if (address === undefined || isLoopback(address) || isProxy(address)) return;
    const key = neighbourhood(address);
    const open = (perAddress.get(key) ?? 0) + 1;
    if (open > mostOfOne) {
      socket.destroy();
      tell(address, "too many connections from one address");
      return;
    }
    perAddress.set(key, open);
    socket.once("close", () => {
      const left = (perAddress.get(key) ?? 1) - 1;
      if (left === 0) perAddress.delete(key);
      else perAddress.set(key, left);
    });
  });
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
