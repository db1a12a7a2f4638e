/** Connections that are not read for a while, or until they are closed: each for one reason or several, so they are counted. */
import type { Socket } from "node:net";

/**
 * In one turn of the event loop. Each has up to 64 KiB waiting, and those that were held back together would come back
 * together: five hundred of them would hold up all others for a tenth of a second.
 */
const MOST_RELEASED = 16;

const holds = new WeakMap<Socket, number>();
/** Released in earlier turns, the first one first. They count as held until it is their turn. */
const released: Socket[] = [];
let releasedInTurn = 0;

export const isHeld = (socket: Socket): boolean => (holds.get(socket) ?? 0) > 0;

/** A connection that is never released is not read until it is closed. */
export function holdReading(socket: Socket): void {
  holds.set(socket, (holds.get(socket) ?? 0) + 1);
  socket.pause();
}

export function releaseReading(socket: Socket): void {
  if (releasedInTurn === 0) setImmediate(beginTurn);
  releasedInTurn += 1;
  if (releasedInTurn <= MOST_RELEASED) release(socket);
  else released.push(socket);
}

function beginTurn(): void {
  releasedInTurn = 0;
  for (const socket of released.splice(0, MOST_RELEASED)) releaseReading(socket);
}

function release(socket: Socket): void {
  holds.set(socket, (holds.get(socket) ?? 1) - 1);
  if (!isHeld(socket)) socket.resume();
}
