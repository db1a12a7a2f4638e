/** How the servers come to listen: on which port, under which address, and from when on they answer. */
import type { FastifyInstance, onRequestHookHandler } from "fastify";
import type { Config } from "./config/config.ts";
import { StartRefusal } from "./core.ts";
import type { Api } from "./http/server.ts";

/**
 * Holds requests until both servers listen. Tokens are issued and verified for both addresses, and one that was issued
 * before the other is known would be good for nothing.
 */
export function gate(): { hook: onRequestHookHandler; open: () => void } {
  let isOpen = false;
  const waiting: (() => void)[] = [];
  return {
    hook: (_request, _reply, done) => {
      if (isOpen) done();
      else waiting.push(done);
    },
    open: () => {
      isOpen = true;
      for (const go of waiting.splice(0)) go();
    },
  };
}

/** Listens, and answers the port. The usual mishaps are told in a line. */
export async function listen(
  server: FastifyInstance | Api,
  host: string,
  port: number,
  setting: string,
): Promise<number> {
  try {
    await server.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      throw new StartRefusal(`port ${port} on ${host} is in use: stop what uses it, or set ${setting} to another one`);
    }
    if (code === "EACCES")
      throw new StartRefusal(`port ${port} on ${host} may not be used: set ${setting} to another one`);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      throw new StartRefusal(`PARBOOK_HOST ${host} is not an address of this machine`);
    }
    throw error;
  }
  const address = server.server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

export function ownAddress({ host, tlsCert }: Config, port: number): string {
  return `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
