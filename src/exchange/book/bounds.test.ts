/** What one order, and one customer, can make the book do. */
import { expect, test } from "vitest";
import { Book, type BookBounds } from "./book.ts";
import type {
  BookOrder,
  BookOrderId,
  LimitOrder,
  Lots,
  MarketBuy,
  MarketSell,
  Price,
  QuoteUnits,
  Sequence,
  StopLimitOrder,
  StopMarketSell,
} from "./order.ts";

type Terms<Order extends BookOrder> = Partial<Omit<Order, "id">>;

const common = { customer: "ann", sequence: 1 as Sequence, timeInForce: "GTC", lots: 1 as Lots } as const;

const ask = (id: string, terms: Terms<LimitOrder> = {}): LimitOrder => ({
  ...{ ...common, id: id as BookOrderId, type: "LIMIT", side: "SELL", price: 100 as Price },
  ...terms,
});
const bid = (id: string, terms: Terms<LimitOrder> = {}): LimitOrder => ask(id, { side: "BUY", ...terms });
const marketSell = (id: string): MarketSell => ({
  ...{ ...common, id: id as BookOrderId, type: "MARKET", side: "SELL", timeInForce: "IOC" },
});
const marketBuy = (id: string): MarketBuy => ({
  ...{ id: id as BookOrderId, customer: "ann", sequence: 1 as Sequence },
  ...{ type: "MARKET", side: "BUY", timeInForce: "IOC", budget: 500n as QuoteUnits },
});
const stopSell = (id: string, sequence = 1): StopMarketSell => ({
  ...{ ...common, id: id as BookOrderId, type: "STOP_MARKET", side: "SELL", stopPrice: 100 as Price },
  sequence: sequence as Sequence,
});

function bookOf(bounds: Partial<BookBounds>, ...orders: BookOrder[]): Book {
  const book = new Book(bounds);
  for (const order of orders) book.place(order);
  return book;
}

const closed = (order: string, status: string, reason?: string) => [{ kind: "closed", order, status, reason }];

test("a market order with nothing but own orders opposite is rejected without a look at them", () => {
  const book = bookOf({}, bid("b1"), bid("b2"), bid("b3", { price: 99 as Price }));
  expect(book.place(marketSell("m1"))).toEqual(closed("m1", "REJECTED", "no_liquidity"));
  expect([book.looked, book.size]).toEqual([0, 3]);
});

test("others' orders behind as many own ones as an order may meet are no liquidity, and nothing is cancelled", () => {
  const others = { customer: "bob", price: 101 as Price };
  const book = bookOf({ maxMet: 3 }, ask("a1"), ask("a2"), ask("a3"), ask("o1", others));
  expect(book.place(marketBuy("m1"))).toEqual(closed("m1", "REJECTED", "no_liquidity"));
  expect([book.looked, book.size]).toEqual([3, 4]);
  book.cancel("a1" as BookOrderId);
  expect(book.place(marketBuy("m2")).map(({ kind }) => kind)).toEqual([
    "closed",
    "closed",
    "filled",
    "closed",
    "closed",
  ]);
});

test("a market sell looks at no more orders either", () => {
  const book = bookOf({ maxMet: 2 }, bid("b1"), bid("b2"), bid("o1", { customer: "bob" }));
  expect(book.place(marketSell("m1"))).toEqual(closed("m1", "REJECTED", "no_liquidity"));
  expect([book.looked, book.size]).toEqual([2, 3]);
});

test("the collar looks at the orders that a limit order can meet, within its limit", () => {
  const far = { customer: "bob", price: 101 as Price };
  const book = bookOf({ maxMet: 2 }, bid("b1", { price: 10 as Price }), ask("a1"), ask("a2"), ask("o1", far));
  expect(book.place(bid("b2", { price: 99 as Price })).map(({ kind }) => kind)).toEqual(["rested"]);
  expect(book.looked).toBe(0);
  // It reaches own orders only, which it cancels; then it would cross.
  expect(book.place(bid("b3", { price: 200 as Price })).at(-1)).toEqual(
    closed("b3", "CANCELLED", "too_many_matches")[0],
  );
  expect(book.looked).toBe(2);
  expect(book.place(bid("b4", { price: 200 as Price }))).toEqual(closed("b4", "REJECTED", "price_collar"));
  expect(book.looked).toBe(3);
});

test("what is overdue is counted as looked at, but not as one that an order can meet", () => {
  const far = { customer: "bob", price: 101 as Price };
  const book = bookOf({ maxMet: 1 }, bid("b1", { price: 99 as Price }), bid("b2", { price: 98 as Price }), ask("a1"));
  for (const order of [ask("a2"), ask("o1", far)]) book.place({ ...order, customer: "bob" });
  for (const id of ["b1", "a1", "a2"]) book.markOverdue(id as BookOrderId);
  // Two asks and the one behind them; for the collar these two again, and a bid.
  expect(book.place(bid("b3", { price: 120 as Price }))).toEqual(closed("b3", "REJECTED", "price_collar"));
  expect(book.looked).toBe(6);
});

