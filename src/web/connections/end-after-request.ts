/**
 * Requests behind which nothing on their connection is read.
 *
 * Where Node passes over an offer of another protocol it drops the bytes behind that request's body and goes on with the
 * next packet, in the middle of whatever that is: somebody else's body could be taken for a request. And where a request
 * is framed in a way that we do not read, an intermediary may see its end elsewhere. So the response closes the
 * connection, and what Node makes of later bytes is neither carried out nor answered.
 *
 * The same holds for a request that is answered before all of it is there: Node would read the rest to its end, however
 * long and in however many pieces, for nothing.
 */
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isWaiting, neverContinue } from "./expectations.ts";
import { lingerAfterAnswer, stopReading } from "./lingering-close.ts";

/** The longest body of any server. The rest of one that is no longer costs less than a new connection. */
const SHORT_BODY_BYTES = 64 * 1024;

const last = new WeakMap<Socket, IncomingMessage>();

/** Closes the connection when the request is answered, and ignores what comes on it behind the request. */
export function endConnection({ raw }: FastifyRequest, reply: FastifyReply): void {
  last.set(raw.socket, raw);
  reply.header("connection", "close");
}

/** To be called before other hooks are added: to them there is no such request. */
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

/** Whether much may be still to come of a request. What a chunked body will be is not known before its end. */
export function goesOn(request: IncomingMessage): boolean {
  const { complete, headers, socket } = request;
  // A request that was not sent over a connection has none.
  if (complete || !(socket instanceof Socket)) return false;
  if (isWaiting(request)) return true;
  const { "transfer-encoding": coding, "content-length": length = "0" } = headers;
  return coding !== undefined || Number(length) > SHORT_BODY_BYTES;
}

/** To be called when the answer to the last request of a connection is known. */
export function stopBehind(request: IncomingMessage): void {
  neverContinue(request);
  // Or Node would pass over what there is of its body in silence, and nobody could count its pieces.
  request.resume();
  stopReading(request.socket);
  lingerAfterAnswer(request.socket);
}
