import { expect, test } from "vitest";
import { BTCUSD } from "../../test/support/exchange/btcusd.ts";
import type { Order, OrderId } from "../exchange/exchange.ts";
import { amountOf, formatAmount, ZERO } from "../money/amount.ts";
import { MarketQuoter } from "./market-quoter.ts";
import type { QuotedMarket } from "./quoted-markets.ts";
import type { Quote } from "./quotes.ts";

const TERMS: QuotedMarket = {
  market: BTCUSD.code,
  start: amountOf("1000"),
  unit: amountOf("10"),
  band: 5,
  size: amountOf("1"),
};
/** When an order closed. The quoter only asks whether it has. */
const closedAt = 1 as Order["closedAt"];

let made = 0;
/** What is stored for a quote; the quoter looks at nothing else of an order. */
function orderFor({ side, price, amount }: Quote, metadata: Readonly<Record<string, string>> = {}): Order {
  made += 1;
  const order = {
    side,
    price,
    baseAmount: amount,
    annotations: { metadata },
    filled: ZERO,
    status: "OPEN",
    closedAt: undefined,
  };
  return { ...order, id: `order ${made}` as OrderId } as Partial<Order> as Order;
}

const prices = (quotes: readonly Quote[]): string[] => quotes.map(({ price }) => formatAmount(price));

/** A quoter whose whole ladder rests. */
function settledQuoter(newest?: Order): { quoter: MarketQuoter; orders: Order[] } {
  const quoter = new MarketQuoter(TERMS, "seed", newest);
  const orders = quoter.changes(BTCUSD, 0).place.map((quote) => orderFor(quote, quoter.metadata));
  for (const order of orders) quoter.add(order);
  expect(quoter.changes(BTCUSD, 0)).toEqual({ cancel: [], place: [] });
  expect(quoter.isAtRest).toBe(true);
  return { quoter, orders };
}

const first = (orders: readonly Order[]): Order => orders[0] as Order;

test("a trade moves the price on by one unit, and most of the ladder stays where it is", () => {
  const { quoter, orders } = settledQuoter();
  const [bid, ask] = orders as [Order, Order];
  quoter.observe([{ ...bid, filled: amountOf("0.25") }, { ...ask, filled: amountOf("0.25") }, ...orders.slice(2)], 1);
  expect(quoter.metadata).toEqual({ step: "1", offset: "-1" });
  const { cancel, place } = quoter.changes(BTCUSD, 1);
  // The best bid and the last ask are at no level any more, and too little is left of what was the best ask.
  expect(cancel).toEqual([bid.id, ask.id, orders.at(-1)?.id]);
  expect(place.map(({ side, price }) => `${side} ${formatAmount(price)}`)).toEqual([
    "SELL 1000",
    "SELL 1010",
    "BUY 940",
  ]);
  quoter.observe(quoter.orders, 2);
  expect(quoter.metadata.step).toBe("1");
});

test("an order that disappeared without a trade is placed again where it was", () => {
  const { quoter, orders } = settledQuoter();
  const gone = first(orders);
  quoter.observe([{ ...gone, status: "CANCELLED", closedAt }], 1);
  expect(quoter.metadata.step).toBe("0");
  expect(prices(quoter.changes(BTCUSD, 1).place)).toEqual(prices([{ ...gone } as unknown as Quote]));
});

test("a cancel is requested once, and the order counts until it is closed", () => {
  const { quoter, orders } = settledQuoter();
  const extra = { ...orderFor({ side: "BUY", price: amountOf("1"), amount: amountOf("1") }) };
  quoter.add(extra);
  expect(quoter.changes(BTCUSD, 0).cancel).toEqual([extra.id]);
  quoter.onCancelRequested(extra.id);
  expect(quoter.changes(BTCUSD, 0).cancel).toEqual([]);
  expect(quoter.isAtRest).toBe(false);
  quoter.observe([{ ...extra, status: "CANCELLED", closedAt }], 1);
  expect(quoter.isAtRest).toBe(true);
  expect(quoter.orders).toHaveLength(orders.length);
});

test("what a search finds of a known order does not hide its trade from the next look", () => {
  const { quoter, orders } = settledQuoter();
  const traded = { ...first(orders), filled: amountOf("0.1") };
  quoter.add(traded);
  quoter.observe([traded, ...orders.slice(1)], 1);
  expect(quoter.metadata.step).toBe("1");
});

test("a market that keeps rejecting is skipped for longer each time, up to a minute, until an order rests", () => {
  const { quoter, orders } = settledQuoter();
  const gone = first(orders);
  quoter.observe([{ ...gone, status: "CANCELLED", closedAt }], 0);
  let now = 0;
  const pauses: number[] = [];
  for (let i = 0; i < 8; i += 1) {
    quoter.onRejected(now);
    const before = now;
    while (quoter.changes(BTCUSD, now).place.length === 0) now += 500;
    pauses.push(now - before);
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  const placed = { ...gone, id: "again" as OrderId, status: "PENDING_SUBMISSION" as const };
  quoter.add(placed);
  quoter.observe([{ ...placed, status: "OPEN" }], now);
  quoter.observe([{ ...placed, status: "CANCELLED", closedAt }], now);
  quoter.onRejected(now);
  expect(quoter.changes(BTCUSD, now + 999).place).toEqual([]);
  expect(quoter.changes(BTCUSD, now + 1_000).place).toHaveLength(1);
});

test("orders that go on resting do not shorten the pauses of a market that rejects the others", () => {
  const { quoter, orders } = settledQuoter();
  const [gone, ...others] = orders as [Order, ...Order[]];
  quoter.observe([{ ...gone, status: "CANCELLED", closedAt }], 0);
  quoter.onRejected(0);
  quoter.observe(others, 1_000);
  quoter.onRejected(1_000);
  expect(quoter.changes(BTCUSD, 2_999).place).toEqual([]);
  expect(quoter.changes(BTCUSD, 3_000).place).toHaveLength(1);
});

test("orders that the engine rejects count once per pass", () => {
  const { quoter, orders } = settledQuoter();
  quoter.observe(
    orders.map((order, place) => (place < 3 ? { ...order, status: "REJECTED" as const, closedAt } : order)),
    0,
  );
  expect(quoter.changes(BTCUSD, 999).place).toEqual([]);
  expect(quoter.changes(BTCUSD, 1_000).place).toHaveLength(3);
});

test("the price goes on from where the newest order was placed; what is no position begins anew", () => {
  const position = (metadata?: Readonly<Record<string, string>>): unknown =>
    new MarketQuoter(TERMS, "seed", metadata && orderFor({ side: "BUY", price: ZERO, amount: ZERO }, metadata))
      .metadata;
  expect(position({ step: "17", offset: "-3" })).toEqual({ step: "17", offset: "-3" });
  const start = { step: "0", offset: "0" };
  for (const metadata of [undefined, {}, { step: "17" }, { step: "-1", offset: "0" }, { step: "1", offset: "x" }]) {
    expect(position(metadata)).toEqual(start);
  }
});
