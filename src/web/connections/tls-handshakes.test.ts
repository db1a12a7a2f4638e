import { once } from "node:events";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { readCertificate } from "../../../test/support/http/certificate.ts";
import { boundConnections, type Dropped } from "./connections.ts";
import { TrackedResponse } from "./tracked-response.ts";

const STRANGER = "203.0.113.9";

/** All connections come from one stranger's address. */
async function startServer(): Promise<{ port: number; dropped: readonly Dropped[] }> {
  const dropped: Dropped[] = [];
  const server: HttpsServer = createHttpsServer({
    ...readCertificate(),
    maxVersion: "TLSv1.2",
    ServerResponse: TrackedResponse,
  });
  boundConnections(server, { most: 100, isShared: () => false, onDropped: (some) => dropped.push(some) });
  const from = (socket: Socket): unknown => Object.defineProperty(socket, "remoteAddress", { value: STRANGER });
  server.prependListener("connection", from).prependListener("secureConnection", from);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, dropped };
}

test("a second handshake on a connection ends it", async () => {
  const { port } = await startServer();
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  expect(socket.getProtocol()).toBe("TLSv1.2");
  socket.renegotiate({}, () => expect.fail("it is refused"));
  await once(socket.resume(), "close");
});

test("a handshake that does not end ends its connection, and blocks its address", async () => {
  const { port, dropped } = await startServer();
  const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  // The beginning of a ClientHello of 131,000 bytes, in records of 16 KiB.
  const record = Buffer.concat([Buffer.from([22, 3, 1, 64, 0]), Buffer.alloc(16_384)]);
  record.set([1, 1, 255, 184, 3, 3], 5);
  socket.resume().write(Buffer.concat([record, Buffer.from([22, 3, 1, 64, 0]), Buffer.alloc(10_000)]));
  await once(socket, "close");
  expect(dropped).toEqual([{ count: 1, address: STRANGER, reason: "an endless TLS handshake" }]);
});