test("a cascade is cut off when its stops have looked at many orders", () => {
  const own = Array.from({ length: 10 }, (_, number) => bid(`b${number}`));
  const stops = [1, 2, 3].map((number) => stopSell(`s${number}`, number));
  const book = bookOf({ maxMet: 10, maxLooked: 15 }, ...own, bid("o1", { customer: "bob" }), ...stops);
  book.restoreLast(100 as Price);
  const triggered = () => book.resume().flatMap((effect) => (effect.kind === "triggered" ? effect.order : []));
  expect([triggered(), triggered(), triggered()]).toEqual([["s1", "s2"], ["s3"], []]);
  expect(book.looked).toBe(30);
});

test("a customer has no more open orders than the limit: resting on either side, or waiting", () => {
  const book = bookOf({ maxOpen: 3 }, bid("b1"), ask("a1", { price: 110 as Price }), stopSell("s1"));
  expect(book.place(bid("b2"))).toEqual(closed("b2", "REJECTED", "too_many_open_orders"));
  expect(book.place(stopSell("s2"))).toEqual(closed("s2", "REJECTED", "too_many_open_orders"));
  expect(book.place(bid("b3", { timeInForce: "GTT" }))).toEqual(closed("b3", "REJECTED", "too_many_open_orders"));
  expect(book.place(bid("b4", { timeInForce: "IOC" }))).toEqual(closed("b4", "CANCELLED", "immediate_or_cancel"));
  expect(book.place(bid("b5", { timeInForce: "FOK" }))).toEqual(closed("b5", "CANCELLED", "fill_or_kill"));
  expect(book.place(marketSell("m1"))).toEqual(closed("m1", "REJECTED", "no_liquidity"));
  expect(book.place(bid("c1", { customer: "bob" })).map(({ kind }) => kind)).toEqual(["rested"]);
});

test("of the open orders of a customer only some may be waiting stops", () => {
  const book = bookOf({ maxWaiting: 1 }, stopSell("s1"));
  expect(book.place(stopSell("s2"))).toEqual(closed("s2", "REJECTED", "too_many_open_orders"));
  expect(
    [bid("b1"), { ...stopSell("s3", 2), customer: "bob" }]
      .flatMap((order) => book.place(order))
      .map(({ kind }) => kind),
  ).toEqual(["rested", "waiting"]);
  book.cancel("s1" as BookOrderId);
  expect(book.place(stopSell("s4")).map(({ kind }) => kind)).toEqual(["waiting"]);
});

/** Each leaves ann with two of three open orders. */
const LEAVES: Record<string, (book: Book) => void> = {
  "a cancel": (book) => book.cancel("b1" as BookOrderId),
  "a cancel of a stop": (book) => book.cancel("s1" as BookOrderId),
  "an expiry": (book) => book.expire("a1" as BookOrderId),
  "a fill": (book) => book.place(ask("x1", { customer: "bob", timeInForce: "IOC" })),
  "a self-trade": (book) => book.place(ask("x1", { timeInForce: "IOC" })),
  "a triggered stop": (book) => {
    book.restoreLast(50 as Price);
    book.resume();
  },
};
for (const [name, leave] of Object.entries(LEAVES)) {
  test(`after ${name} the customer may have one more open order, and no more than one`, () => {
    const stop: StopMarketSell = { ...stopSell("s1"), stopPrice: 50 as Price };
    const book = bookOf({ maxOpen: 3 }, bid("b1"), ask("a1", { price: 110 as Price }), stop);
    leave(book);
    const [first] = book.place(bid("b2", { price: 90 as Price }));
    expect(first?.kind).toBe("rested");
    expect(book.place(bid("b3"))).toEqual(closed("b3", "REJECTED", "too_many_open_orders"));
  });
}

test("a part fill leaves an order open, and a stop that rests stays one", () => {
  const stop: StopLimitOrder = { ...stopSell("s1"), type: "STOP_LIMIT", price: 110 as Price };
  const book = bookOf({ maxOpen: 2 }, bid("b1", { lots: 5 as Lots }), stop);
  book.place(ask("x1", { customer: "bob" }));
  expect(book.state()).toMatchObject({ bids: [{ id: "b1", lots: 4 }], asks: [{ id: "s1" }], stops: [] });
  expect(book.place(bid("b2"))).toEqual(closed("b2", "REJECTED", "too_many_open_orders"));
});

test("restored orders count", () => {
  const book = new Book({ maxOpen: 2 });
  book.restoreResting({ ...bid("b1"), priority: 1 });
  book.restoreWaiting(stopSell("s1"));
  expect(book.place(bid("b2"))).toEqual(closed("b2", "REJECTED", "too_many_open_orders"));
  book.cancel("b1" as BookOrderId);
  expect(book.place(bid("b3")).map(({ kind }) => kind)).toEqual(["rested"]);
});
