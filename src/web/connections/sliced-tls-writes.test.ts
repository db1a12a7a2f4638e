/** What a server keeps for TLS connections that have read something large and then idle. */
import { once } from "node:events";
import { Socket } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCertificate } from "../../../test/support/http/certificate.ts";
import { startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import { progressOf, sliceTlsWrites } from "./sliced-tls-writes.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Counts up, so that a cut in the wrong place would show; some characters are more than one byte. */
const pageOf = (kib: number): string =>
  Array.from({ length: (kib * KIB) / 16 }, (_, i) => `€uro${String(i).padStart(10, "0")}`).join("");
const PAGES = { large: pageOf(1_700), small: pageOf(50) };

let toy: ToyApi;
/** How many pages were asked for. */
let made = 0;
const sockets: TLSSocket[] = [];
beforeEach(async () => {
  made = 0;
  const addPages = (api: ToyApi["api"]): void => {
    for (const [name, page] of Object.entries(PAGES)) {
      api.get(`/${name}`, { config: { scope: "public" }, schema: { hide: true } }, async () => {
        made += 1;
        return page;
      });
    }
  };
  toy = await startToyApi(addPages, { tls: readCertificate() });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await toy.close();
});

const open = async (): Promise<TLSSocket> => {
  const socket = connect({ port: Number(new URL(toy.url).port), host: "127.0.0.1", rejectUnauthorized: false });
  sockets.push(socket);
  await once(socket, "secureConnect");
  return socket;
};

type Page = keyof typeof PAGES;
const request = (page: Page): string => `GET /${page} HTTP/1.1\r\nHost: toy\r\n\r\n`;

/** Asks for a page so many times, then reads all answers, and leaves the connection open. */
async function readAndIdle(page: Page, times: number): Promise<void> {
  const socket = await open();
  const madeBefore = made;
  socket.write(request(page).repeat(times));
  await until("all is made", () => made === madeBefore + times);
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await until("all is read", () => bytes > times * Buffer.byteLength(PAGES[page]));
}

test("idle connections that have read a large answer keep little of it", async () => {
  // What is taken once, whatever the number of connections.
  for (let i = 0; i < 10; i += 1) await readAndIdle("large", 1);
  const before = process.memoryUsage.rss();
  for (let i = 0; i < 50; i += 1) await readAndIdle("large", 1);
  // Kept whole these are 85 MiB.
  expect((process.memoryUsage.rss() - before) / MIB).toBeLessThan(50);
});

test("what is written together goes out in slices, one behind the other, and counts until it has left", async () => {
  const server = createServer();
  sliceTlsWrites(server);
  const socket = new Socket();
  const slices: Buffer[] = [];
  let leave = (): void => undefined;
  socket._write = (slice: Buffer, _encoding, done) => {
    slices.push(slice);
    leave = done;
  };
  server.emit("secureConnection", socket);
  // A byte before a large one too, and small ones around another.
  const sizes = [1, 200 * KIB, ...Array(298).fill(1_000)].with(7, 200 * KIB);
  const messages = sizes.map((size, i) => Buffer.alloc(size, i));
  const all = Buffer.concat(messages);
  socket.cork();
  for (const message of messages) socket.write(message);
  socket.uncork();
  for (let sent = 1; Buffer.concat(slices).length < all.length; sent += 1) {
    expect([slices.length, socket.writableLength, progressOf(socket)]).toEqual([sent, all.length, sent - 1]);
    leave();
  }
  leave();
  expect(progressOf(socket)).toBe(slices.length);
  await until("nothing is unsent", () => socket.writableLength === 0);
  expect(Math.max(...slices.map((slice) => slice.length))).toBe(64 * KIB);
  expect(Buffer.concat(slices).equals(all)).toBe(true);
  socket.destroy();
});

test("what is sent in slices arrives as it is, behind one another too", async () => {
  const socket = await open();
  const order: Page[] = ["large", "small", "small", "large", "small"];
  socket.write(order.map(request).join(""));
  await until("all is made", () => made === order.length);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => void chunks.push(chunk));
  const expected = order.reduce((sum, page) => sum + Buffer.byteLength(PAGES[page]), 0);
  await until("all is read", () => Buffer.concat(chunks).length > expected + 1_000);
  const bodies = Buffer.concat(chunks)
    .toString()
    .split(/HTTP\/1\.1 200 OK\r\n[^€]*?\r\n\r\n/);
  expect(bodies).toEqual(["", ...order.map((page) => PAGES[page])]);
});
