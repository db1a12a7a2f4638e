/** Requests that offer another protocol, as bytes: none of them hides another one, and none ends the process. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { FeedClient, stuckReader } from "../../../test/support/exchange/feed-client.ts";
import { ToyFeed } from "../../../test/support/exchange/toy-feed.ts";
import { seeAddress } from "../../../test/support/http/from-elsewhere.ts";
import { sendRaw, statusesIn } from "../../../test/support/http/raw-connection.ts";
import { startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { boundConnections } from "../../web/connections/connections.ts";
import { containBugs } from "../../web/connections/contain-bugs.ts";
import { sharedBy } from "../../web/connections/server-options.ts";
import { feedRoutes } from "./feeds.ts";

let toy: ToyApi;
let ran: string[];
/** What requests wait for before they are answered. */
let held: Promise<unknown> | undefined;
beforeEach(async () => {
  ran = [];
  held = undefined;
  toy = await startToyApi((api) => {
    api.addHook("onRequest", async () => void (await held));
    feedRoutes(api, new ToyFeed().exchange);
    const options = { config: { scope: "public" }, schema: { hide: true } } as const;
    api.post("/ran/:name", options, async (request) => {
      const { name } = request.params as { readonly name: string };
      ran.push(name);
      return { name, body: request.body };
    });
  });
});
afterEach(() => toy.close());

const WEBSOCKET = ["Connection: Upgrade", "Upgrade: websocket"];
const H2C = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"];
const HANDSHAKE = [...WEBSOCKET, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];

