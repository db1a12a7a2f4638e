import { once } from "node:events";
import { createServer } from "node:net";

const givenPorts = new Set<number>();

/**
 * A port that is free, and not of those that a system gives to programs that ask for any: none is given it by chance while the
 * service that is to listen there has not started yet, or starts again. No port is given twice.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (givenPorts.has(port)) continue;
    givenPorts.add(port);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
