/** Where a flood is reported that is found on a connection, by whoever finds it. */
import type { Socket } from "node:net";
import type { Dropped } from "./connections.ts";

export type OnFlood = (socket: Socket, reason: Dropped["reason"]) => void;

const reports = new WeakMap<Socket, OnFlood>();

export const noteFloodReport = (socket: Socket, report: OnFlood): unknown => reports.set(socket, report);

/** Counts a flood. The caller ends the connection. */
export function reportFlood(socket: Socket, reason: Dropped["reason"]): void {
  reports.get(socket)?.(socket, reason);
}
