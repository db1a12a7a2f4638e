/**
 * Tracks which requests of each connection are unanswered. Node parses pipelined requests while earlier ones are still
 * being answered, and has no public interface for it. Code that writes to a connection outside its responses, or takes
 * it over, needs it: its bytes would end up within a response, or be read as the response to another request.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { assert } from "../../std/assert.ts";
import { linger, stopReadingAtOnce } from "./lingering-close.ts";

interface Connection {
  newest: ServerResponse | undefined;
  /** Responses that are not completely sent, on a connection that is still open. */
  readonly unanswered: Set<ServerResponse>;
  /** Whether it ends once all its requests have been answered. */
  endsOnceIdle: boolean;
}

const connections = new WeakMap<Socket, Connection>();

/**
 * The response class of a server (`ServerOptions.ServerResponse`) that the functions below need. Every response emits
 * `close` once, when it has been sent or its connection has broken. When a connection breaks, Node before 24 emits it only for
 * the response that is being sent, not for those queued behind it.
 */
export class TrackedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  constructor(request: Request, options?: object) {
    // @ts-expect-error: Node passes options to this constructor, but its types do not declare them.
    super(request, options);
    const connection = connections.get(request.socket) ?? tracked(request.socket);
    connection.newest = this;
    connection.unanswered.add(this);
    this.once("close", () => {
      connection.unanswered.delete(this);
      if (connection.endsOnceIdle) endIfIdle(request.socket);
    });
  }
}

function tracked(socket: Socket): Connection {
  const connection: Connection = { newest: undefined, unanswered: new Set(), endsOnceIdle: false };
  connections.set(socket, connection);
  // Later than Node: 24 closes all of them itself.
  socket.once("close", () => setImmediate(closeUnanswered, connection));
  return connection;
}

function closeUnanswered({ unanswered }: Connection): void {
  for (const response of unanswered) {
    // Each Node closes these two kinds itself.
    if (response.socket !== null || response.writableFinished) continue;
    response.destroyed = true;
    response.emit("close");
  }
}

/** Acts when a response has been sent or its connection has broken: at once if it has, as then it emits `close` no more. */
export function onceClosed(response: Pick<ServerResponse, "destroyed" | "once">, act: () => void): void {
  if (response.destroyed) act();
  else response.once("close", act);
}

/** @returns the response to a request, unless it has been closed */
export function responseTo(request: IncomingMessage): ServerResponse | undefined {
  for (const response of connections.get(request.socket)?.unanswered ?? [])
    if (response.req === request) return response;
  return undefined;
}

/** @returns the number of unanswered requests of the response's connection, including its own */
export function countUnanswered(response: ServerResponse): number {
  assert(response instanceof TrackedResponse, "a server whose connections are bounded tracks its responses");
  return connections.get(response.req.socket)?.unanswered.size ?? 0;
}

/**
 * Whether an earlier request of the connection waits for its response. A response that has ended is closed a turn after
 * its caller has it, who may have sent the next request by then.
 */
export function isPipelined(response: ServerResponse): boolean {
  for (const earlier of connections.get(response.req.socket)?.unanswered ?? []) {
    if (earlier !== response && !(earlier.writableEnded && earlier.socket !== null)) return true;
  }
  return false;
}

/** Whether every request of a connection has arrived completely and its response has been sent. */
export function isIdle(socket: Socket): boolean {
  const response = connections.get(socket)?.newest;
  return response === undefined || (response.closed && response.req.complete);
}

/** How long a connection that ends may still send its first request. */
const FIRST_REQUEST_MS = 1_000;

/** Ends a connection once all its requests have been answered, and their responses have left, or if it has had none for a second. */
export function endOnceIdle(socket: Socket): void {
  const connection = connections.get(socket) ?? tracked(socket);
  connection.endsOnceIdle = true;
  endIfIdle(socket);
  setTimeout(() => {
    if (connection.newest === undefined) socket.destroy();
  }, FIRST_REQUEST_MS).unref();
}

/**
 * Its last response may still be on its way, while its caller sends the next request, or the rest of the one that was answered
 * before its end.
 */
function endIfIdle(socket: Socket): void {
  if (connections.get(socket)?.newest?.closed !== true || socket.writableEnded) return;
  stopReadingAtOnce(socket);
  linger(socket);
}

/** Whether no complete request of a connection is unanswered. */
export function awaitsCaller(socket: Socket): boolean {
  for (const { req } of connections.get(socket)?.unanswered ?? []) if (req.complete) return false;
  return true;
}

/**
 * Whether a final response may be written to a connection on which parsing has failed: when it is idle, or when the
 * incomplete request is next to be answered and its response has not begun.
 */
export function isNextAnswerOurs(socket: Socket): boolean {
  const response = connections.get(socket)?.newest;
  if (response === undefined || isIdle(socket)) return true;
  return response.socket === socket && !response.headersSent && !response.req.complete;
}
