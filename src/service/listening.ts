/** Opening and closing of the servers. */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, Server } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance, onRequestHookHandler } from "fastify";
import type { Api } from "../api/server.ts";
import { endOnceIdle } from "../web/connections/tracked-response.ts";
import type { Config } from "./config/config.ts";
import { findServiceProcess } from "./data-directory.ts";
import { StartupError } from "./startup-error.ts";

/**
 * Connections that wait to be accepted. Node accepts one in each turn of the event loop; a client whose connection does
 * not fit here tries again after a second. Linux applies `net.core.somaxconn` (4,096 by default) if that is lower.
 */
const BACKLOG = 4_096;

/** Where to listen, and the settings to name in an error. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly settings: { readonly host: string; readonly port: string };
}

/**
 * Holds requests until both servers listen. A token names both addresses, so none can be issued before both are known.
 */
export function gate(): { hook: onRequestHookHandler; open: () => void } {
  let isOpen = false;
  const held: (() => void)[] = [];
  return {
    hook: (_request, _reply, done) => {
      if (isOpen) done();
      else held.push(done);
    },
    open: () => {
      isOpen = true;
      for (const resume of held.splice(0)) resume();
    },
  };
}

export function listenAddressOf(config: Config, server: "api" | "auth" | "metrics"): ListenAddress {
  const { host, port, authPort, metricsHost, metricsPort = 0 } = config;
  if (server === "api") return { host, port, settings: { host: "PARBOOK_HOST", port: "PARBOOK_PORT" } };
  if (server === "auth") return { host, port: authPort, settings: { host: "PARBOOK_HOST", port: "PARBOOK_AUTH_PORT" } };
  return {
    host: metricsHost,
    port: metricsPort,
    settings: { host: "PARBOOK_METRICS_HOST", port: "PARBOOK_METRICS_PORT" },
  };
}

/**
 * Tries every port before anything is started, so that a start in vain names all that are in use, and at once. Another
 * process may still take one meanwhile: then `listen` says so.
 *
 * @throws StartupError with a line for each port that cannot be used
 */
export async function checkPorts(config: Config): Promise<void> {
  const servers = config.roles.has("auth") ? (["api", "auth", "metrics"] as const) : (["api", "metrics"] as const);
  const lines = new Set<string>();
  for (const address of servers.map((server) => listenAddressOf(config, server))) {
    if (address.port === 0) continue;
    const server = createServer();
    try {
      await listen(server, address);
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      for (const line of error.lines) lines.add(line);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  }
  // If it is a service of this data directory that has them, its lock says more.
  if (lines.size > 0 && (await findServiceProcess(config.dataDir)) === undefined) throw new StartupError(...lines);
}

/**
 * All connections of a server: Node's own list has none whose TLS handshake has not ended, or whose turn has not come. With
 * TLS a connection is two, of which the upper one comes later and has to be destroyed first (`OpenConnections`).
 */
const accepted = new WeakMap<Server, Set<Socket>>();

function followConnections(server: Server): void {
  const sockets = new Set<Socket>();
  let isClosing = false;
  accepted.set(server, sockets);
  const carriers = new Set<Socket>();
  const follow = (into: Set<Socket>, socket: Socket): void => {
    into.add(socket);
    socket.once("close", () => into.delete(socket));
  };
  server.on("connection", (socket: Socket) => follow(sockets, socket));
  server.on("secureConnection", (socket: Socket) => follow(sockets, socket));
  // Those that carry requests. A handshake has a limit of its own.
  server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
    follow(carriers, socket);
    if (isClosing) endOnceIdle(socket);
  });
  // Node calls this once, when it stops listening. Its own cuts off responses that are on their way, and a connection whose
  // response ends a moment later would stay open, as its caller was told that it may.
  server.closeIdleConnections = () => {
    isClosing = true;
    for (const socket of carriers) endOnceIdle(socket);
  };
}

/**
 * Resolves the host name here, because Fastify would create an extra server for each further address of `localhost`, and
 * connection limits and error handling are set on the first only.
 *
 * @returns The port.
 * @throws StartupError when the address cannot be used.
 */
export async function listen(
  server: FastifyInstance | Api | Server,
  { host, port, settings }: ListenAddress,
): Promise<number> {
  try {
    const { address } = await lookup(host);
    const options = { host: address, port, backlog: BACKLOG };
    if (server instanceof Server) await once(server.listen(options), "listening");
    else await server.listen(options);
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
  const own = server instanceof Server ? server : server.server;
  followConnections(own);
  const address = own.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/**
 * Stops listening and finishes requests in flight. Connections still open after `limitMs` are closed: a closing Node
 * server waits without a timeout for clients that send half a request or do not read the response.
 */
export async function close(server: Pick<FastifyInstance | Api, "close" | "server">, limitMs: number): Promise<void> {
  const timer = setTimeout(() => {
    for (const socket of [...(accepted.get(server.server) ?? [])].reverse()) socket.destroy();
  }, limitMs);
  await server.close().finally(() => clearTimeout(timer));
}

export function ownAddress({ host, tlsCert }: Pick<Config, "host" | "tlsCert">, port: number): string {
  return `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
