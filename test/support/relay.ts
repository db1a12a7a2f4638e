/** A relay between the service and PostgreSQL that can be cut, so that an answer is lost and nothing else. */

import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import type { ClientConfig } from "pg";

export interface Relay {
  /** How to connect through it. */
  readonly connection: ClientConfig;
  /**
   * Breaks off every connection on the service's side. The server is left in the belief that its client is still
   * there, as when a network goes away.
   */
  cut(): void;
  /** Takes connections in and lets nothing through, or lets it through again. */
  refuse(refusing: boolean): void;
  close(): Promise<void>;
}

export async function startRelay(target: ClientConfig): Promise<Relay> {
  const pairs = new Set<{ near: Socket; far: Socket }>();
  let refusing = false;
  const server = createServer((near) => {
    if (refusing) return near.destroy();
    const far = connectTo(target);
    const pair = { near, far };
    pairs.add(pair);
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes) => near.destroyed || near.write(bytes));
    near.on("end", () => far.end());
    far.on("close", () => {
      near.destroy();
      pairs.delete(pair);
    });
    for (const socket of [near, far]) socket.on("error", () => undefined);
    return near;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    connection: { ...target, host: "127.0.0.1", port },
    cut: () => {
      for (const { near } of pairs) near.destroy();
    },
    refuse: (now) => {
      refusing = now;
    },
    close: async () => {
      for (const { near, far } of pairs) {
        near.destroy();
        far.destroy();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** As the driver reads `host`: a path is the directory of a unix socket. */
function connectTo({ host = "127.0.0.1", port = 5432 }: ClientConfig): Socket {
  return host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
}
