/** How the servers come to listen: on which port, under which address, from when on they answer; and how they end. */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { Server } from "node:http";
import type { FastifyInstance, onRequestHookHandler } from "fastify";
import type { Config } from "../config/config.ts";
import type { Api } from "../http/server.ts";
import { StartupError } from "./core.ts";

/** Where to listen, and the settings that say so. */
export interface Place {
  readonly host: string;
  readonly port: number;
  readonly settings: { readonly host: string; readonly port: string };
}

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

/** Of the API, and of the server on auth_url. */
export function placeOf({ host, port, authPort }: Config, server: "api" | "auth"): Place {
  return server === "api"
    ? { host, port, settings: { host: "PARBOOK_HOST", port: "PARBOOK_PORT" } }
    : { host, port: authPort, settings: { host: "PARBOOK_HOST", port: "PARBOOK_AUTH_PORT" } };
}

/**
 * Listens, and answers the port. The usual mishaps are told in a line.
 *
 * The name is resolved here: on `localhost` Fastify would make one more server for each further address, and the bounds on
 * connections, the containment of bugs and all else that is set on the server that we know would not hold there.
 */
export async function listen(server: FastifyInstance | Api | Server, { host, port, settings }: Place): Promise<number> {
  try {
    const { address } = await lookup(host);
    if (server instanceof Server) await once(server.listen({ host: address, port }), "listening");
    else await server.listen({ host: address, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      throw new StartupError(
        `port ${port} on ${host} is in use: stop what uses it, or set ${settings.port} to another one`,
      );
    }
    if (code === "EACCES")
      throw new StartupError(`port ${port} on ${host} may not be used: set ${settings.port} to another one`);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
      throw new StartupError(`${settings.host} ${host} is not an address of this machine`);
    }
    throw error;
  }
  const address = server instanceof Server ? server.address() : server.server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/**
 * Stops listening and finishes the requests under way. What is still open after `limitMs` is closed: Node itself would wait
 * for whoever sends half of a request, or reads no answer, and its time-outs for that end when a server closes.
 */
export async function close(server: Pick<FastifyInstance | Api, "close" | "server">, limitMs: number): Promise<void> {
  const timer = setTimeout(() => server.server.closeAllConnections(), limitMs);
  await server.close().finally(() => clearTimeout(timer));
}

export function ownAddress({ host, tlsCert }: Pick<Config, "host" | "tlsCert">, port: number): string {
  return `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
