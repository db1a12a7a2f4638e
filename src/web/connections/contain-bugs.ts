/**
 * A bug in the handling of one connection ends that connection and not the process: a stranger chooses what it is sent.
 * (A bug in the ledger's lane or in an engine does end the process, but neither runs inside the events of a connection:
 * what a route's handler throws is answered with 500.)
 */
import type { EventEmitter } from "node:events";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";

type OnBug = (error: unknown) => void;

/** Ends the connection that an event of the server is about when a listener throws. */
export function containBugs(server: EventEmitter, onBug: OnBug): void {
  contain(server, onBug, (event, args) => {
    const socket = args.map(socketOf).find((found) => found !== undefined);
    // From here on Node has no part in it: what it hands over is read by listeners of ours.
    if (event === "upgrade" && socket !== undefined) contain(socket, onBug, () => socket);
    return socket;
  });
}

function contain(
  emitter: EventEmitter,
  onBug: OnBug,
  findSocket: (event: string | symbol, args: readonly unknown[]) => Socket | undefined,
): void {
  const emit = emitter.emit.bind(emitter);
  emitter.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    const socket = findSocket(event, args);
    if (socket === undefined) return emit(event, ...args);
    try {
      return emit(event, ...args);
    } catch (error) {
      socket.destroy();
      onBug(error);
      return true;
    }
  };
}

function socketOf(value: unknown): Socket | undefined {
  if (value instanceof IncomingMessage) return value.socket;
  return value instanceof Socket ? value : undefined;
}
