/** How the parts of the exchange are joined. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CustomerId } from "../customers/customer-id.ts";
import { steadyClock } from "../std/clock.ts";
import { createExchange, type EngineSignals, type Exchange, type ExchangeParts, type Order } from "./exchange.ts";
import { place } from "./orders/orders.ts";

/** Statements, by the connections that they were sent on. */
let asked: { readonly on: "all" | "commits"; readonly text: string }[];
/** The order book version in the database, where no change is stored. */
let head: number;
let gaps: string[];
let commit: Parameters<EngineSignals["onCommitted"]>[0];
let exchange: Exchange;

const ORDER = { id: "order", customerId: "acme", market: "BTCUSD", status: "OPEN" } as unknown as Order;
const NEVER = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
  [asked, head, gaps] = [[], 5, []];
  const rows = (on: "all" | "commits") => async (text: string) => {
    asked.push({ on, text });
    if (text.includes("from book_change")) return [{ market: "BTCUSD", head: `${head}`, version: null, levels: null }];
    return text.includes("booked_order") ? [{ version: `${head}`, side: null }] : [];
  };
  const parts: Pick<ExchangeParts, "engines" | "onFeedFault" | "onFeedGap"> = {
    engines: {
      wake: () => undefined,
      onCommitted: (listener) => {
        commit = listener;
      },
    },
    onFeedFault: (error) => expect.unreachable(error.message),
    onFeedGap: (market) => void gaps.push(market),
  };
  const database = { rows: rows("all"), commits: { rows: rows("commits") } };
  exchange = createExchange({ ...parts, database } as unknown as ExchangeParts);
});

afterEach(async () => {
  exchange.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const committed = (orders: readonly Order[]) =>
  commit({ orders, change: { market: "BTCUSD" as Order["market"], version: 6n, levels: [] } });

test("what waits for a standby does not take the connections of reads: orders that are awaited, and are looked up by ref_id", async () => {
  const wait = exchange.untilClosed(ORDER, 1_000, NEVER);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await wait).toBe(ORDER);
  // Four polls, and a look at the end.
  expect(asked.map(({ on }) => on)).toEqual(asked.map(() => "commits"));
  expect(asked.length).toBeGreaterThanOrEqual(5);
  asked = [];
  await exchange.findOrderOfCustomer("acme" as CustomerId, ORDER.id);
  expect(asked.map(({ on }) => on)).toEqual(["commits"]);
});

test("an order has the time at which its rates are known, since the clock may have been found wrong meanwhile", async () => {
  const done: string[] = [];
  const parts = {
    catalogue: { findMarket: () => ({}), findAsset: () => ({}) },
    fees: {
      ratesOf: async () => {
        await vi.advanceTimersByTimeAsync(10);
        done.push("rates");
      },
    },
    ids: { next: () => void done.push("id") },
    clock: steadyClock,
    lane: { execute: async () => done.push("command") },
  };
  await place(parts as never, { side: "BUY", profileId: "profile" } as never, { house: "maker" });
  expect(done).toEqual(["rates", "id", "command"]);
});

test("the orders of a customer wait in one queue, whatever profiles they are of", async () => {
  const queues: unknown[] = [];
  const parts = {
    catalogue: { findMarket: () => ({}), findAsset: () => ({}) },
    fees: { ratesOf: async () => ({}) },
    ids: { next: () => "id" },
    clock: steadyClock,
    lane: { execute: async ({ queueKey }: { queueKey: string }) => queues.push(queueKey) },
  };
  for (const profileId of ["one", "another"])
    await place(parts as never, { customerId: "acme", side: "BUY", profileId } as never, { house: "maker" });
  expect(queues).toEqual(["acme", "acme"]);
});

test("a wait ends with the order that an engine of this process has closed, or when the exchange is stopped", async () => {
  const closed = { ...ORDER, status: "FILLED", closedAt: 1 } as Order;
  const waits = [ORDER, { ...ORDER, id: "another" } as unknown as Order].map((order) =>
    exchange.untilClosed(order, 10_000, NEVER),
  );
  committed([closed]);
  expect(await waits[0]).toBe(closed);
  exchange.stop();
  expect((await waits[1])?.status).toBe("OPEN");
});

test("the change of a round is stored, and the feed looks for it at once", async () => {
  exchange.feed.followBook("BTCUSD" as Order["market"], () => undefined);
  await vi.advanceTimersByTimeAsync(1_000);
  const looks = () => asked.filter(({ text }) => text.includes("from book_change")).length;
  for (let before = looks(); looks() === before; ) await vi.advanceTimersByTimeAsync(1);
  // That was one of the looks of twenty a second; the next is due in 55 ms.
  await vi.advanceTimersByTimeAsync(10);
  const before = looks();
  committed([]);
  await vi.advanceTimersByTimeAsync(10);
  expect(looks()).toBe(before + 1);
  expect(asked.filter(({ text }) => text.includes("insert into book_change"))).toHaveLength(1);
  expect(gaps).toEqual([]);
});

test("a change that does not come within a second is a gap, which is told", async () => {
  exchange.feed.followBook("BTCUSD" as Order["market"], () => undefined);
  await vi.advanceTimersByTimeAsync(1_000);
  head = 6;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(gaps).toEqual([]);
  await vi.advanceTimersByTimeAsync(500);
  expect(gaps).toEqual(["BTCUSD"]);
});
