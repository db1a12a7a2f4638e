import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { WebSocket } from "ws";
import { FeedClient, stuckReader } from "../../../test/support/exchange/feed-client.ts";
import { ToyFeed } from "../../../test/support/exchange/toy-feed.ts";
import { ask, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import type { BookNews, Match, OrderBook } from "../../exchange/exchange.ts";
import type { ExecutionId } from "../../exchange/execution.ts";
import { amountOf } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { RateLimiter } from "../../web/limits/rate-limiter.ts";
import { DEFAULT_RATES } from "../../web/limits/rates.ts";
import { type FeedBounds, type FeedEvent, feedRoutes } from "./feeds.ts";

let toy: ToyApi;
let feed: ToyFeed;
/** Why readers were sent away. */
let sentAway: string[];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await toy.close();
});

const noteSentAway = (event: FeedEvent): void => {
  if (event.kind === "reader_gone" && event.sentAway !== undefined) sentAway.push(event.sentAway);
};

async function start(bounds: Partial<FeedBounds> = {}): Promise<void> {
  feed = new ToyFeed();
  sentAway = [];
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange, bounds, noteSentAway));
}

async function stuck(path: string): Promise<Socket> {
  const socket = await stuckReader(toy.url, path);
  sockets.push(socket);
  return socket;
}

const level = (price: string, amount: string) => ({ price: amountOf(price), amount: amountOf(amount) });
const BOOK: OrderBook = {
  version: 7n,
  bids: [level("24999", "0.75"), level("24000", "1")],
  asks: [level("25001.5", "2")],
};
const SNAPSHOT = {
  type: "SNAPSHOT",
  market: "BTCUSD",
  sequence: "7",
  bids: [
    { price: "24999", amount: "0.75" },
    { price: "24000", amount: "1" },
  ],
  asks: [{ price: "25001.5", amount: "2" }],
  final_snapshot: true,
};
const NEWS: BookNews = {
  version: 8n,
  levels: [
    { side: "BUY", ...level("24999", "0") },
    { side: "SELL", ...level("25000", "0.1") },
  ],
};
const AFTER: OrderBook = {
  version: 8n,
  bids: [level("24000", "1")],
  asks: [level("25000", "0.1"), level("25001.5", "2")],
};
const AS_OF_AFTER = {
  sequence: "8",
  bids: [SNAPSHOT.bids[1]],
  asks: [{ price: "25000", amount: "0.1" }, SNAPSHOT.asks[0]],
};
const UPDATE = { type: "UPDATE", market: "BTCUSD", sequence: "8" };
const UPDATES = [
  { ...UPDATE, side: "BUY", price: "24999", amount: "0", final_update: false },
  { ...UPDATE, side: "SELL", price: "25000", amount: "0.1", final_update: true },
];

const heard = (client: FeedClient, count: number) =>
  until(`${count} messages have come`, () => client.messages.length >= count);

test("a reader receives the book, then each level that changes; a later one receives the current book", async () => {
  await start();
  const early = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  feed.knowBook("BTCUSD", BOOK);
  feed.tellBook("BTCUSD", AFTER, NEWS);
  const late = new FeedClient(toy.url, "/marketdata/BTCUSD?some=thing");
  await heard(early, 3);
  await heard(late, 1);
  expect(early.messages).toEqual([SNAPSHOT, ...UPDATES]);
  expect(late.messages).toEqual([{ ...SNAPSHOT, ...AS_OF_AFTER }]);
});

test("after a gap in a book's updates every reader gets a new snapshot", async () => {
  await start();
  feed.knowBook("BTCUSD", BOOK);
  const early = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  await heard(early, 1);
  feed.knowBook("BTCUSD", AFTER);
  const late = new FeedClient(toy.url, "/marketdata/BTCUSD");
  await Promise.all([heard(early, 2), heard(late, 1)]);
  const after = { ...SNAPSHOT, ...AS_OF_AFTER };
  expect([early.messages, late.messages]).toEqual([[SNAPSHOT, after], [after]]);
});

