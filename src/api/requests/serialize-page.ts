/**
 * Pages are serialised before they leave their slot, so that their size is known, and long ones in slices, between which other
 * requests get their turn: a page of 1,000 records may have megabytes, and in one piece it would block the event loop for 50 ms
 * and more.
 */
import { setImmediate as otherWork } from "node:timers/promises";
import type { FastifyReply, RouteHandlerMethod } from "fastify";
import { unavailable } from "../problems/problems.ts";

/** A longer page blocks the event loop for milliseconds. */
const SHORT_PAGE = 100;
const SLICE = 50;

interface Page {
  readonly items: readonly unknown[];
  readonly [more: string]: unknown;
}

/**
 * Serialises a page to what the route's serializer would make of it. Returns anything else as it is.
 * @throws Problem 503 when the caller has closed the connection meanwhile
 */
export async function serializePage(body: unknown, reply: FastifyReply): Promise<unknown> {
  const serialize = reply.getSerializationFunction("200");
  if (!isPage(body) || serialize === undefined) return body;
  reply.type("application/json; charset=utf-8");
  if (body.items.length <= SHORT_PAGE) return serialize(body);
  const empty = serialize({ ...body, items: [] });
  // Within a string the quotes would be escaped.
  const middle = empty.indexOf(EMPTY_ITEMS) + EMPTY_ITEMS.length - 1;
  const [head, tail] = [empty.slice(0, middle), empty.slice(middle)];
  const slices = [Buffer.from(head)];
  for (let from = 0; from < body.items.length; from += SLICE) {
    if (from > 0) slices.push(COMMA);
    const items = body.items.slice(from, from + SLICE);
    slices.push(Buffer.from(serialize({ ...body, items }).slice(head.length, -tail.length)));
    await otherWork();
    if (reply.raw.destroyed) throw unavailable("the caller has closed the connection");
  }
  return Buffer.concat([...slices, Buffer.from(tail)]);
}

/** Wraps a handler whose response may be a long page. */
export function inSlices(handler: RouteHandlerMethod): RouteHandlerMethod {
  return async function (request, reply) {
    return serializePage(await handler.call(this, request, reply), reply);
  };
}

const COMMA = Buffer.from(",");
const EMPTY_ITEMS = '"items":[]';

function isPage(body: unknown): body is Page {
  return typeof body === "object" && body !== null && "items" in body && Array.isArray(body.items);
}
