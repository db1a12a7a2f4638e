/** An order that meets more than a hundred others: what is stored between two parts, and who goes on with it. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type CommittedRound, createEngines, type Engines } from "../../src/exchange/engine/engines.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import { Unavailable } from "../../src/ledger/decision.ts";
import { keyName } from "../../src/ledger/tables.ts";
import type { Lane } from "../../src/ledger/writer/lane.ts";
import { systemClock } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { ahead, expectOrdersAddUp, type OrderAsked, TestExchange, type Trader } from "../support/exchange/orders.ts";
import { until } from "../support/until.ts";

type Execute = Lane["execute"];

const MARKET = "ETHUSD";

let exchange: TestExchange;
let engines: Engines;
let rounds: CommittedRound[];
/** After so many matching rounds it comes to this. */
let partsBefore: number;
/** Either the market is halted: the next round is refused, and the book is rebuilt. Or nothing more is committed here. */
let then: "halted" | "lost";
let hasCome: boolean;
let ann: Trader;
let bob: Trader;

beforeAll(async () => {
  exchange = await TestExchange.open();
});

beforeEach(async () => {
  await exchange.askToCancelAll();
  [ann, bob] = [
    await exchange.trader("Ann", "100000 USD, 100 ETH"),
    await exchange.trader("Bob", "100000 USD, 100 ETH"),
  ];
  start();
  await exchange.untilDone();
});

afterEach(async () => {
  await engines.stop();
  await exchange.setStatus(MARKET, "OPEN");
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
});

afterAll(() => exchange.close());

function start(): void {
  const { db, lane, catalogue } = exchange;
  partsBefore = Number.POSITIVE_INFINITY;
  hasCome = false;
  rounds = [];
  const execute: Execute = async (command) => {
    const isRound = command.dependsOn.some((key) => keyName(key) === `market/${MARKET}`);
    if (isRound && matching().length >= partsBefore) {
      hasCome = true;
      if (then === "lost") throw new Unavailable("not taken in");
      partsBefore = Number.POSITIVE_INFINITY;
      await exchange.setStatus(MARKET, "HALTED");
    }
    return lane.execute(command);
  };
  const log = (): void => undefined;
  const options = { database: db.database, clock: systemClock, catalogue, holder: "test", log };
  engines = createEngines({ ...options, lane: { execute } });
  engines.onCommitted((round) => rounds.push(round));
  engines.start();
}

const matching = () => rounds.filter(({ executions }) => executions.length > 0);

const tiny = (side: OrderAsked["side"], more: Partial<OrderAsked> = {}): OrderAsked => ({
  ...{ market: MARKET, side, base: "0.001", price: "1000" },
  ...more,
});
const atMarket = (side: OrderAsked["side"], more: Partial<OrderAsked>): OrderAsked => ({
  ...{ market: MARKET, side, type: "MARKET", timeInForce: "IOC" },
  ...more,
});

/** Places an order that meets 250, of which it comes to the first 100. */
async function placeUntil(what: typeof then, asked: OrderAsked): Promise<OrderId> {
  [partsBefore, then, hasCome] = [matching().length + 1, what, false];
  const id = await exchange.place(bob, asked);
  await until("it is between two parts", async () => {
    const { status, closedAt } = await exchange.order(id);
    return hasCome && (status === "SUBMITTED" || closedAt !== undefined);
  });
  return id;
}

async function goOnWithAnotherEngine(): Promise<void> {
  await engines.stop();
  start();
}

test.each<[string, OrderAsked, string, string]>([
  [
    "a limit order",
    tiny("SELL", { base: "0.25" }),
    "SUBMITTED 0.1 for 100, holds 0.15",
    "FILLED 0.25 for 250, holds 0",
  ],
  ["a larger one", tiny("SELL", { base: "0.3" }), "SUBMITTED 0.1 for 100, holds 0.2", "OPEN 0.25 for 250, holds 0.05"],
  [
    "IOC",
    tiny("SELL", { base: "0.3", timeInForce: "IOC" }),
    "SUBMITTED 0.1 for 100, holds 0.2",
    "CANCELLED 0.25 for 250, holds 0",
  ],
  [
    "a market order",
    atMarket("SELL", { base: "0.3" }),
    "SUBMITTED 0.1 for 100, holds 0.2",
    "CANCELLED 0.25 for 250, holds 0",
  ],
])("%s goes on where it was, with another engine, before any other order", async (_, asked, between, after) => {
  await exchange.placeMany(ann, 250, tiny("BUY"));
  const taker = await placeUntil("lost", asked);
  expect(await exchange.received(taker)).toBe(between);
  // Both wait for the next engine: this one would take all of what the first has still to meet.
  const later = await exchange.place(bob, tiny("SELL", { base: "0.25", timeInForce: "IOC" }));
  await goOnWithAnotherEngine();
  await exchange.untilDone();
  expect(await exchange.received(taker)).toBe(after);
  expect(await exchange.received(later)).toBe("CANCELLED 0 for 0, holds 0");
  // A round is told a moment after its commit.
  await until("both parts are told", () => matching().length >= 2);
  expect(matching().map(({ executions }) => executions.length)).toEqual([200, 100]);
});

