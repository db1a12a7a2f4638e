/**
 * The newest response of each connection. Node parses pipelined requests while earlier ones are still being answered,
 * and says nowhere in public how far a connection has got. Whatever writes to a connection outside its responses, or
 * takes it over, has to know: it would come between answers, or be taken for another request's.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

const newest = new WeakMap<Socket, ServerResponse>();

/** What a server makes its responses of (`ServerOptions.ServerResponse`), for the functions below to work. */
export class TrackedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  constructor(request: Request, options?: object) {
    // @ts-expect-error: Node passes options to a class of one's own, and its types do not know.
    super(request, options);
    const before = newest.get(request.socket);
    newest.set(request.socket, this);
    if (before === undefined || before.closed) return;
    before.once("close", () => {
      // Node closes only the response whose turn it is when a connection ends, and those who wait for the others to
      // close would wait for ever.
      if (!request.socket.destroyed || this.socket !== null || this.closed) return;
      this.destroyed = true;
      this.emit("close");
    });
  }
}

/** Whether every request that came on a connection has arrived whole, and its response has been sent. */
export function isIdle(socket: Socket): boolean {
  const response = newest.get(socket);
  return response === undefined || (response.closed && response.req.complete);
}

/**
 * Whether an answer may be written to a connection from which no request can be read any more: when it is idle, or when
 * the request that broke off has its turn and is not answered yet.
 */
export function isNextAnswerOurs(socket: Socket): boolean {
  const response = newest.get(socket);
  if (response === undefined || isIdle(socket)) return true;
  return response.socket === socket && !response.headersSent && !response.req.complete;
}
