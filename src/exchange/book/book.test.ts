import { expect, test } from "vitest";
import { Book } from "./book.ts";
import type {
  BookOrderId,
  LimitOrder,
  Lots,
  MarketBuy,
  Price,
  QuoteUnits,
  RestingOrder,
  Sequence,
  StopMarketSell,
} from "./order.ts";

const id = (text: string) => text as BookOrderId;
const price = (value: number) => value as Price;
const lots = (value: number) => value as Lots;

function limit(terms: Partial<LimitOrder>): LimitOrder {
  return {
    id: id("s1"),
    customer: "ann",
    sequence: 1 as Sequence,
    type: "LIMIT",
    side: "SELL",
    timeInForce: "GTC",
    price: price(100),
    lots: lots(5),
    ...terms,
  };
}

const marketBuy: MarketBuy = {
  id: id("m1"),
  customer: "bob",
  sequence: 2 as Sequence,
  type: "MARKET",
  side: "BUY",
  timeInForce: "IOC",
  budget: 250n as QuoteUnits,
};

const stop: StopMarketSell = {
  id: id("t1"),
  customer: "bob",
  sequence: 3 as Sequence,
  type: "STOP_MARKET",
  side: "SELL",
  timeInForce: "GTC",
  stopPrice: price(90),
  lots: lots(1),
};

const resting: RestingOrder = {
  id: id("r1"),
  customer: "ann",
  side: "SELL",
  price: price(100),
  lots: lots(5),
  priority: 7,
};

test("effects carry everything that the engine needs to move money and to restore orders", () => {
  const book = new Book();
  expect(book.place(limit({}))).toEqual([
    { kind: "rested", order: "s1", side: "SELL", price: 100, lots: 5, priority: 1 },
  ]);
  expect(book.place(marketBuy)).toEqual([
    {
      kind: "filled",
      taker: "m1",
      takerSide: "BUY",
      takerLotsLeft: undefined,
      takerBudgetLeft: 50n,
      maker: "s1",
      makerLotsLeft: 3,
      price: 100,
      lots: 2,
      cost: 200n,
    },
    { kind: "closed", order: "m1", status: "FILLED", reason: undefined },
  ]);
  expect(book.place(limit({ id: id("b1"), customer: "bob", side: "BUY", lots: lots(4) }))).toEqual([
    {
      kind: "filled",
      taker: "b1",
      takerSide: "BUY",
      takerLotsLeft: 1,
      takerBudgetLeft: undefined,
      maker: "s1",
      makerLotsLeft: 0,
      price: 100,
      lots: 3,
      cost: 300n,
    },
    { kind: "closed", order: "s1", status: "FILLED", reason: undefined },
    { kind: "rested", order: "b1", side: "BUY", price: 100, lots: 1, priority: 1 },
  ]);
});

test("levels are totals, best first, limited to the depth, and exact above 2^53", () => {
  const book = new Book();
  const most = lots(Number.MAX_SAFE_INTEGER);
  book.place(limit({ id: id("s1"), price: price(102), lots: most }));
  book.place(limit({ id: id("s2"), price: price(101), lots: lots(1) }));
  book.place(limit({ id: id("s3"), price: price(102), lots: most }));
  book.place(limit({ id: id("s4"), price: price(103), lots: lots(2) }));
  book.place(limit({ id: id("b1"), side: "BUY", price: price(99), lots: lots(3) }));
  book.place(limit({ id: id("b2"), side: "BUY", price: price(100), lots: lots(4) }));

  expect(book.levels("SELL", 2)).toEqual([
    { price: 101, lots: 1n },
    { price: 102, lots: 18_014_398_509_481_982n },
  ]);
  expect(book.levels("BUY")).toEqual([
    { price: 100, lots: 4n },
    { price: 99, lots: 3n },
  ]);
  expect(book.totalAt("SELL", price(102))).toBe(18_014_398_509_481_982n);
  expect(book.totalAt("SELL", price(100))).toBe(0n);
  expect(book.totalAt("SELL", price(900))).toBe(0n);
  expect([book.bestBid(), book.bestAsk()]).toEqual([100, 101]);
});

test("a level's total follows fills and cancels, and the level disappears with its last order", () => {
  const book = new Book();
  book.place(limit({ id: id("s1"), lots: lots(5) }));
  book.place(limit({ id: id("s2"), lots: lots(7) }));
  book.place(marketBuy);
  expect(book.levels("SELL")).toEqual([{ price: 100, lots: 10n }]);
  book.cancel(id("s1"));
  expect(book.levels("SELL")).toEqual([{ price: 100, lots: 7n }]);
  book.cancel(id("s2"));
  expect(book.levels("SELL")).toEqual([]);
  expect(book.bestAsk()).toBeUndefined();
});

test("a book has an order while it rests or waits", () => {
  const book = new Book();
  book.place(limit({}));
  book.place(stop);
  expect([book.size, book.has(id("s1")), book.has(id("t1")), book.has(id("m1"))]).toEqual([2, true, true, false]);
  book.cancel(id("s1"));
  book.expire(id("t1"));
  expect([book.size, book.has(id("s1")), book.has(id("t1"))]).toEqual([0, false, false]);

  book.place({ ...stop, id: id("t2") });
  book.restoreLast(price(80));
  expect(book.resume()).toMatchObject([{ kind: "triggered" }, { kind: "closed", reason: "no_liquidity" }]);
  book.place(limit({ id: id("s2") }));
  expect([book.size, book.has(id("s2")), book.has(id("t2"))]).toEqual([1, true, false]);
});

