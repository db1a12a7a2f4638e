/**
 * Bounds what TLS may be made to do without data. A handshake that never ends is ended by its bytes, and a second one on the
 * same connection, which a client of TLS 1.2 may ask for at any time, ends the connection: it costs the thread as much as the
 * first, and is not paced. OpenSSL bounds alerts and empty records itself.
 */
import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { pairOf } from "./open-connections.ts";

const CHECK_MS = 100;
/** A client's part of a handshake is below 4 KiB; OpenSSL would keep 128 KiB of one that never ends. */
const MAX_HANDSHAKE_BYTES = 16_384;

/** @param onTooLong ends the connection */
export function boundHandshakes(server: Server, onTooLong: (socket: Socket) => void): void {
  const handshakes = new Map<string, Socket>();
  const checks = setInterval(() => {
    for (const socket of handshakes.values()) if (socket.bytesRead > MAX_HANDSHAKE_BYTES) onTooLong(socket);
  }, CHECK_MS).unref();
  server.once("close", () => clearInterval(checks));
  server.on("connection", (socket: Socket) => {
    const pair = pairOf(socket);
    handshakes.set(pair, socket);
    socket.once("close", () => {
      if (handshakes.get(pair) === socket) handshakes.delete(pair);
    });
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    handshakes.delete(pairOf(socket));
    socket.disableRenegotiation();
  });
}
