/** The id of a request: in its answer, in its problem, in the log. */
import type { IncomingMessage } from "node:http";
import { IdSource } from "../std/id.ts";

const ids = new IdSource();

/** The caller's own id when it is one that may stand in a log, else a fresh one. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers["x-request-id"];
  return typeof sent === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(sent) ? sent : freshRequestId();
}

export function freshRequestId(): string {
  return ids.next();
}
