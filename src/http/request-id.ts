/** The id of a request: in its answer, in its problem, in the log. */
import type { IncomingMessage } from "node:http";
import { IdSource } from "../std/id.ts";
import { sentRequestId } from "../std/request-id.ts";

const ids = new IdSource();

/** The caller's own id when it is one that may stand in a log, else a fresh one. */
export function requestIdOf(request: IncomingMessage): string {
  return sentRequestId(request.headers["x-request-id"]) ?? freshRequestId();
}

export function freshRequestId(): string {
  return ids.next();
}