const get = (path: string, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.1`, "Host: toy", ...headers, "", ""].join("\r\n");

function post(name: string, ...headers: string[]): string {
  const body = JSON.stringify({ of: name });
  const all = ["Host: toy", ...headers, "Content-Type: application/json", `Content-Length: ${body.length}`];
  return [`POST /ran/${name} HTTP/1.1`, ...all, "", body].join("\r\n");
}

test("an offer behind a request that is still being answered is answered in its turn, and the connection closed", async () => {
  const offers: readonly (readonly [path: string, offer: readonly string[], status: number])[] = [
    ["/nothing", WEBSOCKET, 404],
    ["/nothing", H2C, 404],
    ["/marketdata/BTCUSD", WEBSOCKET, 426],
    ["/marketdata/BTCUSD", H2C, 426],
    ["/marketdata/BTCUSD", HANDSHAKE, 400],
  ];
  for (const [path, offer, status] of offers) {
    const received = await sendRaw(toy.url, get("/v2/toys") + get(path, ...offer));
    expect(statusesIn(received), `${offer[1]} ${path}`).toEqual([401, status]);
  }
});

test("an offer that is passed over is answered whole, body included, and the connection closed", async () => {
  for (const offer of [WEBSOCKET, H2C]) {
    const [head = "", body = ""] = post("a", ...offer).split("\r\n\r\n");
    for (const parts of [[`${head}\r\n\r\n${body}`], [`${head}\r\n\r\n`, body.slice(0, 5), body.slice(5)]]) {
      const received = await sendRaw(toy.url, ...parts);
      expect(statusesIn(received)).toEqual([200]);
      expect(received).toContain("connection: close");
      expect(received).toContain('{"name":"a","body":{"of":"a"}}');
    }
  }
});

test("what a reader sends within the bounds of feeds is never too much, however long it stays", async () => {
  const bounds = { mostReceived: 1_000, mostReceivedBytes: 1_000_000 };
  const roomy = await startToyApi((api) => feedRoutes(api, new ToyFeed().exchange, bounds));
  onTestFinished(() => roomy.close());
  // From elsewhere: the bytes of a proxy's connections are not counted.
  seeAddress(roomy.api.server, "203.0.113.9");
  boundConnections(roomy.api.server, { most: 20, isShared: sharedBy([]), onDropped: () => expect.fail() });
  const { webSocket } = await new FeedClient(roomy.url, "/marketdata/BTCUSD").opened();
  for (let i = 0; i < 300; i += 1) webSocket.send("x".repeat(1_000));
  const pong = once(webSocket, "pong");
  webSocket.ping();
  await pong;
  webSocket.terminate();
});

test("bytes behind an ignored upgrade offer never run, however they are cut into packets", async () => {
  const [inside, behind] = [post("inside"), post("behind")];
  const carrier = get("/v2/toys", `Content-Length: ${inside.length}`);
  for (const offer of [WEBSOCKET, H2C]) {
    const first = post("a", ...offer);
    const received = await Promise.all([
      sendRaw(toy.url, first + behind),
      sendRaw(toy.url, first, behind),
      // Node drops the rest of the packet in which the first one ends.
      sendRaw(toy.url, first + carrier, inside),
      sendRaw(toy.url, get("/v2/toys") + first + carrier, inside, behind),
      sendRaw(toy.url, first.slice(0, -3), first.slice(-3) + carrier, inside),
    ]);
    expect(received.map(statusesIn)).toEqual([[200], [200], [200], [401, 200], [200]]);
  }
  expect(new Set(ran)).toEqual(new Set(["a"]));
});

test("a handshake on a connection whose requests have been answered is accepted; one with a body is not", async () => {
  const close = Buffer.from([0x88, 0x80, 0, 0, 0, 0]);
  const received = await sendRaw(toy.url, get("/v2/toys"), 1, get("/marketdata/BTCUSD", ...HANDSHAKE), 2, close);
  expect(statusesIn(received)).toEqual([401, 101]);
  for (const framing of ["Content-Length: 0", "Content-Length: 6", "Transfer-Encoding: chunked"]) {
    const rejected = await sendRaw(toy.url, get("/marketdata/BTCUSD", ...HANDSHAKE, framing), close, "0\r\n\r\n");
    expect(statusesIn(rejected), framing).toEqual([400]);
  }
  // RFC 6455, section 4.2.1: HTTP/1.1 or higher.
  const old = get("/marketdata/BTCUSD", ...HANDSHAKE).replace("HTTP/1.1", "HTTP/1.0");
  expect(statusesIn(await sendRaw(toy.url, old, close))).toEqual([400]);
});

test("the name of the protocol may be written in any case (RFC 6455, section 4.2.1)", async () => {
  const close = Buffer.from([0x88, 0x80, 0, 0, 0, 0]);
  const handshake = get("/marketdata/BTCUSD", ...HANDSHAKE).replace("Upgrade: websocket", "Upgrade: WebSocket");
  expect(statusesIn(await sendRaw(toy.url, handshake, 1, close))).toEqual([101]);
});

test("of the subprotocols that a handshake offers none is taken", async () => {
  const close = Buffer.from([0x88, 0x80, 0, 0, 0, 0]);
  const offering = get("/marketdata/BTCUSD", ...HANDSHAKE, "Sec-WebSocket-Protocol: chat, superchat");
  const received = await sendRaw(toy.url, offering, 1, close);
  expect([statusesIn(received), received.toLowerCase().includes("sec-websocket-protocol")]).toEqual([[101], false]);
});

test("an offer that is passed over leaves its connection the time-outs that Node has set, and does not hold up the end", async () => {
  const seen: [number | undefined, number][] = [];
  toy.api.server.on("request", ({ socket }) => seen.push([socket.timeout, socket.listenerCount("timeout")]));
  await sendRaw(toy.url, get("/v2/toys", "Connection: close"));
  await sendRaw(toy.url, get("/v2/toys", ...WEBSOCKET));
  expect(seen).toEqual([
    [60_000, 1],
    [60_000, 1],
  ]);
  const { hostname, port } = new URL(toy.url);
  const half = connect(Number(port), hostname).on("error", () => undefined);
  half.write(get("/v2/toys", ...WEBSOCKET));
  await once(half, "data");
  await Promise.all([once(half, "close"), toy.api.close()]);
});

test("a rejected handshake's connection times out after five seconds, and a reader's never does", async () => {
  const handedOver: Socket[] = [];
  toy.api.server.on("upgrade", ({ socket }) => handedOver.push(socket));
  const rejected = await sendRaw(toy.url, get("/marketdata/NOWHERE", ...HANDSHAKE));
  const reader = await stuckReader(toy.url, "/marketdata/BTCUSD");
  expect([statusesIn(rejected), handedOver.map(({ timeout }) => timeout)]).toEqual([[404], [5_000, 0]]);
  reader.destroy();
});

test("a caller that resets the connection of a handshake before it is answered causes no uncaught error", async () => {
  const uncaught: unknown[] = [];
  containBugs(toy.api.server, (error) => uncaught.push(error));
  const { hostname, port } = new URL(toy.url);
  for (const market of ["BTCUSD", "NOWHERE"]) {
    const caller = connect(Number(port), hostname);
    // `once` would listen for errors as well.
    held = new Promise((resolve) => {
      toy.api.server.once("upgrade", ({ socket }) => {
        socket.once("close", resolve);
        caller.resetAndDestroy();
      });
    });
    caller.write(get(`/marketdata/${market}`, ...HANDSHAKE));
    await held;
  }
  expect(statusesIn(await sendRaw(toy.url, get("/v2/toys", "Connection: close")))).toEqual([401]);
  expect(uncaught).toEqual([]);
});
