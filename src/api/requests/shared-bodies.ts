/** Bodies that many callers are sent at the same time: made once for all of them. */
import type { FastifyReply } from "fastify";

/** Keeps what was made for as long as what it was made from lives. */
export function madeOnce<Origin extends object, Rest extends readonly unknown[], Made>(
  make: (origin: Origin, ...rest: Rest) => Made,
): (origin: Origin, ...rest: Rest) => Made {
  const made = new WeakMap<Origin, Made>();
  return (origin, ...rest) => {
    const known = made.get(origin) ?? make(origin, ...rest);
    made.set(origin, known);
    return known;
  };
}

/** The bytes of a text. */
export const sharedBytes = <Origin extends object, Rest extends readonly unknown[]>(
  textOf: (origin: Origin, ...rest: Rest) => string,
): ((origin: Origin, ...rest: Rest) => Buffer) =>
  madeOnce((origin: Origin, ...rest: Rest) => Buffer.from(textOf(origin, ...rest)));

/** Sends a body that is already serialised. */
export function sendJson(reply: Pick<FastifyReply, "type" | "send">, bytes: Buffer): never {
  return reply.type("application/json; charset=utf-8").send(bytes) as never;
}
