/**
 * An exception in an event listener of a connection closes that connection, not the process: any client could trigger it.
 * (Exceptions in the ledger's lane or in an engine do end the process, but neither runs in a connection's events; what a
 * route's handler throws is answered with 500.)
 */
import type { EventEmitter } from "node:events";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";

type OnBug = (error: unknown) => void;

/** With these a server has a new connection, whose own events are Node's parser's, and after an upgrade ours. */
const CONNECTED: ReadonlySet<string | symbol> = new Set(["connection", "secureConnection"]);

/** Closes the connection that an event of the server, or its own, concerns when a listener throws. */
export function containBugs(server: EventEmitter, onBug: OnBug): void {
  contain(server, onBug, (event, args) => {
    const socket = args.map(socketOf).find((found) => found !== undefined);
    if (CONNECTED.has(event) && socket !== undefined) contain(socket, onBug, () => socket);
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