const match = (id: bigint, amount: string): Match => ({
  ...level("25000", amount),
  id: id as ExecutionId,
  side: "SELL",
  executedAt: Date.parse("2026-11-21T09:30:00.000Z") as Instant,
});
const execution = (match_number: string, amount: string) => ({
  market: "ETHUSD",
  match_number,
  price: "25000",
  amount,
  side: "SELL",
  executed_at: "2026-11-21T09:30:00.000Z",
});

test("a reader of executions receives the last one, then each new one", async () => {
  await start();
  const first = await new FeedClient(toy.url, "/executiondata/ETHUSD").opened();
  feed.knowMatch("ETHUSD", undefined);
  feed.tellMatches("ETHUSD", [match(11n, "0.1"), match(13n, "0.2")]);
  await heard(first, 2);
  const second = new FeedClient(toy.url, "/executiondata/ETHUSD");
  await heard(second, 1);
  feed.tellMatches("ETHUSD", [match(15n, "0.3")]);
  await Promise.all([heard(first, 3), heard(second, 2)]);
  expect(first.messages).toEqual([execution("11", "0.1"), execution("13", "0.2"), execution("15", "0.3")]);
  expect(second.messages).toEqual([execution("13", "0.2"), execution("15", "0.3")]);
});

/** The answer to a handshake, with some of its headers changed. */
async function handshake(path: string, changed: Record<string, string> = {}, method = "GET") {
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "x-request-id": "r-1",
  };
  const sent = request(toy.url + path, { method, headers: { ...headers, ...changed } });
  sent.end();
  const [response] = await once(sent, "response");
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  const { connection, date: _, "content-length": __, ...received } = response.headers;
  expect(connection).toBe("close");
  return { status: response.statusCode, headers: received, body: JSON.parse(text) };
}

test("a handshake that leads nowhere is answered like any other request", async () => {
  await start();
  for (const path of ["/nothing", "/market", "/marketdata/BTCUSD/x"]) {
    expect(await handshake(path)).toEqual(problem(404, "Not Found", "no such path"));
  }
  expect(await handshake("/marketdata/btcusd")).toEqual(problem(404, "Not Found", "market not found: btcusd"));
  const upgrade = { upgrade: "websocket", "sec-websocket-version": "13" };
  expect(await handshake("/marketdata/BTCUSD", { "sec-websocket-version": "8" })).toEqual(
    problem(426, "Upgrade Required", "Sec-WebSocket-Version has to be 13", { headers: upgrade }),
  );
  expect(await handshake("/marketdata/BTCUSD", { "sec-websocket-key": "short" })).toEqual(
    problem(400, "Bad Request", "Sec-WebSocket-Key has to be 16 bytes in base64"),
  );
  expect(await handshake("/marketdata/BTCUSD", {}, "DELETE")).toEqual(
    problem(405, "Method Not Allowed", "DELETE is not allowed on this path: use GET", {
      headers: { allow: "GET" },
    }),
  );
});

test("a handshake costs a request: past the rate it is 429", async () => {
  feed = new ToyFeed();
  const rates = { ...DEFAULT_RATES, order_book: 1 / 300, recent_executions: 2 / 300 };
  const limiter = new RateLimiter(rates, { now: () => 0 });
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange), { limiter });
  await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  const { status, body } = await handshake("/marketdata/ETHUSD");
  expect([status, body.detail]).toEqual([429, "too many requests: try again in 300 seconds"]);
  for (const market of ["BTCUSD", "ETHUSD"]) await new FeedClient(toy.url, `/executiondata/${market}`).opened();
  const third = await handshake("/executiondata/BTCUSD");
  expect([third.status, third.body.detail]).toEqual([429, "too many requests: try again in 150 seconds"]);
});

test("a feed requested without WebSocket responds 426", async () => {
  await start();
  const upgrade = { upgrade: "websocket", "sec-websocket-version": "13" };
  for (const path of ["/marketdata/BTCUSD", "/executiondata/BTCUSD"]) {
    expect(await ask(toy, path)).toEqual(
      problem(426, "Upgrade Required", "this is a feed: connect to it over WebSocket", { headers: upgrade }),
    );
  }
  expect(await ask(toy, "/marketdata/NOPEUSD")).toEqual(problem(404, "Not Found", "market not found: NOPEUSD"));
});

