/** What the engine does with orders and cancels, beside moving money. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  type CommittedRound,
  createEngines,
  type EngineEvent,
  type Engines,
} from "../../src/exchange/engine/engines.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import { Unavailable } from "../../src/ledger/decision.ts";
import { keyName } from "../../src/ledger/tables.ts";
import type { Lane } from "../../src/ledger/writer/lane.ts";
import { systemClock } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { ahead, expectOrdersAddUp, type OrderAsked, TestExchange, type Trader } from "../support/exchange/orders.ts";
import { until, untilNextMillisecond } from "../support/until.ts";

type Execute = Lane["execute"];

let exchange: TestExchange;
let engines: Engines;
let events: EngineEvent[];
let rounds: CommittedRound[];
/** What happens before a command goes to the lane. */
let before: (command: Parameters<Execute>[0]) => Promise<void>;
let ann: Trader;
let bob: Trader;

beforeAll(async () => {
  exchange = await TestExchange.open();
});

beforeEach(async () => {
  // Every test has a book of its own: what the one before left is cancelled.
  await exchange.askToCancelAll();
  [ann, bob] = [await exchange.trader("Ann", "10000 USD, 10 ETH"), await exchange.trader("Bob", "10000 USD, 10 ETH")];
  before = async () => undefined;
  start();
  await exchange.untilDone();
});

afterEach(async () => {
  await engines.stop();
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
});

afterAll(() => exchange.close());

function start(): void {
  const { db, lane, catalogue } = exchange;
  const execute: Execute = async (command) => {
    await before(command);
    return lane.execute(command);
  };
  [events, rounds] = [[], []];
  const log = (event: EngineEvent): void => void events.push(event);
  const options = { database: db.database, clock: systemClock, catalogue, holder: "test", log };
  engines = createEngines({ ...options, lane: { execute } });
  engines.onCommitted((round) => rounds.push(round));
  engines.start();
}

async function restart(): Promise<void> {
  await engines.stop();
  start();
}

const eth = (side: OrderAsked["side"], base: string, price: string, more: Partial<OrderAsked> = {}): OrderAsked => ({
  market: "ETHUSD",
  side,
  base,
  price,
  ...more,
});

async function place(trader: Trader, asked: OrderAsked): Promise<OrderId> {
  const id = await exchange.place(trader, asked);
  await exchange.untilDone();
  return id;
}

const isOf = (market: string) => (command: Parameters<Execute>[0]) =>
  command.dependsOn.some((key) => keyName(key) === `market_head/${market}`);

test("orders match by price, then by time, and the remainder rests", async () => {
  const dear = await place(ann, eth("SELL", "1", "1010"));
  const first = await place(ann, eth("SELL", "1", "1000"));
  const second = await place(ann, eth("SELL", "1", "1000"));
  const buy = await place(bob, eth("BUY", "2.5", "1005"));
  expect(await exchange.received(first)).toBe("FILLED 1 for 1000, holds 0");
  expect(await exchange.received(second)).toBe("FILLED 1 for 1000, holds 0");
  expect(await exchange.received(dear)).toBe("OPEN 0 for 0, holds 1");
  expect(await exchange.received(buy)).toBe("OPEN 2 for 2000, holds 504.25875");
});

test("pending orders are taken in the order in which they were placed", async () => {
  await engines.stop();
  const sell = await exchange.place(ann, eth("SELL", "1", "1000"));
  const early = await exchange.place(bob, eth("BUY", "1", "1000"));
  const late = await exchange.place(bob, eth("BUY", "1", "1000"));
  start();
  await exchange.untilDone();
  expect(await exchange.received(sell)).toBe("FILLED 1 for 1000, holds 0");
  expect(await exchange.received(early)).toBe("FILLED 1 for 1000, holds 0");
  expect(await exchange.received(late)).toBe("OPEN 0 for 0, holds 1003.5");
  expect(rounds.filter(({ market, effects }) => market.code === "ETHUSD" && effects.length > 0)).toHaveLength(1);
});