test("a market buy spends the rest of its budget", async () => {
  await exchange.placeMany(ann, 250, tiny("SELL"));
  const taker = await placeUntil("lost", atMarket("BUY", { quote: "200.5" }));
  expect(await exchange.received(taker)).toBe("SUBMITTED 0.1 for 100, holds 100.85175");
  await goOnWithAnotherEngine();
  await exchange.untilDone();
  expect(await exchange.received(taker)).toBe("FILLED 0.2005 for 200.5, holds 0");
});

test("a limit order whose market is halted goes on where it was when the market is resumed", async () => {
  await exchange.placeMany(ann, 250, tiny("BUY"));
  const taker = await placeUntil("halted", tiny("SELL", { base: "0.25" }));
  expect(await exchange.received(taker)).toBe("SUBMITTED 0.1 for 100, holds 0.15");
  await exchange.setStatus(MARKET, "OPEN");
  await exchange.untilDone();
  expect(await exchange.received(taker)).toBe("FILLED 0.25 for 250, holds 0");
});

test.each<[string, OrderAsked]>([
  ["an IOC order", tiny("SELL", { base: "0.25", timeInForce: "IOC" })],
  ["a market order", atMarket("SELL", { base: "0.25" })],
])("a halt ends %s between two parts: later it would meet another book", async (_, asked) => {
  await exchange.placeMany(ann, 250, tiny("BUY"));
  const taker = await placeUntil("halted", asked);
  await until("it is closed", async () => (await exchange.order(taker)).closedAt !== undefined);
  expect(await exchange.received(taker)).toBe("CANCELLED 0.1 for 100, holds 0");
  expect((await exchange.order(taker)).cancelReason).toBe("immediate_or_cancel");
});

test("a halt stops an order between two parts, which can then be cancelled, and expires", async () => {
  await exchange.placeMany(ann, 250, tiny("BUY"));
  const first = await placeUntil("halted", tiny("SELL", { base: "0.25" }));
  await exchange.askToCancel(first);
  await exchange.untilDone();
  expect(await exchange.received(first)).toBe("CANCELLED 0.1 for 100, holds 0");
  expect((await exchange.order(first)).cancelReason).toBe("requested");
  await exchange.setStatus(MARKET, "OPEN");
  const expirationDate = ahead(3_000);
  const second = await placeUntil("halted", tiny("SELL", { base: "0.15", timeInForce: "GTT", expirationDate }));
  expect(await exchange.received(second)).toBe("SUBMITTED 0.1 for 100, holds 0.05");
  await until("it has expired", async () => (await exchange.order(second)).closedAt !== undefined);
  expect((await exchange.order(second)).cancelReason).toBe("expired");
  expect(matching()).toHaveLength(2);
});

test("a stop that was triggered goes on, and the next one is triggered behind it", async () => {
  await exchange.place(ann, tiny("BUY"));
  await exchange.place(bob, tiny("SELL"));
  await exchange.placeMany(ann, 250, tiny("BUY", { price: "900" }));
  const stop = { market: MARKET, side: "SELL", type: "STOP_MARKET", stopPrice: "900" } as const;
  const first = await exchange.place(bob, { ...stop, base: "0.2" });
  await exchange.untilDone();
  const second = await exchange.place(bob, { ...stop, base: "0.1" });
  await exchange.untilDone();
  const trigger = await placeUntil("lost", tiny("SELL", { price: "900" }));
  // The first part is of the order that triggers, and of the first stop.
  expect(await exchange.received(trigger)).toBe("FILLED 0.001 for 0.9, holds 0");
  expect(await exchange.received(first)).toBe("SUBMITTED 0.1 for 90, holds 0.1");
  expect(await exchange.received(second)).toBe("SUBMITTED 0 for 0, holds 0.1");
  await goOnWithAnotherEngine();
  await until("both are done", async () => (await exchange.order(second)).closedAt !== undefined);
  expect(await exchange.received(first)).toBe("FILLED 0.2 for 180, holds 0");
  expect(await exchange.received(second)).toBe("CANCELLED 0.049 for 44.1, holds 0");
});

test("FOK is one part: it is filled by a hundred orders, and not by a hundred and one", async () => {
  await exchange.placeMany(ann, 150, tiny("BUY"));
  const many = await exchange.place(bob, tiny("SELL", { base: "0.101", timeInForce: "FOK" }));
  const enough = await exchange.place(bob, tiny("SELL", { base: "0.1", timeInForce: "FOK" }));
  await exchange.untilDone();
  expect(await exchange.received(many)).toBe("CANCELLED 0 for 0, holds 0");
  expect((await exchange.order(many)).cancelReason).toBe("fill_or_kill");
  expect(await exchange.received(enough)).toBe("FILLED 0.1 for 100, holds 0");
});
