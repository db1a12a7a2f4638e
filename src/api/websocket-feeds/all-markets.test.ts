/** A feed without a market: all of them on one connection. There are two. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { FeedClient, stuckReader } from "../../../test/support/exchange/feed-client.ts";
import { ToyFeed } from "../../../test/support/exchange/toy-feed.ts";
import { ask, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import type { OrderBook } from "../../exchange/exchange.ts";
import type { ExecutionId } from "../../exchange/execution.ts";
import { amountOf } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import { pause } from "../../std/pause.ts";
import { RateLimiter } from "../../web/limits/rate-limiter.ts";
import { DEFAULT_RATES } from "../../web/limits/rates.ts";
import { feedRoutes } from "./feeds.ts";

let toy: ToyApi;
let feed: ToyFeed;
beforeEach(async () => {
  feed = new ToyFeed();
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange, { lingerMs: 50 }));
});
afterEach(() => toy.close());

const level = (price: string, amount: string) => ({ price: amountOf(price), amount: amountOf(amount) });

const heard = (client: FeedClient, count: number) =>
  until(`${count} messages have come`, () => client.messages.length >= count);

test("a reader without a market receives all of them, one book after the other", async () => {
  const BOOK: OrderBook = { version: 7n, bids: [level("24999", "0.75")], asks: [] };
  feed.knowBook("ETHUSD", { ...BOOK, version: 9n });
  const all = await new FeedClient(toy.url, "/marketdata?some=thing").opened();
  await until("it follows the first market", () => feed.followed.length === 1);
  feed.knowBook("BTCUSD", BOOK);
  await heard(all, 2);
  feed.tellBook("BTCUSD", { ...BOOK, bids: [] }, { version: 8n, levels: [{ side: "BUY", ...level("24999", "0") }] });
  await heard(all, 3);
  const snapshot = { type: "SNAPSHOT", bids: [{ price: "24999", amount: "0.75" }], asks: [], final_snapshot: true };
  const update = { type: "UPDATE", side: "BUY", price: "24999", amount: "0", final_update: true };
  expect(all.messages).toEqual([
    { ...snapshot, market: "BTCUSD", sequence: "7" },
    { ...snapshot, market: "ETHUSD", sequence: "9" },
    { ...update, market: "BTCUSD", sequence: "8" },
  ]);
  expect(feed.followed.toSorted()).toEqual(["BTCUSD", "ETHUSD"]);
  await all.close();
  await until("the markets are let go of", () => feed.followed.length === 0);
});

test("executions of all markets come on one connection", async () => {
  for (const market of ["BTCUSD", "ETHUSD"]) feed.knowMatch(market, undefined);
  const all = await new FeedClient(toy.url, "/executiondata").opened();
  await until("it has joined all", () => feed.followedMatches.length === 2);
  const executedAt = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
  const match = { ...level("25000", "0.1"), side: "SELL", executedAt } as const;
  feed.tellMatches("ETHUSD", [{ ...match, id: 11n as ExecutionId }]);
  feed.tellMatches("BTCUSD", [{ ...match, id: 13n as ExecutionId }]);
  await heard(all, 2);
  const execution = { price: "25000", amount: "0.1", side: "SELL", executed_at: "2026-11-21T09:30:00.000Z" };
  expect(all.messages).toEqual([
    { ...execution, market: "ETHUSD", match_number: "11" },
    { ...execution, market: "BTCUSD", match_number: "13" },
  ]);
});

test("a handshake counts as one request more for each 64 KiB of its snapshots", async () => {
  await toy.close();
  // Thirty at once.
  const limiter = new RateLimiter({ ...DEFAULT_RATES, order_book: 0.1 });
  toy = await startToyApi((api) => feedRoutes(api, feed.exchange), { limiter });
  const deep = Array.from({ length: 5_000 }, (_, i) => level(`${i + 1}`, "1"));
  for (const market of ["BTCUSD", "ETHUSD"]) feed.knowBook(market, { version: 1n, bids: deep, asks: [] });
  const remaining = async (): Promise<number> => {
    const { headers } = await ask(toy, "/marketdata/BTCUSD", { token: null });
    return Number(headers["ratelimit-remaining"]);
  };
  const before = await remaining();
  const all = await new FeedClient(toy.url, "/marketdata").opened();
  await heard(all, 2);
  const [one, other] = all.messages.map((message) => Math.floor(JSON.stringify(message).length / 65_536));
  expect([one, other]).toEqual([2, 2]);
  expect(before - (await remaining())).toBe(1 + 2 + 2 + 1);
  await all.close();
});

test("a reader of all markets that takes nothing is sent one book, and the next when it has taken that", async () => {
  // More than the system takes for a connection that nobody reads.
  const deep = Array.from({ length: 400_000 }, (_, i) => level(`${i + 1}`, "1"));
  for (const market of ["BTCUSD", "ETHUSD"]) feed.knowBook(market, { version: 1n, bids: deep, asks: [] });
  const socket = await stuckReader(toy.url, "/marketdata");
  await until("it follows the first market", () => feed.followed.length === 1);
  await pause(100);
  expect(feed.followed).toEqual(["BTCUSD"]);
  socket.on("data", () => undefined).resume();
  await until("it follows the second", () => feed.followed.length === 2);
  socket.destroy();
});
