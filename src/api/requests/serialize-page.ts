/**
 * Pages are serialised before they leave their slot, so that their size is known, and long ones in slices, between which other
 * requests get their turn: a page of 1,000 records may have megabytes, and in one piece it would block the event loop for 50 ms
 * and more.
 */
import { setImmediate as otherWork } from "node:timers/promises";
import type { FastifyReply, RouteHandlerMethod } from "fastify";
import { callerHasGone } from "../problems/problems.ts";

/** Records of up to ten kilobytes each. A longer page blocks the event loop for milliseconds. */
const SLICE = 25;

/**
 * Serialises a page to what the route's serializer would make of it. Returns anything else as it is.
 * @throws Problem 503 when the caller has closed the connection meanwhile
 */
export async function serializePage(body: unknown, reply: FastifyReply): Promise<unknown> {
  const serialize = reply.getSerializationFunction("200");
  const list = listIn(body);
  if (list === undefined || serialize === undefined) return body;
  reply.type("application/json; charset=utf-8");
  const { name, records, page } = list;
  if (records.length <= SLICE) return serialize(page);
  const empty = serialize({ ...page, [name]: [] });
  // Within a string the quotes would be escaped.
  const middle = empty.indexOf(`"${name}":[]`) + name.length + 4;
  const [head, tail] = [empty.slice(0, middle), empty.slice(middle)];
  const slices = [Buffer.from(head)];
  for (let from = 0; from < records.length; from += SLICE) {
    if (from > 0) slices.push(COMMA);
    const some = records.slice(from, from + SLICE);
    slices.push(Buffer.from(serialize({ ...page, [name]: some }).slice(head.length, -tail.length)));
    await otherWork();
    if (reply.raw.destroyed) throw callerHasGone();
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

/** What the records of a page are called in it. */
const LISTS = ["items", "events"] as const;

interface List {
  readonly page: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly records: readonly unknown[];
}

function listIn(body: unknown): List | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const page = body as Readonly<Record<string, unknown>>;
  for (const name of LISTS) {
    const records = page[name];
    if (Array.isArray(records)) return { page, name, records };
  }
  return undefined;
}
