/** Connections that are not read for a while, or until they are closed: each for one reason or several, so they are counted. */
import type { Socket } from "node:net";
import { QueuesInTurn } from "../../std/queues-in-turn.ts";
import { queueKey } from "../limits/address.ts";

/**
 * In one turn of the event loop, as many as begin a read (`RequestTurns`). Each has up to 64 KiB waiting, and those that were
 * held back together would come back together: five hundred of them would hold up all others for a tenth of a second.
 */
const MOST_RELEASED = 4;

const holds = new WeakMap<Socket, number>();
/** Released in earlier turns, by network. They count as held until it is their turn. */
const released = new QueuesInTurn<string, Socket>();
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
  else released.add(queueKey(socket.remoteAddress ?? ""), socket);
}

function beginTurn(): void {
  releasedInTurn = 0;
  for (let left = MOST_RELEASED; left > 0; left -= 1) {
    const next = released.next();
    if (next !== undefined) releaseReading(next);
  }
}

function release(socket: Socket): void {
  holds.set(socket, (holds.get(socket) ?? 1) - 1);
  if (!isHeld(socket)) socket.resume();
}
