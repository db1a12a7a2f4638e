/** The requests of a connection that are not answered yet. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

const unanswered = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `end` once, when the answer has left or its connection is gone. A response's own `close` is not enough: one that
 * waits behind others of its connection never emits it when the connection breaks.
 */
export function whenOver(socket: Socket, response: ServerResponse, end: () => void): void {
  const ends = unanswered.get(socket) ?? endedWith(socket);
  const over = (): void => {
    if (ends.delete(over)) end();
  };
  ends.add(over);
  response.once("close", over);
}

const counts = new WeakMap<Socket, number>();

/** Counts a request that has just come. Answers how many of its connection are not answered, this one among them. */
export function countUnanswered(socket: Socket, response: ServerResponse): number {
  const count = (counts.get(socket) ?? 0) + 1;
  counts.set(socket, count);
  whenOver(socket, response, () => counts.set(socket, (counts.get(socket) ?? 1) - 1));
  return count;
}

function endedWith(socket: Socket): Set<() => void> {
  const ends = new Set<() => void>();
  unanswered.set(socket, ends);
  socket.once("close", () => {
    for (const end of ends) end();
  });
  return ends;
}
