/** The id of a request: in its answer, in its problem, in the log. */
import type { IncomingMessage } from "node:http";
import type { FastifyBaseLogger, FastifyRequest } from "fastify";
import { IdSource } from "../std/id.ts";
import { sentRequestId } from "../web/request-id.ts";

const ids = new IdSource();

/** The caller's own id when it is one that may stand in a log, else a fresh one. */
export function requestIdOf(request: IncomingMessage): string {
  return sentRequestId(request.headers["x-request-id"]) ?? freshRequestId();
}

/** The log with the request's id in each line. Few requests are logged, and a log for each would cost as much as its rule. */
export function logOf({ id, log }: Pick<FastifyRequest, "id" | "log">): FastifyBaseLogger {
  return log.child({ request_id: id });
}

export function freshRequestId(): string {
  return ids.next();
}