test("restoring neither matches nor triggers, and later orders queue behind", () => {
  const book = new Book();
  book.restoreWaiting(stop);
  book.restoreLast(price(80));
  book.restoreResting(resting);
  book.restoreResting({ ...resting, id: id("r2"), side: "BUY", price: price(99) });
  expect(book.state()).toEqual({
    last: 80,
    asks: [resting],
    bids: [{ ...resting, id: id("r2"), side: "BUY", price: price(99) }],
    stops: [stop],
  });
  expect(book.isUnfinished()).toBe(true);
  expect(() => book.place(limit({}))).toThrow("the last order and its cascade are finished first");
  expect(book.resume()).toMatchObject([
    { kind: "triggered", order: "t1" },
    { kind: "filled", maker: "r2", price: 99 },
    { kind: "closed", order: "t1" },
  ]);
  expect(book.isUnfinished()).toBe(false);
  expect(book.place(limit({}))).toMatchObject([{ kind: "rested", priority: 8 }]);
});

test("the state hash differs for any difference in state", () => {
  const base = () => {
    const book = new Book();
    book.restoreResting(resting);
    return book;
  };
  const variants = [
    new Book(),
    base(),
    changed(base(), (book) => book.restoreLast(price(80))),
    changed(base(), (book) => book.restoreWaiting(stop)),
    changed(base(), (book) => book.restoreWaiting({ ...stop, timeInForce: "GTT" })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, lots: lots(2) })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, sequence: 4 as Sequence })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, id: id("t2") })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, customer: "cid" })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, stopPrice: price(91) })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, side: "BUY", budget: 1n as QuoteUnits })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, side: "BUY", budget: 2n as QuoteUnits })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, type: "STOP_LIMIT", price: price(90) })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, type: "STOP_LIMIT", price: price(91) })),
    changed(base(), (book) => book.restoreWaiting({ ...stop, type: "STOP_LIMIT", side: "BUY", price: price(91) })),
    changed(new Book(), (book) => book.restoreResting({ ...resting, id: id("r2") })),
    changed(new Book(), (book) => book.restoreResting({ ...resting, price: price(101) })),
    changed(new Book(), (book) => book.restoreResting({ ...resting, lots: lots(4) })),
    changed(new Book(), (book) => book.restoreResting({ ...resting, customer: "bob" })),
    changed(new Book(), (book) => book.restoreResting({ ...resting, priority: 8 })),
    changed(new Book(), (book) => book.restoreResting({ ...resting, side: "BUY" })),
  ];
  const hashes = variants.map((book) => book.stateHash());
  expect(new Set(hashes).size).toBe(variants.length);
  expect(base().stateHash()).toBe(hashes[1]);
});

test("invalid input throws before it changes the book", () => {
  const book = new Book();
  book.place(limit({}));
  const before = book.stateHash();
  expect(() => book.place(limit({}))).toThrow("an order is placed once");
  expect(() => book.place(limit({ id: id("s2"), lots: lots(0) }))).toThrow("lots are a safe integer above zero");
  expect(() => book.place(limit({ id: id("s2"), lots: lots(1.5) }))).toThrow("lots are a safe integer above zero");
  expect(() => book.place(limit({ id: id("s2"), price: price(2 ** 53) }))).toThrow("a price is a safe integer");
  expect(() => book.place({ ...marketBuy, budget: 0n as QuoteUnits })).toThrow("a budget is above zero");
  expect(() => book.place({ ...stop, stopPrice: price(0) })).toThrow("a stop price is a safe integer above zero");
  expect(() => book.restoreLast(price(0))).toThrow("a price is a safe integer above zero");
  expect(() => book.restoreResting({ ...resting, priority: 1 })).toThrow("in rising priority");
  expect(() => book.restoreResting({ ...resting, side: "BUY" })).toThrow("not crossed");
  expect(book.stateHash()).toBe(before);
});

function changed(book: Book, change: (book: Book) => void): Book {
  change(book);
  return book;
}

test("recent and old orders are found and removed", () => {
  const book = new Book();
  const ids = Array.from({ length: 10_000 }, (_, number) => `many-${number}` as BookOrderId);
  for (const [number, id] of ids.entries()) book.place(limit({ id, sequence: number as Sequence }));
  expect(book.size).toBe(10_000);
  expect(ids.every((id) => book.has(id))).toBe(true);
  expect(ids.toReversed().every((id) => book.cancel(id).length === 1)).toBe(true);
  expect([book.size, book.levels("BUY"), book.levels("SELL")]).toEqual([0, [], []]);
  expect(ids.some((id) => book.has(id) || book.cancel(id).length > 0)).toBe(false);
});

test("a duplicate of an old resting order is detected on promotion", () => {
  const book = new Book();
  const place = (number: number) =>
    book.place(limit({ id: `many-${number}` as BookOrderId, sequence: number as Sequence }));
  for (let number = 0; number < 5_000; number += 1) place(number);
  place(0);
  expect(() => {
    for (let number = 5_000; number < 10_000; number += 1) place(number);
  }).toThrow("an order rests once");
});
