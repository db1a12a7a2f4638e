/** What ends and blocks those who flood a server with requests. */
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { arrive, FLOODED, REQUEST, silentServer } from "../../../test/support/http/bounded-server.ts";
import { readCertificate } from "../../../test/support/http/certificate.ts";
import { seeAddress } from "../../../test/support/http/from-elsewhere.ts";
import { until } from "../../../test/support/until.ts";
import { Floods } from "./flood-blocks.ts";
import { reportFlood } from "./flood-reports.ts";
import { noteValidToken } from "./open-connections.ts";

afterEach(() => void vi.useRealTimers());

test("a connection that is flooded with requests is closed after a few, and others go on", async () => {
  const { server, dropped, asked } = silentServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [patient, flooding] = [1, 2].map(() => connect(port, "127.0.0.1").on("error", () => {}));
  onTestFinished(() => {
    for (const socket of [patient, flooding]) socket?.destroy();
  });
  patient?.write(REQUEST.repeat(16));
  await until("the few have come", () => asked() === 16);
  flooding?.write(REQUEST.repeat(2_000));
  await until("the flood has ended", () => flooding?.destroyed === true);
  expect([asked(), patient?.destroyed]).toEqual([32, false]);
  expect(dropped).toEqual([{ count: 1, address: "127.0.0.1", reason: FLOODED }]);
});

test("a connection that floods ends; an address that repeats it loses all on which no valid token was used", async () => {
  vi.useFakeTimers();
  const { server, dropped, asked } = silentServer();
  const [quiet, known] = [1, 2].map(() => arrive(server, "203.0.113.9"));
  noteValidToken(known as Socket, "acme");
  const other = arrive(server, "203.0.113.10");
  for (let floods = 1; floods <= 3; floods += 1) {
    expect([quiet, known, other].map((socket) => socket?.destroyed)).toEqual([false, false, false]);
    const flooding = arrive(server, "203.0.113.9");
    flooding.push(REQUEST.repeat(17));
    await vi.waitUntil(() => flooding.destroyed);
  }
  const late = arrive(server, "203.0.113.9");
  expect([quiet, known, late, other].map((socket) => socket?.destroyed)).toEqual([true, false, true, false]);
  expect([asked(), dropped]).toEqual([48, [{ count: 1, address: "203.0.113.9", reason: FLOODED }]]);
  vi.advanceTimersByTime(10_000);
  expect(arrive(server, "203.0.113.9").destroyed).toBe(false);
});

test("an address that floods again soon after a block is blocked for twice as long, up to 80 s", () => {
  vi.useFakeTimers();
  const floods = new Floods();
  const address = "203.0.113.9";
  const blockedFor = (): number => {
    // The further ones, while it is blocked, change nothing.
    for (let i = 0; i < 6; i += 1) floods.add(address);
    let seconds = 0;
    for (; floods.isBlocked(address); seconds += 1) vi.advanceTimersByTime(1_000);
    return seconds;
  };
  expect([1, 2, 3, 4, 5].map(blockedFor)).toEqual([10, 20, 40, 80, 80]);
  // And after a quiet time as at first.
  vi.advanceTimersByTime(80_000);
  expect(blockedFor()).toBe(10);
  vi.advanceTimersByTime(9_000);
  expect(blockedFor()).toBe(20);
});

test("a customer that floods loses its other connections from there, and a neighbour keeps those with a token", async () => {
  const { server } = silentServer();
  const sockets = Array.from({ length: 6 }, () => arrive(server, "203.0.113.9"));
  for (const [at, socket] of sockets.entries()) noteValidToken(socket as Socket, at < 5 ? "acme" : "neighbour");
  for (const flooding of sockets.slice(0, 3)) flooding.push(REQUEST.repeat(17));
  await vi.waitUntil(() => sockets.slice(0, 5).every(({ destroyed }) => destroyed));
  expect(sockets.at(-1)?.destroyed).toBe(false);
});