test("past its bounds a process accepts no more readers, until some have left", async () => {
  await start({ mostReaders: 2 });
  const [first] = await Promise.all([1, 2].map(() => new FeedClient(toy.url, "/marketdata/BTCUSD").opened()));
  expect(await handshake("/marketdata/ETHUSD")).toEqual(
    problem(503, "Service Unavailable", "the feeds have as many readers as they can serve", {
      headers: { "retry-after": "1" },
    }),
  );
  await first?.close();
  await new FeedClient(toy.url, "/marketdata/ETHUSD").opened();
});

test("one address has half of the readers when it is alone, and loses one to an address that has fewer", async () => {
  feed = new ToyFeed();
  sentAway = [];
  const trustedProxies = [parseNetwork("127.0.0.1") as Network];
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange, { mostReaders: 8 }, noteSentAway), {
    trustedProxies,
  });
  const from = (address: string) => ({ "x-forwarded-for": address });
  const open = (address: string) => new FeedClient(toy.url, "/marketdata/BTCUSD", { headers: from(address) }).opened();
  const [first] = await Promise.all([1, 2, 3, 4].map(() => open("203.0.113.9")));
  expect((await handshake("/marketdata/BTCUSD", from("203.0.113.9"))).body.detail).toBe(
    "this address has as many feed readers as it may have",
  );
  await first?.close();
  await open("203.0.113.9");
  for (const at of [10, 11, 12]) await open(`203.0.113.${at}`);
  expect(sentAway).toEqual([]);
  await open("203.0.113.13");
  await open("203.0.113.14");
  await until("one was disconnected", () => sentAway.length === 1);
  expect(sentAway).toEqual(["too_many"]);
});

test("one address has only so many readers, however much room there is", async () => {
  feed = new ToyFeed();
  const trustedProxies = [parseNetwork("127.0.0.1") as Network];
  const bounds = { mostReaders: 100, mostReadersOfAddress: 2 };
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange, bounds), { trustedProxies });
  const from = (address: string) => ({ "x-forwarded-for": address });
  const open = (address: string) => new FeedClient(toy.url, "/marketdata/BTCUSD", { headers: from(address) }).opened();
  await open("203.0.113.9");
  await open("203.0.113.9");
  const { status, body } = await handshake("/marketdata/BTCUSD", from("203.0.113.9"));
  expect([status, body.detail]).toEqual([503, "this address has as many feed readers as it may have"]);
  await open("203.0.113.10");
});

test("an address whose readers flood a feed again and again gets no new ones for a while, and others do", async () => {
  feed = new ToyFeed();
  const trustedProxies = [parseNetwork("127.0.0.1") as Network];
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange, { mostReceived: 3 }), { trustedProxies });
  const from = (address: string) => ({ "x-forwarded-for": address });
  const open = () => new FeedClient(toy.url, "/marketdata/BTCUSD", { headers: from("203.0.113.9") }).opened();
  // On a busy machine three floods may not fall into one second.
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  for (const flooding of [await open(), await open(), await open()]) {
    for (let i = 0; i < 4; i += 1) flooding.webSocket.pong();
    await flooding.closed;
  }
  const rejected = () => handshake("/marketdata/BTCUSD", from("203.0.113.9"));
  await until("its address is blocked", async () => (await rejected()).status === 429);
  expect(await rejected()).toEqual(
    problem(429, "Too Many Requests", "feed readers at this address sent too much: try again later", {
      headers: { "retry-after": "10" },
    }),
  );
  await new FeedClient(toy.url, "/marketdata/BTCUSD", { headers: from("203.0.113.10") }).opened();
});

test("an address has other readers after a flood by one of them", async () => {
  feed = new ToyFeed();
  const trustedProxies = [parseNetwork("127.0.0.1") as Network];
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange, { mostReceived: 3 }), { trustedProxies });
  const headers = { "x-forwarded-for": "203.0.113.9" };
  const open = () => new FeedClient(toy.url, "/marketdata/BTCUSD", { headers }).opened();
  const flooding = await open();
  for (let i = 0; i < 4; i += 1) flooding.webSocket.pong();
  await flooding.closed;
  await open();
});

