/** The id of a request, as in its response and in the log. */
import type { IncomingMessage } from "node:http";
import type { FastifyBaseLogger, FastifyRequest } from "fastify";
import { IdSource } from "../std/id.ts";
import { sentRequestId } from "../web/sent-request-id.ts";

const ids = new IdSource();

/** The caller's own id if it is valid, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  return sentRequestId(request.headers["x-request-id"]) ?? freshRequestId();
}

/** A logger with the request's id in each line. Made on demand: few requests are logged, and a child logger is expensive. */
export function logOf({ id, log }: Pick<FastifyRequest, "id" | "log">): FastifyBaseLogger {
  return log.child({ request_id: id });
}

export function freshRequestId(): string {
  return ids.next();
}
