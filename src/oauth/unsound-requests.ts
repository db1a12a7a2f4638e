/** Token requests that could mean two things, and bytes that are none at all: refused in the form of RFC 6749, section 5.2. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { part } from "../limits/parting.ts";
import { doubledHeader, isCoded } from "../limits/unsound-headers.ts";
import { NOT_STORED, TokenRefusal } from "./token-refusal.ts";

export function refuseUnsoundHeaders({ raw, headers }: FastifyRequest): TokenRefusal | undefined {
  const twice = doubledHeader(raw);
  if (twice !== undefined) return new TokenRefusal("invalid_request", `the header ${twice} is there more than once`);
  if (isCoded(headers))
    return new TokenRefusal("invalid_request", "the body has a Content-Encoding, but a form has none");
  return undefined;
}

/** What Node itself refuses before there is a request. */
export function refuseConnection(error: Error & { readonly code?: string }, socket: Socket): void {
  part(error, socket, ({ status, reason }) => ({
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
