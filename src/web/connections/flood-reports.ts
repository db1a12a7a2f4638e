/** Tells the server that bounds a connection of a flood on it. */
import type { Socket } from "node:net";

export type FloodReason =
  | "too many requests at once on a connection"
  | "too many small pieces of requests"
  | "too many bytes beside requests"
  | "an endless TLS handshake"
  | "too many messages to a feed";

export type OnFlood = (socket: Socket, reason: FloodReason) => void;

const reports = new WeakMap<Socket, OnFlood>();

export const noteFloodReport = (socket: Socket, report: OnFlood): unknown => reports.set(socket, report);

/** Counts a flood. The caller ends the connection. */
export function reportFlood(socket: Socket, reason: FloodReason): void {
  reports.get(socket)?.(socket, reason);
}
