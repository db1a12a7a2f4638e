/**
 * Requests behind which nothing on their connection is read.
 *
 * Where Node passes over an offer of another protocol it drops the bytes behind that request's body and goes on with the
 * next packet, in the middle of whatever that is: somebody else's body could be taken for a request. And where a request
 * is framed in a way that we do not read, whoever is between may see its end elsewhere. So the answer closes the
 * connection, and what Node makes of later bytes is neither carried out nor answered.
 */
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

const over = new WeakSet<Socket>();

/** Closes the connection when the request is answered, and ignores what comes on it behind the request. */
export function endConnection({ raw }: FastifyRequest, reply: FastifyReply): void {
  over.add(raw.socket);
  reply.header("connection", "close");
}

/** To be called before other hooks are added: to them there is no such request. */
export function ignoreWhatFollows(server: Pick<FastifyInstance, "addHook">): void {
  server.addHook("onRequest", (request, reply, done) => {
    if (over.has(request.raw.socket)) return void reply.hijack();
    if (request.raw.headers.upgrade !== undefined) endConnection(request, reply);
    done();
  });
}