test("messages of a reader are ignored; too many or too long ones disconnect it", async () => {
  await start({ mostReceived: 3 });
  const [quiet, chatty, long] = await Promise.all(
    [1, 2, 3].map(() => new FeedClient(toy.url, "/marketdata/BTCUSD").opened()),
  );
  quiet?.webSocket.send('{"type":"subscribe"}');
  for (let i = 0; i < 4; i += 1) chatty?.webSocket.ping();
  long?.webSocket.send("x".repeat(1_025));
  expect(await chatty?.closed).toBe("1008 feeds take no messages");
  expect(await long?.closed).toBe("1009");
  feed.knowBook("BTCUSD", BOOK);
  await heard(quiet as FeedClient, 1);
});

test("a reader may send sixty messages, pings and pongs, and is disconnected at the next of any kind", async () => {
  await start();
  for (const send of [(to: WebSocket) => to.pong(), (to: WebSocket) => to.send("x")]) {
    const chatty = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
    for (let i = 0; i < 59; i += 1) send(chatty.webSocket);
    const pong = once(chatty.webSocket, "pong");
    chatty.webSocket.ping();
    await pong;
    send(chatty.webSocket);
    expect(await chatty.closed).toBe("1008 feeds take no messages");
  }
});

test("a bug in one book is logged, and ends the connections of its readers only", async () => {
  await start();
  feed.knowBook("BTCUSD", { ...BOOK, bids: undefined as never });
  feed.knowBook("ETHUSD", BOOK);
  const there = await new FeedClient(toy.url, "/marketdata/ETHUSD").opened();
  expect(await new FeedClient(toy.url, "/marketdata/BTCUSD").closed).toBe("1006");
  await until("it is noted", () => sentAway.length === 1);
  expect(sentAway).toEqual(["bug"]);
  expect(toy.logged.at(-1)).toMatchObject({
    level: 50,
    msg: "a bug ended the connection of a feed reader",
    err: { type: "TypeError" },
  });
  await heard(there, 1);
});

test("a flood of frames of any kind ends only its own connection", async () => {
  await start();
  const quiet = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  const MASK = [0, 0, 0, 0];
  const frames = { ping: [0x89, 0x80], pong: [0x8a, 0x80], fragment: [0x00, 0x80] };
  for (const frame of Object.values(frames)) {
    const flooding = await stuck("/marketdata/BTCUSD");
    // A message that never ends: a fragment may only follow its beginning.
    flooding.write(Buffer.from([0x01, 0x80, ...MASK]));
    flooding.write(Buffer.concat(Array.from({ length: 2_000 }, () => Buffer.from([...frame, ...MASK]))));
    await once(flooding.resume(), "close");
  }
  expect(sentAway).toEqual(["talks", "talks", "talks"]);
  feed.knowBook("BTCUSD", BOOK);
  await heard(quiet, 1);
});

test("a reader that does not answer a ping is disconnected; one that does stays", async () => {
  // A busy machine takes its time to answer a ping, too.
  await start({ heartbeatMs: 1_000 });
  const there = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  const gone = await stuck("/marketdata/BTCUSD");
  await once(gone.resume(), "close");
  feed.knowBook("BTCUSD", BOOK);
  await heard(there, 1);
});

test("on closing readers get a close frame, and those that ignore it are disconnected", async () => {
  // Longer than a shutdown waits.
  await start({ closeMs: 60_000 });
  const reader = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  const deaf = await stuck("/marketdata/BTCUSD");
  const startedMs = performance.now();
  const closing = toy.api.close();
  expect(await reader.closed).toBe("1001 the service is shutting down");
  await closing;
  await once(deaf.resume(), "close");
  expect(performance.now() - startedMs).toBeLessThan(30_000);
});

test("a handshake that is in progress when the service closes is cut off and does not delay the shutdown", async () => {
  feed = new ToyFeed();
  let [arrived, goOn] = [false, (): void => {}];
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  toy = await startToyApi((api) => {
    api.addHook("preHandler", async () => {
      arrived = true;
      await held;
    });
    feedRoutes(api, feed.exchange);
  });
  const late = new FeedClient(toy.url, "/marketdata/BTCUSD");
  await until("the handshake has come", () => arrived);
  const closing = toy.api.close();
  await until("the server no longer listens", () => !toy.api.server.listening);
  goOn();
  expect(await late.closed).toBe("1006");
  await closing;
  expect(feed.followed).toEqual([]);
});
