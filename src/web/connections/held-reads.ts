/** Connections that are not read for a while, or until they are closed: each for one reason or several, so they are counted. */
import type { Socket } from "node:net";

const holds = new WeakMap<Socket, number>();

export const isHeld = (socket: Socket): boolean => (holds.get(socket) ?? 0) > 0;

/** A connection that is never released is not read until it is closed. */
export function holdReading(socket: Socket): void {
  holds.set(socket, (holds.get(socket) ?? 0) + 1);
  socket.pause();
}

export function releaseReading(socket: Socket): void {
  holds.set(socket, (holds.get(socket) ?? 1) - 1);
  if (!isHeld(socket)) socket.resume();
}
