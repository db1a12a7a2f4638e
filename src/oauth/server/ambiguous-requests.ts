/** Rejects ambiguous token requests and bytes that are not HTTP, in the form of RFC 6749, section 5.2. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Check, PASSED } from "../../std/result.ts";
import { rejectConnection } from "../../web/connections/reject-connection.ts";
import {
  doubledHeader,
  hasForeignCharset,
  isCoded,
  isTooMany,
  TOO_MANY_HEADERS,
  type Unreadable,
} from "../../web/header-checks.ts";
import { NOT_STORED, rejectToken, type TokenRejection } from "./token-error.ts";

/** With HTTP's own statuses: RFC 6749 has none for too many headers or unknown transfer codings. */
export function rejectUnreadable({ status, reason }: Unreadable, reply: FastifyReply): void {
  const body = { error: "invalid_request", error_description: reason };
  void reply.code(status).headers(NOT_STORED).send(body);
}

export function checkHeaders({ raw, headers }: FastifyRequest): Check<TokenRejection> {
  if (isTooMany(raw.rawTrailers)) return rejectToken("invalid_request", TOO_MANY_HEADERS.reason);
  const twice = doubledHeader(raw);
  if (twice !== undefined) return rejectToken("invalid_request", `the header ${twice} occurs more than once`);
  if (isCoded(headers))
    return rejectToken("invalid_request", "the body has a Content-Encoding: send a form without one");
  if (hasForeignCharset(headers))
    return rejectToken("invalid_request", "the content type names a charset other than UTF-8");
  return PASSED;
}

/** Responds to what Node rejects before there is a request. */
export function respondToClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  rejectConnection(error, socket, ({ status, reason }) => ({
    status,
    headers: {
      "Content-Type": "application/json; charset=utf-8",
      "X-Request-Id": randomUUID(),
      "X-Content-Type-Options": "nosniff",
      ...NOT_STORED,
    },
    body: JSON.stringify({ error: "invalid_request", error_description: reason }),
  }));
}
