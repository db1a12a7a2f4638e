/** Bodies that many callers are sent at the same time: serialised once for all of them. */
import type { FastifyReply } from "fastify";

/** Keeps the bytes for as long as what they are made from lives. */
export function sharedBytes<Origin extends object, Rest extends readonly unknown[]>(
  make: (origin: Origin, ...rest: Rest) => string,
): (origin: Origin, ...rest: Rest) => Buffer {
  const made = new WeakMap<Origin, Buffer>();
  return (origin, ...rest) => {
    const bytes = made.get(origin) ?? Buffer.from(make(origin, ...rest));
    made.set(origin, bytes);
    return bytes;
  };
}

/** Sends a body that is already serialised. */
export function sendJson(reply: Pick<FastifyReply, "type" | "send">, bytes: Buffer): never {
  return reply.type("application/json; charset=utf-8").send(bytes) as never;
}
