/**
 * Requests that are the last on their connection: nothing behind them is read.
 *
 * When Node ignores an `Upgrade` header, it drops the bytes behind that request's body and continues parsing at the next
 * packet, which may begin anywhere: part of a body could be parsed as a request. And when we reject the framing of a request, a
 * proxy may see its end elsewhere. So the response closes the connection, and whatever Node parses from later bytes is
 * neither processed nor answered.
 *
 * The same applies to a request that is answered before it has arrived completely: Node would read the rest, however long
 * and in however many pieces, for nothing.
 */
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isWaiting, neverContinue } from "./expectations.ts";
import { lingerAfterAnswer, stopReading } from "./lingering-close.ts";

/** The body limit. Reading the rest of a body within it costs less than a new connection. */
export const SHORT_BODY_BYTES = 64 * 1024;

const last = new WeakMap<Socket, IncomingMessage>();

/**
 * Makes a request the last on its connection. To be called before it waits for anything: what is behind it may be parsed
 * meanwhile.
 */
export function endConnection({ raw }: FastifyRequest, reply: FastifyReply): void {
  last.set(raw.socket, raw);
  reply.header("connection", "close");
}

/** Call before other hooks are added, so that they do not run for ignored requests. */
export function ignoreWhatFollows(server: Pick<FastifyInstance, "addHook">): void {
  server.addHook("onRequest", (request, reply, done) => {
    if (last.has(request.raw.socket)) return void reply.hijack();
    if (request.raw.headers.upgrade !== undefined) endConnection(request, reply);
    done();
  });
  server.addHook("onSend", (request, reply, _payload, done) => {
    if (goesOn(request.raw)) endConnection(request, reply);
    if (last.get(request.raw.socket) === request.raw) stopBehind(request.raw);
    done();
  });
}

/** Whether a long rest of the request may still arrive. The length of a chunked body is unknown until its end. */
export function goesOn(request: IncomingMessage): boolean {
  const { complete, headers, socket } = request;
  // A request that was not sent over a connection has none.
  if (complete || !(socket instanceof Socket)) return false;
  if (isWaiting(request)) return true;
  const { "transfer-encoding": coding, "content-length": length = "0" } = headers;
  return coding !== undefined || Number(length) > SHORT_BODY_BYTES;
}

/** Call when the response to the last request of a connection is known. */
export function stopBehind(request: IncomingMessage): void {
  neverContinue(request);
  // Otherwise Node would discard the buffered part of the body, without a chance to count its pieces.
  request.resume();
  stopReading(request.socket);
  lingerAfterAnswer(request.socket);
}
