import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { FeedClient } from "../../../test/support/exchange/feed-client.ts";
import { ToyFeed } from "../../../test/support/exchange/toy-feed.ts";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import { type FeedEvent, feedRoutes } from "../../api/websocket-feeds/feeds.ts";
import { boundConnections } from "./connections.ts";
import { containBugs } from "./contain-bugs.ts";
import { TrackedResponse } from "./tracked-response.ts";

let toy: ToyApi;
const bugs: unknown[] = [];
afterEach(async () => {
  bugs.length = 0;
  await toy.close();
});

const fail = (): never => {
  throw new Error("a bug");
};
const GET = "GET /v2/toys HTTP/1.1\r\nHost: toy\r\nConnection: close\r\n\r\n";

test("a bug in any event of a connection ends that connection and no other", async () => {
  toy = await startToyApi((api) => feedRoutes(api, new ToyFeed().exchange));
  const { server } = toy.api;
  containBugs(server, (error) => bugs.push(error));
  const { hostname, port } = new URL(toy.url);
  const offer = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13";
  const handshake = `GET /marketdata/BTCUSD HTTP/1.1\r\nHost: a\r\n${offer}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
  for (const [event, bytes] of [
    ["connection", GET],
    ["request", GET],
    ["upgrade", handshake],
    ["clientError", "nonsense\r\n\r\n"],
    ["checkExpectation", GET.replace("Connection", "Expect: miracles\r\nConnection")],
  ] as const) {
    const beside = connect(Number(port), hostname);
    await once(server, "connection");
    server.prependOnceListener(event, fail);
    expect(await sendRaw(toy.url, bytes), event).toBe("");
    beside.write(GET);
    const [answer] = await once(beside, "data");
    expect(statusesIn(String(answer)), event).toEqual([401]);
  }
  server.prependOnceListener("upgrade", ({ socket }) => socket.on("data", fail));
  expect(statusesIn(await sendRaw(toy.url, handshake, 1, Buffer.from([0x89, 0x80, 0, 0, 0, 0])))).toEqual([101]);
  server.prependOnceListener("connection", (socket) => process.nextTick(() => socket.on("data", fail)));
  expect(await sendRaw(toy.url, GET)).toBe("");
  expect(bugs).toEqual(new Array(7).fill(new Error("a bug")));
});

test("a bug in what a reader of a feed is sent ends that reader and no other", async () => {
  const feed = new ToyFeed();
  const gone: FeedEvent[] = [];
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange, {}, (event) => gone.push(event)));
  feed.knowBook("BTCUSD", { version: 1n, bids: [], asks: [] });
  const other = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  await until("the other has read", () => other.messages.length === 1);
  const unsent = vi.spyOn(WebSocket.prototype, "bufferedAmount", "get").mockImplementationOnce(fail);
  const hit = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  expect(await hit.closed).toBe("1006");
  unsent.mockRestore();
  feed.tellBook("BTCUSD", { version: 2n, bids: [], asks: [] }, { version: 2n, levels: [] });
  feed.knowBook("BTCUSD", { version: 3n, bids: [], asks: [] });
  await until("the other goes on", () => other.messages.length === 2);
  expect(gone.filter(({ kind }) => kind === "reader_gone")).toEqual([{ kind: "reader_gone", sentAway: "bug" }]);
  expect(toy.logged.map(({ msg }) => msg)).toContain("a bug ended the connection of a feed reader");
});

test("what is buffered of a connection that closes does not get to its parser, which another one may have by then", async () => {
  const server = createServer({ ServerResponse: TrackedResponse }, (_request, response) => void response.end());
  boundConnections(server, { most: 5, isShared: () => false, onDropped: () => undefined });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const caller = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => undefined);
  const [socket] = (await once(server, "connection")) as [Socket];
  await until("its parser listens", () => socket.listenerCount("data") > 1);
  socket.destroy();
  await once(socket, "close");
  expect(socket.listenerCount("data")).toBe(0);
  caller.destroy();
});