test("a request behind another one counts by the length of its head", async () => {
  const { server, asked } = silentServer();
  const long = (url: number, header: number): string =>
    `GET /${"x".repeat(url)} HTTP/1.1\r\nHost: x\r\nX-Long: ${"y".repeat(header)}\r\n\r\n`;
  const [first, second, third] = [1, 2, 3].map(() => arrive(server, "203.0.113.9"));
  // Each of four: 32 may wait.
  first?.push(REQUEST + long(15_000, 1).repeat(15));
  second?.push(REQUEST + long(1, 15_000).repeat(15));
  await until("these have come", () => asked() === 32);
  third?.push(REQUEST + long(15_000, 1).repeat(3));
  await until("one more ends its connection", () => third?.destroyed === true);
  expect([asked(), first?.destroyed, second?.destroyed]).toEqual([35, false, false]);
});

test("a TLS connection that ends because its address floods keeps its parser until Node has read what is buffered", async () => {
  const { server, asked } = silentServer(readCertificate());
  seeAddress(server, "203.0.113.9");
  const secured: Socket[] = [];
  server.on("secureConnection", (socket: Socket) => void secured.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const to = { port: (server.address() as AddressInfo).port, host: "127.0.0.1", rejectUnauthorized: false };
  const [flooding, reading] = [1, 2].map(() => connectTls(to).on("error", () => {}));
  onTestFinished(() => {
    for (const socket of [flooding, reading]) socket?.destroy();
  });
  await until("both are secure", () => secured.length === 2);
  server.once("request", ({ socket }: { socket: Socket }) => {
    const other = secured.find((one) => one !== socket) as Socket;
    for (let floods = 1; floods <= 3; floods += 1) reportFlood(other, FLOODED);
    // And for a reason of its own. Without the connection below it, it would close at once.
    socket.destroy();
  });
  reading?.write(REQUEST.repeat(2));
  await until("it is closed", () => reading?.destroyed === true);
  expect([asked(), flooding?.destroyed]).toEqual([1, false]);
});

test("a flood blocks the IPv6 network of 64 bits that it comes from, and none beside it", async () => {
  // On a busy machine three floods may not fall into one second.
  vi.useFakeTimers({ toFake: ["performance"] });
  const { server } = silentServer();
  const [here, beside] = ["2001:db8:0:1::2", "2001:db8:0:2::2"] as const;
  const neighbour = arrive(server, beside);
  for (let floods = 1; floods <= 3; floods += 1) {
    const flooding = arrive(server, here);
    flooding.push(REQUEST.repeat(17));
    await vi.waitUntil(() => flooding.destroyed);
  }
  const ends = [arrive(server, "2001:db8:0:1::3"), neighbour, arrive(server, beside)].map((one) => one.destroyed);
  expect(ends).toEqual([true, false, false]);
});

test("floods from all over an IPv6 network of 48 bits block it, except for connections on which a valid token was used", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const { server } = silentServer();
  const [quiet, known, beside] = ["2001:db8:0:aa::1", "2001:db8:0:bb::1", "2001:db8:1:1::1"].map((address) =>
    arrive(server, address),
  );
  noteValidToken(known as Socket, "neighbour");
  const ends: boolean[][] = [];
  for (let floods = 1; floods <= 9; floods += 1) {
    const flooding = arrive(server, `2001:db8:0:${floods}::1`);
    flooding.push(REQUEST.repeat(17));
    await vi.waitUntil(() => flooding.destroyed);
    ends.push([quiet, known, beside].map((socket) => socket?.destroyed === true));
  }
  expect(ends).toEqual([...new Array<boolean[]>(8).fill([false, false, false]), [true, false, false]]);
  const later = ["2001:db8:0:cc::1", "2001:db8:1:2::1"].map((address) => arrive(server, address).destroyed);
  expect(later).toEqual([true, false]);
});

test("two floods a second from one address block nothing, nor do ten from all addresses together; one more blocks", () => {
  vi.useFakeTimers();
  const floods = new Floods();
  const ten = [1, 2, 3, 4, 5].flatMap((at) => [floods.add(`203.0.113.${at}`), floods.add(`203.0.113.${at}`)]);
  expect(ten).toEqual(Array(10).fill(undefined));
  expect([floods.add("203.0.113.6"), floods.isBlocked("203.0.113.6")]).toEqual(["203.0.113.6", true]);
  expect(floods.isBlocked("203.0.113.1")).toBe(false);
});
