/**
 * A relay between the service and PostgreSQL, or between a client and the service, that can be cut: so that a request
 * or an answer is lost, and nothing else.
 */

import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import type { ClientConfig } from "pg";

/**
 * What is lost of an exchange when it is cut: the `request`, before anything of it is passed on; the `wait` for the
 * answer, the request having been passed on, and both sides see the end; or the `answer`, and only the near side does.
 */
export type Loss = "request" | "wait" | "answer";

export interface Relay {
  /** How to connect through it. */
  readonly connection: ClientConfig;
  /**
   * Breaks off every connection on the service's side. The server is left in the belief that its client is still
   * there, as when a network goes away.
   */
  cut(): void;
  /** Takes connections in and lets nothing through, or lets it through again. */
  reject(rejecting: boolean): void;
  /** Cuts the next so many exchanges. */
  lose(loss: Loss, exchanges: number): void;
  /** How many exchanges are still to be lost. */
  toLose(): number;
  /** How often something was asked since something else was answered, on all connections: round trips. */
  roundTrips(): number;
  close(): Promise<void>;
}

/** Listens on a port of its own on loopback, or at the given address. */
export async function startRelay(target: ClientConfig, at: ClientConfig = LOOPBACK): Promise<Relay> {
  const pairs = new Set<{ near: Socket; far: Socket }>();
  let rejecting = false;
  let loss: Loss = "answer";
  let toLose = 0;
  let roundTrips = 0;
  const isLost = (what: Loss): boolean => {
    if (toLose === 0 || loss !== what) return false;
    toLose -= 1;
    return true;
  };
  const server = createServer((near) => {
    if (rejecting) return near.destroy();
    const far = connectTo(target);
    const pair = { near, far };
    pairs.add(pair);
    let isAnswered = true;
    near.on("data", (bytes) => {
      if (isAnswered) roundTrips += 1;
      isAnswered = false;
      if (isLost("request")) {
        near.destroy();
        far.destroy();
        return;
      }
      far.write(bytes);
      if (!isLost("wait")) return;
      near.destroy();
      far.end();
    });
    far.on("data", (bytes) => {
      isAnswered = true;
      if (near.destroyed) return;
      if (isLost("answer")) near.destroy();
      else near.write(bytes);
    });
    near.on("end", () => far.end());
    far.on("close", () => {
      near.destroy();
      pairs.delete(pair);
    });
    for (const socket of [near, far]) socket.setNoDelay(true).on("error", () => undefined);
    return near;
  });
  const socket = socketOf(at);
  await new Promise<void>((resolve) => {
    if (socket === undefined) server.listen(at.port, at.host, resolve);
    else server.listen(socket, resolve);
  });
  const port = socket === undefined ? (server.address() as AddressInfo).port : at.port;
  return {
    connection: { ...target, ...at, ...(port !== undefined && { port }) },
    cut: () => {
      for (const { near } of pairs) near.destroy();
    },
    reject: (now) => {
      rejecting = now;
    },
    lose: (what, exchanges) => {
      loss = what;
      toLose = exchanges;
    },
    toLose: () => toLose,
    roundTrips: () => roundTrips,
    close: async () => {
      for (const { near, far } of pairs) {
        near.destroy();
        far.destroy();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const LOOPBACK: ClientConfig = { host: "127.0.0.1", port: 0 };

/** As the driver reads `host`: a path is the directory of a unix socket. */
function socketOf({ host = "", port = 5432 }: ClientConfig): string | undefined {
  return host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : undefined;
}

function connectTo(target: ClientConfig): Socket {
  const socket = socketOf(target);
  return socket === undefined ? connect(target.port ?? 5432, target.host) : connect(socket);
}
