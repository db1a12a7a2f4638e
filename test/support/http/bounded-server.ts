/** Servers with bounded connections, and callers from anywhere. They end with the test. */
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer, type ServerOptions } from "node:https";
import { createServer, type Server } from "node:net";
import { Duplex } from "node:stream";
import { onTestFinished } from "vitest";
import { boundConnections, type Dropped } from "../../../src/web/connections/connections.ts";
import { sharedBy } from "../../../src/web/connections/server-options.ts";
import { TrackedResponse } from "../../../src/web/connections/tracked-response.ts";
import { isLoopback } from "../../../src/web/limits/address.ts";

let port = 0;

export function bounded(most: number, isProxy = (_address: string) => false): { server: Server; dropped: Dropped[] } {
  const dropped: Dropped[] = [];
  const server = createServer();
  boundConnections(server, {
    most,
    isShared: (address) => isLoopback(address) || isProxy(address),
    onDropped: (some) => dropped.push(some),
  });
  onTestFinished(() => void server.close());
  return { server, dropped };
}

/** A connection as a server sees it that comes from elsewhere than this machine. */
export function arrive(server: Server, remoteAddress: string | undefined, event = "connection"): Duplex {
  port += 1;
  const own = { remoteAddress, remotePort: port, disableRenegotiation: () => {} };
  const socket = Object.assign(new Duplex({ read: () => {}, write: () => {} }), own);
  server.emit(event, socket);
  return socket;
}

/** An HTTP server that never answers, with its bounds. */
export function silentServer(
  tls?: ServerOptions,
  most = 40,
): { server: Server; dropped: Dropped[]; asked: () => number } {
  const dropped: Dropped[] = [];
  let asked = 0;
  const keepSilent: RequestListener = () => {
    asked += 1;
  };
  const tracking = { ServerResponse: TrackedResponse };
  const server =
    tls === undefined ? createHttpServer(tracking, keepSilent) : createHttpsServer({ ...tracking, ...tls }, keepSilent);
  boundConnections(server, { most, isShared: sharedBy([]), onDropped: (some) => dropped.push(some) });
  onTestFinished(() => void server.close());
  return { server, dropped, asked: () => asked };
}

export const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
export const FLOODED = "too many requests at once on a connection";
