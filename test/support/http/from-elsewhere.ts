/** Connections over loopback that look as if they came from elsewhere: loopback is exempt from most bounds. */
import type { Server, Socket } from "node:net";

/** To be called before the server listens. Its connections, over TLS or not, come from this address. */
export function seeAddress(server: Server, address: string): void {
  const from = (socket: Socket): unknown => Object.defineProperty(socket, "remoteAddress", { value: address });
  server.prependListener("connection", from).prependListener("secureConnection", from);
}