test("a cancel before the fill wins; a cancel after it finds the order closed", async () => {
  const sell = await place(ann, eth("SELL", "1", "1000"));
  await engines.stop();
  await exchange.askToCancel(sell);
  await untilNextMillisecond();
  const buy = await exchange.place(bob, eth("BUY", "1", "1000", { timeInForce: "IOC" }));
  start();
  await exchange.untilDone();
  expect(await exchange.received(sell)).toBe("CANCELLED 0 for 0, holds 0");
  expect(await exchange.received(buy)).toBe("CANCELLED 0 for 0, holds 0");

  const again = await place(ann, eth("SELL", "1", "1000"));
  await engines.stop();
  const fill = await exchange.place(bob, eth("BUY", "1", "1000"));
  await untilNextMillisecond();
  await exchange.askToCancel(again);
  start();
  await exchange.untilDone();
  expect(await exchange.received(again)).toBe("FILLED 1 for 1000, holds 0");
  expect(await exchange.received(fill)).toBe("FILLED 1 for 1000, holds 0");
});

test("an order that is cancelled before an engine has taken it is placed first, and then cancelled", async () => {
  const sell = await place(ann, eth("SELL", "0.4", "1000"));
  await engines.stop();
  const buy = await exchange.place(bob, eth("BUY", "1", "1000"));
  await exchange.askToCancel(buy);
  start();
  await exchange.untilDone();
  expect(await exchange.received(sell)).toBe("FILLED 0.4 for 400, holds 0");
  expect(await exchange.received(buy)).toBe("CANCELLED 0.4 for 400, holds 0");
});

test("a halted market rejects accepted orders, keeps resting ones and still cancels; once resumed it matches", async () => {
  const resting = await place(ann, eth("SELL", "1", "1000"));
  const other = await place(ann, eth("SELL", "1", "1001"));
  await exchange.setStatus("ETHUSD", "HALTED");
  const buy = await place(bob, eth("BUY", "1", "1000"));
  expect(await exchange.received(buy)).toBe("REJECTED market_halted 0 for 0, holds 0");
  await exchange.askToCancel(other);
  await exchange.untilDone();
  expect(await exchange.received(other)).toBe("CANCELLED 0 for 0, holds 0");
  expect(await exchange.received(resting)).toBe("OPEN 0 for 0, holds 1");
  await exchange.setStatus("ETHUSD", "OPEN");
  const next = await place(bob, eth("BUY", "1", "1000"));
  expect(await exchange.received(next)).toBe("FILLED 1 for 1000, holds 0");
});

test("a halt during a match wins: the book is rebuilt and the order rejected", async () => {
  const sell = await place(ann, eth("SELL", "1", "1000"));
  before = async (command) => {
    if (!isOf("ETHUSD")(command)) return;
    before = async () => undefined;
    await exchange.setStatus("ETHUSD", "HALTED");
  };
  const buy = await place(bob, eth("BUY", "1", "1000"));
  expect(await exchange.received(buy)).toBe("REJECTED market_halted 0 for 0, holds 0");
  expect(await exchange.received(sell)).toBe("OPEN 0 for 0, holds 1");
  expect(events.filter((event) => event.kind === "market_failed").map(({ error }) => error.message)).toEqual([
    "the stored market does not match the order book",
  ]);
  await exchange.setStatus("ETHUSD", "OPEN");
});

test("a stop stays SUBMITTED, also across a restart, until the last execution price triggers it", async () => {
  await place(ann, eth("SELL", "1", "1000"));
  await place(bob, eth("BUY", "1", "1000"));
  const stop = await place(ann, { ...eth("SELL", "1", "980"), type: "STOP_LIMIT", stopPrice: "990" });
  expect(await exchange.received(stop)).toBe("SUBMITTED 0 for 0, holds 1");
  await restart();
  await place(bob, eth("BUY", "1", "985"));
  await place(ann, eth("SELL", "0.5", "985"));
  expect(await exchange.received(stop)).toBe("OPEN 0.5 for 492.5, holds 0.5");
  expect((await exchange.order(stop)).isTriggered).toBe(true);
});

test("a post-only order that would cross is rejected, and an order beyond the collar too", async () => {
  await place(ann, eth("SELL", "1", "1000"));
  await place(ann, eth("BUY", "1", "990"));
  const maker = await place(bob, { ...eth("BUY", "1", "1000"), type: "POST_ONLY_LIMIT" });
  expect(await exchange.received(maker)).toBe("REJECTED post_only_would_cross 0 for 0, holds 0");
  const slip = await place(bob, eth("BUY", "1", "5000"));
  expect(await exchange.received(slip)).toBe("REJECTED price_collar 0 for 0, holds 0");
});

