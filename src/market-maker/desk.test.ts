import { expect, test } from "vitest";
import { BTCUSD } from "../../test/support/btcusd.ts";
import type { Order, OrderId } from "../exchange/exchange.ts";
import { amountOf, formatAmount, ZERO } from "../money/amount.ts";
import { Desk } from "./desk.ts";
import type { QuotedMarket } from "./quoted-markets.ts";
import type { Quote } from "./quotes.ts";

const TERMS: QuotedMarket = {
  market: BTCUSD.code,
  start: amountOf("1000"),
  unit: amountOf("10"),
  band: 5,
  size: amountOf("1"),
};
/** When an order closed. The desk only asks whether it has. */
const closedAt = 1 as Order["closedAt"];

let made = 0;
/** What is stored for a quote; the desk looks at nothing else of an order. */
function orderFor({ side, price, amount }: Quote, metadata: Readonly<Record<string, string>> = {}): Order {
  made += 1;
  const order = { side, price, baseAmount: amount, metadata, filled: ZERO, status: "OPEN", closedAt: undefined };
  return { ...order, id: `order ${made}` as OrderId } as Partial<Order> as Order;
}

const prices = (quotes: readonly Quote[]): string[] => quotes.map(({ price }) => formatAmount(price));

/** A desk whose whole ladder rests. */
function settledDesk(newest?: Order): { desk: Desk; orders: Order[] } {
  const desk = new Desk(TERMS, "seed", newest);
  const orders = desk.changes(BTCUSD, 0).place.map((quote) => orderFor(quote, desk.metadata));
  for (const order of orders) desk.add(order);
  expect(desk.changes(BTCUSD, 0)).toEqual({ cancel: [], place: [] });
  expect(desk.isAtRest).toBe(true);
  return { desk, orders };
}

const first = (orders: readonly Order[]): Order => orders[0] as Order;

test("a trade moves the price on by one unit, and most of the ladder stays where it is", () => {
  const { desk, orders } = settledDesk();
  const [bid, ask] = orders as [Order, Order];
  desk.observe([{ ...bid, filled: amountOf("0.25") }, { ...ask, filled: amountOf("0.25") }, ...orders.slice(2)], 1);
  expect(desk.metadata).toEqual({ step: "1", offset: "-1" });
  const { cancel, place } = desk.changes(BTCUSD, 1);
  // The best bid and the last ask are at no level any more, and too little is left of what was the best ask.
  expect(cancel).toEqual([bid.id, ask.id, orders.at(-1)?.id]);
  expect(place.map(({ side, price }) => `${side} ${formatAmount(price)}`)).toEqual([
    "SELL 1000",
    "SELL 1010",
    "BUY 940",
  ]);
  desk.observe(desk.orders, 2);
  expect(desk.metadata.step).toBe("1");
});

test("an order that is gone without a trade is placed again where it was", () => {
  const { desk, orders } = settledDesk();
  const gone = first(orders);
  desk.observe([{ ...gone, status: "CANCELLED", closedAt }], 1);
  expect(desk.metadata.step).toBe("0");
  expect(prices(desk.changes(BTCUSD, 1).place)).toEqual(prices([{ ...gone } as unknown as Quote]));
});

test("what is asked to go is asked once, and counts until it has gone", () => {
  const { desk, orders } = settledDesk();
  const extra = { ...orderFor({ side: "BUY", price: amountOf("1"), amount: amountOf("1") }) };
  desk.add(extra);
  expect(desk.changes(BTCUSD, 0).cancel).toEqual([extra.id]);
  desk.onCancelRequested(extra.id);
  expect(desk.changes(BTCUSD, 0).cancel).toEqual([]);
  expect(desk.isAtRest).toBe(false);
  desk.observe([{ ...extra, status: "CANCELLED", closedAt }], 1);
  expect(desk.isAtRest).toBe(true);
  expect(desk.orders).toHaveLength(orders.length);
});

test("a market that goes on refusing is left alone for longer each time, up to a minute, until an order rests", () => {
  const { desk, orders } = settledDesk();
  const gone = first(orders);
  desk.observe([{ ...gone, status: "CANCELLED", closedAt }], 0);
  let now = 0;
  const pauses: number[] = [];
  for (let i = 0; i < 8; i += 1) {
    desk.onRejected(now);
    const before = now;
    while (desk.changes(BTCUSD, now).place.length === 0) now += 500;
    pauses.push(now - before);
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  const placed = { ...gone, id: "again" as OrderId, status: "PENDING_SUBMISSION" as const };
  desk.add(placed);
  desk.observe([{ ...placed, status: "OPEN" }], now);
  desk.observe([{ ...placed, status: "CANCELLED", closedAt }], now);
  desk.onRejected(now);
  expect(desk.changes(BTCUSD, now + 999).place).toEqual([]);
  expect(desk.changes(BTCUSD, now + 1_000).place).toHaveLength(1);
});

test("an order that its engine rejects counts as refused, once for all of a pass", () => {
  const { desk, orders } = settledDesk();
  desk.observe(
    orders.slice(0, 3).map((order) => ({ ...order, status: "REJECTED" as const, closedAt })),
    0,
  );
  expect(desk.changes(BTCUSD, 999).place).toEqual([]);
  expect(desk.changes(BTCUSD, 1_000).place).toHaveLength(3);
});

test("the price goes on from where the newest order was placed; what is no position begins anew", () => {
  const position = (metadata?: Readonly<Record<string, string>>): unknown =>
    new Desk(TERMS, "seed", metadata && orderFor({ side: "BUY", price: ZERO, amount: ZERO }, metadata)).metadata;
  expect(position({ step: "17", offset: "-3" })).toEqual({ step: "17", offset: "-3" });
  const start = { step: "0", offset: "0" };
  for (const metadata of [undefined, {}, { step: "17" }, { step: "-1", offset: "0" }, { step: "1", offset: "x" }]) {
    expect(position(metadata)).toEqual(start);
  }
});
