/** Readers that are slow or stuck, and many of them. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { BookClient, stuckReader } from "../../../test/support/exchange/feed-client.ts";
import { ToyFeed } from "../../../test/support/exchange/toy-feed.ts";
import { startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import type { BookNews, OrderBook } from "../../exchange/exchange.ts";
import { amountOf } from "../../money/amount.ts";
import { feedRoutes } from "./feeds.ts";

let toy: ToyApi;
let feed: ToyFeed;
let sockets: Socket[];
beforeEach(async () => {
  sockets = [];
  feed = new ToyFeed();
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange));
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await toy.close();
});

const LEVELS = 1_000;

/** A round in which every level comes to have the round's number as its total. About 110 KiB of messages. */
function tellRound(number: bigint): void {
  const amount = amountOf(`${number}`);
  const levels: BookNews["levels"] = Array.from({ length: LEVELS }, (_, at) => ({
    side: "BUY",
    price: amountOf(`${10_000 + at}`),
    amount,
  }));
  feed.tellBook("BTCUSD", { version: number, bids: levels.toReversed(), asks: [] }, { version: number, levels });
}

const hasRound = (reader: BookClient, number: bigint) =>
  until("the reader has the round", () => reader.messages.at(-1)?.sequence === `${number}`);

test("a slow reader is sent away with a code, and the others go on", async () => {
  await toy.close();
  // It reads the code behind all rounds, which may take longer than a reader is waited for.
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange, { closeMs: 60_000 }));
  const [slow, good] = await Promise.all([1, 2].map(() => new BookClient(toy.url, "/marketdata/BTCUSD").opened()));
  feed.knowBook("BTCUSD", { version: 0n, bids: [], asks: [] });
  await Promise.all([slow, good].map((reader) => hasRound(reader as BookClient, 0n)));
  slow?.webSocket.pause();
  const rounds = 150n;
  for (let number = 1n; number <= rounds; number += 1n) {
    tellRound(number);
    await hasRound(good as BookClient, number);
  }
  slow?.webSocket.resume();
  expect(await slow?.closed).toBe("1013 too slow: reconnect and start from a new snapshot");
  expect(good?.snapshots).toBe(1);
  expect(good?.last).toMatch(/^150 @ 10999, .*, 150 @ 10000 \| $/);
});

test("with a thousand idle readers and ten stuck ones memory stays flat", async () => {
  for (let i = 0; i < 1_000; i += 100) {
    const some = Array.from({ length: 100 }, () => stuckReader(toy.url, "/marketdata/ETHUSD"));
    sockets.push(...(await Promise.all(some)).map((socket) => socket.resume()));
  }
  const stuck: Socket[] = [];
  for (let i = 0; i < 10; i += 1) stuck.push(await stuckReader(toy.url, "/marketdata/BTCUSD"));
  sockets.push(...stuck);
  const good = await new BookClient(toy.url, "/marketdata/BTCUSD").opened();
  feed.knowBook("ETHUSD", { version: 0n, bids: [], asks: [] });
  feed.knowBook("BTCUSD", { version: 0n, bids: [], asks: [] });
  await hasRound(good, 0n);

  const before = memoryInUse();
  const rounds = 200n;
  for (let number = 1n; number <= rounds; number += 1n) {
    tellRound(number);
    await hasRound(good, number);
    good.forget();
  }
  // Each of the stuck ones may have a mebibyte kept for it. All that was sent is 22 MiB, for each.
  expect(memoryInUse() - before).toBeLessThan(80 * 1024 * 1024);
  for (const socket of stuck) await once(socket.resume(), "close");
}, 120_000);

test("past the bound of unsent data the slowest readers are disconnected", async () => {
  await toy.close();
  const why: string[] = [];
  toy = await startToyApi((api) =>
    feedRoutes(api, feed.exchange, { mostUnsentBytes: 2 * 1024 * 1024 }, (event) => {
      if (event.kind === "reader_gone" && event.sentAway !== undefined) why.push(event.sentAway);
    }),
  );
  for (let i = 0; i < 8; i += 1) sockets.push(await stuckReader(toy.url, "/marketdata/BTCUSD"));
  const good = await new BookClient(toy.url, "/marketdata/BTCUSD").opened();
  feed.knowBook("BTCUSD", { version: 0n, bids: [], asks: [] });
  for (let number = 1n; why.length === 0; number += 1n) {
    tellRound(number);
    await hasRound(good, number);
    good.forget();
  }
  // Each alone may have a mebibyte.
  expect(why.length).toBeLessThan(8);
  expect(new Set(why)).toEqual(new Set(["too_slow"]));
});

test("a reader that sends pongs but reads next to nothing is disconnected", async () => {
  await toy.close();
  const why: string[] = [];
  toy = await startToyApi((api) =>
    feedRoutes(api, feed.exchange, { heartbeatMs: 500 }, (event) => {
      if (event.kind === "reader_gone" && event.sentAway !== undefined) why.push(event.sentAway);
    }),
  );
  const stuck = await stuckReader(toy.url, "/marketdata/BTCUSD");
  sockets.push(stuck);
  const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
  const timer = setInterval(() => stuck.write(PONG), 100);
  onTestFinished(() => clearInterval(timer));
  // More than the buffers of two sockets hold.
  const size = 300_000;
  const bids = Array.from({ length: size }, (_, at) => ({ price: amountOf(`${size - at}`), amount: amountOf("1") }));
  feed.knowBook("BTCUSD", { version: 0n, bids, asks: [] });
  await until("it is cut off", () => why.length > 0);
  expect(why).toEqual(["too_slow"]);
});

test("a deep book's snapshot is made once in a while, not for each reader that joins after a change", async () => {
  const open = () => new BookClient(toy.url, "/marketdata/BTCUSD").opened();
  const deep: OrderBook["bids"] = Array.from({ length: 10_000 }, (_, at) => ({
    price: amountOf(`${20_000 - at}`),
    amount: amountOf("1"),
  }));
  let received = 0;
  // The first reader holds the channel open.
  const early = await open();
  for (let number = 0n; number < 20n; number += 1n) {
    const amount = amountOf(`${number + 1n}`);
    const bids = [{ price: amountOf("20000"), amount }, ...deep.slice(1)];
    const book = {
      version: number,
      asks: [],
      get bids() {
        received += 1;
        return bids;
      },
    };
    if (number === 0n) feed.knowBook("BTCUSD", book);
    else
      feed.tellBook("BTCUSD", book, { version: number, levels: [{ side: "BUY", price: amountOf("20000"), amount }] });
    const late = await open();
    await Promise.all([hasRound(early, number), hasRound(late, number)]);
    expect(late.last).toBe(early.last);
    await late.close();
  }
  expect([received, early.snapshots]).toEqual([1, 1]);
});

/** What this process holds on to, in bytes: what it is done with has been collected. */
function memoryInUse(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