test("an order expires within a second of its time, also across a restart and on a halted market", async () => {
  const expirationDate = ahead(4_000);
  const order = await place(ann, eth("SELL", "1", "1000", { timeInForce: "GTT", expirationDate }));
  const stop = await place(ann, {
    ...eth("SELL", "1", "900", { timeInForce: "GTT", expirationDate }),
    type: "STOP_LIMIT",
    stopPrice: "1",
  });
  await restart();
  await exchange.setStatus("ETHUSD", "HALTED");
  expect(await exchange.received(order)).toBe("OPEN 0 for 0, holds 1");
  for (const id of [order, stop]) {
    await until("the order has expired", async () => (await exchange.order(id)).status === "CANCELLED");
    const { closedAt, cancelReason } = await exchange.order(id);
    expect(cancelReason).toBe("expired");
    expect(closedAt).toBeGreaterThanOrEqual(expirationDate);
    expect(closedAt).toBeLessThan(expirationDate + 1_000);
  }
  await exchange.setStatus("ETHUSD", "OPEN");
});

test("an order that expired before an engine took it does not trade", async () => {
  const sell = await place(ann, eth("SELL", "1", "1000"));
  const late = await place(bob, eth("BUY", "1", "1000", { timeInForce: "GTT", expirationDate: ahead(-1) }));
  expect(await exchange.received(late)).toBe("CANCELLED 0 for 0, holds 0");
  expect(await exchange.received(sell)).toBe("OPEN 0 for 0, holds 1");
});

test("listeners are notified of every round after its commit, and one that throws does not affect others", async () => {
  const seen: string[] = [];
  engines.onCommitted(() => {
    throw new Error("no");
  });
  const silence = engines.onCommitted(({ orders }) => seen.push(...orders.map((order) => order.status)));
  const sell = await place(ann, eth("SELL", "1", "1000"));
  await until("the listeners are notified", () => seen.length === 1);
  expect(rounds.at(-1)?.orders).toEqual([await exchange.order(sell)]);
  await place(bob, eth("BUY", "1", "1000"));
  await until("the listeners are notified", () => seen.length === 3);
  expect(seen).toEqual(["OPEN", "FILLED", "FILLED"]);
  const last = rounds.at(-1);
  expect(last?.executions).toHaveLength(2);
  expect(last?.effects.map((effect) => effect.kind)).toEqual(["filled", "closed", "closed"]);
  expect(last?.head.version).toBe((rounds.at(-2)?.head.version ?? 0n) + 1n);
  silence();
  expect(events.filter((event) => event.kind === "listener_failed")).toHaveLength(2);
});

test("a failing market stops no other, reports its order lag, and recovers", async () => {
  before = async (command) => {
    if (isOf("ETHUSD")(command)) throw new Unavailable("not now");
  };
  const stuck = await exchange.place(ann, eth("SELL", "1", "1000"));
  const other = await exchange.place(ann, { ...eth("BUY", "1", "100"), market: "LTCUSD" });
  await until("the other market has taken its order", async () => (await exchange.order(other)).status === "OPEN");
  const lag = (): number => engines.report().find(({ market }) => market === "ETHUSD")?.lagMs ?? 0;
  await until("the market says that it lags", () => lag() > 200);
  expect(await exchange.received(stuck)).toBe("PENDING_SUBMISSION 0 for 0, holds 1");
  before = async () => undefined;
  await exchange.untilDone();
  expect(await exchange.received(stuck)).toBe("OPEN 0 for 0, holds 1");
  await until("the market lags no more", () => lag() === 0);
});

test("a round with an unknown outcome is looked up, and not repeated if it was committed", async () => {
  const { lane } = exchange;
  await engines.stop();
  const sell = await exchange.place(ann, eth("SELL", "1", "1000"));
  const buy = await exchange.place(bob, eth("BUY", "1", "1000"));
  let lost = 0;
  const execute: Execute = async (command) => {
    const outcome = await lane.execute(command);
    // The first is the opening.
    if (isOf("ETHUSD")(command) && ++lost === 2) throw new Unavailable("the answer is lost");
    return outcome;
  };
  const { db, catalogue } = exchange;
  const log = (event: EngineEvent): void => void events.push(event);
  const options = { database: db.database, clock: systemClock, catalogue, holder: "test", log };
  engines = createEngines({ ...options, lane: { execute } });
  engines.start();
  await exchange.untilDone();
  await until("the market is open again", () => lost === 3);
  expect(await exchange.received(sell)).toBe("FILLED 1 for 1000, holds 0");
  expect(await exchange.executions(buy)).toHaveLength(1);
});
