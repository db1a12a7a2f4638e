import { once } from "node:events";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { readCertificate } from "../../../test/support/http/certificate.ts";
import { seeAddress } from "../../../test/support/http/from-elsewhere.ts";
import { statusesIn } from "../../../test/support/http/raw-connection.ts";
import { boundConnections, type Dropped } from "./connections.ts";
import { TrackedResponse } from "./tracked-response.ts";

const STRANGER = "203.0.113.9";

const RECORD_HEADER = [22, 3, 1, 64, 0];
/** The beginning of a ClientHello of 131,000 bytes, in records of 16 KiB. */
const ENDLESS_HELLO = Buffer.concat([
  Buffer.from([...RECORD_HEADER, 1, 1, 255, 184, 3, 3]),
  Buffer.alloc(16_378),
  Buffer.from(RECORD_HEADER),
  Buffer.alloc(10_000),
]);

/** All connections come from one stranger's address. */
async function startServer(host = "127.0.0.1"): Promise<{ port: number; dropped: readonly Dropped[] }> {
  const dropped: Dropped[] = [];
  const options = { ...readCertificate(), maxVersion: "TLSv1.2", ServerResponse: TrackedResponse } as const;
  const server: HttpsServer = createHttpsServer(options, (request, response) => {
    request.resume().on("end", () => response.end("ok"));
  });
  boundConnections(server, { most: 100, isShared: () => false, onDropped: (some) => dropped.push(some) });
  seeAddress(server, STRANGER);
  server.listen(0, host);
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
  socket.resume().write(ENDLESS_HELLO);
  await once(socket, "close");
  expect(dropped).toEqual([{ count: 1, address: STRANGER, reason: "an endless TLS handshake" }]);
  const again = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  onTestFinished(() => void again.destroy());
  await once(again.resume(), "close");
});

test("nor does a handshake that has ended on another of the server's addresses, from the same port, spare one", async () => {
  const { port, dropped } = await startServer("0.0.0.0");
  const endless = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.9" }).on("error", () => undefined);
  onTestFinished(() => void endless.destroy());
  await once(endless, "connect");
  const { localPort } = endless;
  const from = { localAddress: "127.0.0.9", ...(localPort !== undefined && { localPort }) };
  const secure = connectTls({ port, host: "127.0.0.2", ...from, rejectUnauthorized: false });
  onTestFinished(() => void secure.destroy());
  await once(secure, "secureConnect");
  expect(secure.localPort).toBe(localPort);
  endless.resume().write(ENDLESS_HELLO);
  await Promise.all([once(endless, "close"), once(secure.resume(), "close")]);
  expect(dropped).toEqual([{ count: 1, address: STRANGER, reason: "an endless TLS handshake" }]);
});

test("what is sent after the handshake is not counted as part of it", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { port, dropped } = await startServer();
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  const post = async (): Promise<number[]> => {
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n${"x".repeat(20_000)}`);
    const answer = await Promise.race([once(socket, "data"), once(socket, "close").then(() => [""])]);
    return statusesIn(String(answer[0]));
  };
  expect(await post()).toEqual([200]);
  vi.advanceTimersByTime(1_000);
  expect(await post()).toEqual([200]);
  expect(dropped).toEqual([]);
});
