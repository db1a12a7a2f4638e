/**
 * How far each connection has got. Node parses pipelined requests while earlier ones are still being answered, and says
 * nowhere in public which of them are not answered. Whatever writes to a connection outside its responses, or takes it
 * over, has to know: it would come between answers, or be taken for another request's.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { assert } from "../../std/assert.ts";

interface Connection {
  newest: ServerResponse | undefined;
  /** The responses that have not left, and whose connection is there. */
  readonly unanswered: Set<ServerResponse>;
}

const connections = new WeakMap<Socket, Connection>();

/**
 * What a server makes its responses of (`ServerOptions.ServerResponse`), for the functions below to work. Each emits
 * `close` when it has left or its connection is gone. Node emits it only of the one whose turn it is when a connection
 * breaks, and those who wait for the others would wait for ever.
 */
export class TrackedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  constructor(request: Request, options?: object) {
    // @ts-expect-error: Node passes options to a class of one's own, and its types do not know.
    super(request, options);
    const connection = connections.get(request.socket) ?? tracked(request.socket);
    connection.newest = this;
    connection.unanswered.add(this);
    this.once("close", () => connection.unanswered.delete(this));
  }
}

function tracked(socket: Socket): Connection {
  const connection: Connection = { newest: undefined, unanswered: new Set() };
  connections.set(socket, connection);
  socket.once("close", () => {
    for (const response of connection.unanswered) {
      // These two Node closes itself.
      if (response.socket !== null || response.writableFinished) continue;
      response.destroyed = true;
      response.emit("close");
    }
  });
  return connection;
}

/** How many requests of its connection are not answered yet, the one of this response among them. */
export function countUnanswered(response: ServerResponse): number {
  assert(response instanceof TrackedResponse, "a server whose connections are bounded tracks its responses");
  return connections.get(response.req.socket)?.unanswered.size ?? 0;
}

/** Whether every request that came on a connection has arrived whole, and its response has been sent. */
export function isIdle(socket: Socket): boolean {
  const response = connections.get(socket)?.newest;
  return response === undefined || (response.closed && response.req.complete);
}

/** Whether nothing is under way on a connection: every request that has come whole has been answered. */
export function awaitsCaller(socket: Socket): boolean {
  for (const { req } of connections.get(socket)?.unanswered ?? []) if (req.complete) return false;
  return true;
}

/**
 * Whether an answer may be written to a connection from which no request can be read any more: when it is idle, or when
 * the request that broke off has its turn and is not answered yet.
 */
export function isNextAnswerOurs(socket: Socket): boolean {
  const response = connections.get(socket)?.newest;
  if (response === undefined || isIdle(socket)) return true;
  return response.socket === socket && !response.headersSent && !response.req.complete;
}
