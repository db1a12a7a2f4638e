import { expect, test } from "vitest";
import { type Market, marketOf } from "../../catalogue/market.ts";
import { amountOf } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import type { Lots, Price } from "../book/order.ts";
import type { MarketHead } from "../market-state.ts";
import type { Order } from "../order.ts";
import { EngineBook, StaleBook } from "./engine-book.ts";
import type { OpenOrder } from "./store.ts";

const MARKET: Market = marketOf(
  {
    code: "ETHUSD",
    number: 1,
    base: "ETH",
    quote: "USD",
    price_decimals: 2,
    base_decimals: 4,
    tick: "0.01",
    min_base_amount: "0.001",
    max_base_amount: "1000",
    min_quote_amount: "1",
    max_quote_amount: "1000000",
    max_notional_value: "1000000",
  },
  [],
);
const HEAD = { market: "ETHUSD", lastPrice: amountOf("100"), lastSequence: 1n, version: 5n, fence: 1n } as MarketHead;
const STOP = {
  id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00",
  customerId: "ann",
  side: "SELL",
  type: "STOP_MARKET",
  timeInForce: "GTC",
  baseAmount: amountOf("1"),
  stopPrice: amountOf("100"),
  sequence: 1n,
} as unknown as Order;
const BID = {
  ...STOP,
  id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f02",
  profileId: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f04",
  side: "BUY",
  type: "LIMIT",
  price: amountOf("90"),
  stopPrice: undefined,
  sequence: undefined,
  createdAt: 1_000,
} as unknown as Order;
const NOW = 1_000 as Instant;

const numbered = (number: number) => `0190d5a4-7e1b-7c3d-8a2f-${String(number).padStart(12, "0")}` as Order["id"];

test("stops that a crash left due trigger before anything else, but not while the market is halted", () => {
  const book = new EngineBook(MARKET, HEAD);
  book.restoreSubmitted(STOP);
  expect(book.hasDue(NOW)).toBe(true);
  expect(book.run({ status: "HALTED", orders: [], cancels: [] }, NOW).round).toBeUndefined();
  const { round } = book.run({ status: "OPEN", orders: [], cancels: [] }, NOW);
  expect(round).toMatchObject({
    status: "OPEN",
    effects: [
      { kind: "triggered", order: STOP.id },
      { kind: "closed", order: STOP.id, status: "REJECTED", reason: "no_liquidity" },
    ],
  });
  expect(book.hasDue(NOW)).toBe(false);
});

test("a buy stop that a crash left due triggers as well", () => {
  const book = new EngineBook(MARKET, HEAD);
  book.restoreSubmitted({ ...STOP, side: "BUY", baseAmount: undefined, quoteAmount: amountOf("100") });
  expect(book.hasDue(NOW)).toBe(true);
  expect(book.run({ status: "OPEN", orders: [], cancels: [] }, NOW).round?.effects).toMatchObject([
    { kind: "triggered", order: STOP.id },
    { kind: "closed", order: STOP.id, status: "REJECTED", reason: "no_liquidity" },
  ]);
});

test("what is overdue does not fill the rest of a cascade, and triggers no more itself", () => {
  const book = new EngineBook(MARKET, HEAD);
  const [bid, late] = [numbered(1), numbered(2)];
  const resting = { id: bid, customerId: "bob", price: 9_000, lots: 10_000, priority: 1, expirationDate: NOW };
  book.restoreOpen({ ...BID, ...resting } as never);
  book.restoreSubmitted(STOP);
  book.restoreSubmitted({ ...STOP, id: late, timeInForce: "GTT", expirationDate: NOW, sequence: 2n });
  expect(book.run({ status: "OPEN", orders: [], cancels: [] }, NOW).round?.effects).toMatchObject([
    { kind: "triggered", order: STOP.id },
    { kind: "closed", order: STOP.id, status: "REJECTED", reason: "no_liquidity" },
    { kind: "closed", order: late, status: "CANCELLED", reason: "expired" },
    { kind: "closed", order: bid, status: "CANCELLED", reason: "expired" },
  ]);
});

const EXPIRED = { kind: "closed", status: "CANCELLED", reason: "expired" };

test("orders and cancels do not wait for thousands that are overdue", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 1_000, { customerId: "bob", expirationDate: NOW });
  const sell = { ...BID, id: numbered(2_000), customerId: "cat", side: "SELL", price: amountOf("95") } as Order;
  const round = book.run({ status: "OPEN", orders: [sell, BID], cancels: [] }, NOW).round;
  expect(round?.effects).toMatchObject([
    { kind: "rested", order: sell.id },
    { kind: "rested", order: BID.id },
    // One more for each order, or they would pile up.
    ...new Array(22).fill(EXPIRED),
  ]);
  // An owner's cancel comes too late.
  const caller = { house: "maker" } as const;
  const asked = { profileId: BID.profileId, requestedAt: NOW, caller, orderStatus: "OPEN" } as const;
  const cancels = [
    { ...asked, orderId: BID.id },
    { ...asked, orderId: numbered(500) },
  ];
  const next = book.run({ status: "OPEN", orders: [], cancels }, NOW).round;
  expect(next?.effects).toMatchObject([
    { kind: "closed", order: BID.id, reason: "requested" },
    { ...EXPIRED, order: numbered(500) },
    ...new Array(20).fill(EXPIRED),
  ]);
  expect(next?.requestedBy).toEqual(new Map([[BID.id, caller]]));
});

test("an order that comes to what is overdue closes it, a hundred at once, and is not filled by it", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 150, { customerId: "bob", expirationDate: NOW });
  const sell = { ...BID, id: numbered(2_000), customerId: "cat", side: "SELL", price: amountOf("90") } as Order;
  const [first, second] = [[sell], []].map(
    (orders) => book.run({ status: "OPEN", orders, cancels: [] }, NOW).round?.effects,
  );
  expect(first).toMatchObject([
    ...new Array(100).fill(EXPIRED),
    { kind: "paused", order: sell.id },
    ...new Array(21).fill(EXPIRED),
  ]);
  expect(second).toMatchObject([...new Array(29).fill(EXPIRED), { kind: "rested", order: sell.id }]);
  expect(book.hasDue(NOW)).toBe(false);
});

test("while more are due than are looked at in a round, nothing is matched", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 10_001, { customerId: "bob", expirationDate: NOW });
  const work = { status: "OPEN", orders: [BID], cancels: [] } as const;
  // Without a turn the engine must not wait, though it has no round.
  const none = book.run(work, NOW, () => false);
  expect(none).toEqual({ round: undefined, cancels: [], hasTurn: false, isBehind: true });
  const rested = { kind: "rested", order: BID.id };
  expect(book.run(work, NOW).round?.effects).toMatchObject([rested, ...new Array(21).fill(EXPIRED)]);
});

test("a round that does nothing but close what is overdue needs a turn", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 60, { customerId: "bob", expirationDate: NOW });
  const nothing = { status: "OPEN", orders: [], cancels: [] } as const;
  expect(book.run(nothing, NOW, () => false)).toEqual({
    round: undefined,
    cancels: [],
    hasTurn: false,
    isBehind: false,
  });
  const beside = book.run({ ...nothing, orders: [BID] }, NOW, () => false);
  expect([beside.round?.effects.length, beside.hasTurn]).toEqual([22, false]);
  const alone = book.run(nothing, NOW);
  expect([alone.round?.effects.length, alone.hasTurn, book.hasOverdue]).toEqual([39, true, false]);
  expect(book.run(nothing, NOW)).toEqual({ round: undefined, cancels: [], hasTurn: false, isBehind: false });
});

test("on a halted market a due stop can still be cancelled", () => {
  const book = new EngineBook(MARKET, HEAD);
  book.restoreSubmitted(STOP);
  const asked = { profileId: STOP.profileId, orderId: STOP.id, requestedAt: NOW, orderStatus: "SUBMITTED" } as const;
  const cancel = { ...asked, caller: { house: "maker" } } as const;
  const { round, cancels } = book.run({ status: "HALTED", orders: [], cancels: [cancel] }, NOW);
  expect(round?.effects).toEqual([{ kind: "closed", order: STOP.id, status: "CANCELLED", reason: "requested" }]);
  expect(cancels).toEqual([cancel]);
  expect(round?.requestedBy).toEqual(new Map([[STOP.id, { house: "maker" }]]));
  // Whether the market is still halted when that is committed does not matter.
  expect(round?.status).toBeUndefined();
});

test("a cancel of an order that was not read yet stays pending", () => {
  const book = new EngineBook(MARKET, HEAD);
  const asked = { profileId: BID.profileId, orderId: BID.id, requestedAt: NOW, caller: undefined };
  const cancel = { ...asked, orderStatus: "PENDING_SUBMISSION" } as const;
  expect(book.run({ status: "OPEN", orders: [], cancels: [cancel] }, NOW)).toEqual({
    round: undefined,
    cancels: [],
    hasTurn: false,
    isBehind: false,
  });
  const { round, cancels } = book.run({ status: "OPEN", orders: [BID], cancels: [cancel] }, NOW);
  expect(round).toMatchObject({
    status: "OPEN",
    effects: [
      { kind: "rested", order: BID.id },
      { kind: "closed", order: BID.id, status: "CANCELLED", reason: "requested" },
    ],
  });
  expect(cancels).toEqual([cancel]);
});

test("a cancel whose time is before that of its order, by another clock, is executed after it", () => {
  const book = new EngineBook(MARKET, HEAD);
  const { profileId, id: orderId } = BID;
  const requestedAt = (NOW - 1) as Instant;
  const cancel = { profileId, orderId, requestedAt, caller: undefined, orderStatus: "PENDING_SUBMISSION" } as const;
  const { round, cancels } = book.run({ status: "OPEN", orders: [BID], cancels: [cancel] }, NOW);
  expect(round?.effects).toMatchObject([
    { kind: "rested", order: BID.id },
    { kind: "closed", order: BID.id, status: "CANCELLED", reason: "requested" },
  ]);
  expect(cancels).toEqual([cancel]);
});

test.each(["OPEN", "SUBMITTED"] as const)(
  "a cancel of an order that is %s shows a book without it to be stale",
  (orderStatus) => {
    const book = new EngineBook(MARKET, HEAD);
    const { profileId, id: orderId } = BID;
    const cancel = { profileId, orderId, requestedAt: NOW, caller: undefined, orderStatus };
    expect(() => book.run({ status: "OPEN", orders: [], cancels: [cancel] }, NOW)).toThrow(StaleBook);
  },
);

function restoreBids(book: EngineBook, count: number, terms: object): void {
  for (let i = 0; i < count; i += 1) {
    const at = { price: 9_000 as Price, lots: 1 as Lots, priority: 1 + i };
    book.restoreOpen({ ...BID, id: numbered(i), ...at, ...terms } as OpenOrder);
  }
}

test("a round ends when its orders have looked at very many resting ones, and the next round goes on", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 1_000, { customerId: "ann" });
  book.restoreOpen({ ...BID, id: numbered(1_000), customerId: "bob", price: 8_900, lots: 1, priority: 1 } as never);
  const sell = { ...BID, side: "SELL", type: "MARKET", timeInForce: "IOC", price: undefined };
  const orders = Array.from({ length: 200 }, (_, i) => ({ ...sell, id: numbered(2_000 + i) }) as Order);
  const first = book.run({ status: "OPEN", orders, cancels: [] }, NOW).round;
  expect(first?.taken.size).toBe(100);
  expect(first?.effects[0]).toMatchObject({ kind: "closed", status: "REJECTED", reason: "no_liquidity" });
  const second = book.run({ status: "OPEN", orders: orders.slice(100), cancels: [] }, NOW).round;
  expect([second?.taken.size, book.size]).toEqual([100, 1_001]);
});

test("orders that are overdue are among the thousand that a customer may have that are to expire", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 1_000, { customerId: "ann", expirationDate: NOW });
  const placed = (number: number) =>
    book.run({ status: "OPEN", orders: [gtt(number)], cancels: [] }, NOW).round?.effects[0];
  expect([placed(2_000), placed(2_001)]).toMatchObject([
    { kind: "closed", reason: "too_many_open_orders" },
    { kind: "rested" },
  ]);
});

test("a customer's 20,001st open order is rejected, after a restart too", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 19_999, { customerId: "ann" });
  book.restoreSubmitted({ ...STOP, stopPrice: amountOf("50") });
  const other = { ...BID, id: numbered(30_000), customerId: "bob" } as Order;
  const { round } = book.run({ status: "OPEN", orders: [BID, other], cancels: [] }, NOW);
  expect(round?.effects).toMatchObject([
    { kind: "closed", order: BID.id, status: "REJECTED", reason: "too_many_open_orders" },
    { kind: "rested", order: other.id },
  ]);
});

const gtt = (number: number, terms: object = {}) =>
  ({ ...BID, id: numbered(number), timeInForce: "GTT", expirationDate: NOW + 60_000, ...terms }) as unknown as Order;
const TOO_MANY = { kind: "closed", status: "REJECTED", reason: "too_many_open_orders" };

test("a customer's 1,001st order that is to expire is rejected, in whatever way the others came", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 998, { customerId: "ann", expirationDate: NOW + 60_000 });
  book.restoreSubmitted(
    gtt(1_000, { type: "STOP_MARKET", side: "SELL", price: undefined, stopPrice: amountOf("50"), sequence: 1n }),
  );
  const orders = [gtt(2_000), gtt(2_001), gtt(2_002, { customerId: "bob" }), { ...BID, id: numbered(2_003) }];
  const { round } = book.run({ status: "OPEN", orders, cancels: [] }, NOW);
  expect(round?.effects).toMatchObject([
    { kind: "rested", order: numbered(2_000) },
    { ...TOO_MANY, order: numbered(2_001) },
    { kind: "rested", order: numbered(2_002) },
    { kind: "rested", order: numbered(2_003) },
  ]);
  expect([...(round?.taken.keys() ?? [])]).toEqual(orders.map(({ id }) => id));
});

test("an order that has closed makes room for another that is to expire, in the same round", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 1_000, { customerId: "ann", expirationDate: NOW + 60_000 });
  const asked = { profileId: BID.profileId, orderId: numbered(7), requestedAt: NOW, caller: undefined } as const;
  const orders = [gtt(2_000), gtt(2_001, { createdAt: NOW + 2 })];
  const cancels = [{ ...asked, requestedAt: (NOW + 1) as Instant, orderStatus: "OPEN" as const }];
  const { round } = book.run({ status: "OPEN", orders, cancels }, NOW);
  expect(round?.effects).toMatchObject([
    { ...TOO_MANY, order: numbered(2_000) },
    { kind: "closed", order: numbered(7), status: "CANCELLED", reason: "requested" },
    { kind: "rested", order: numbered(2_001) },
  ]);
});

test("an order that expires in the very millisecond is not placed", () => {
  const book = new EngineBook(MARKET, HEAD);
  const orders = [0, 1].map((ms) => ({ ...BID, id: numbered(ms), expirationDate: NOW + ms }) as Order);
  expect(book.run({ status: "OPEN", orders, cancels: [] }, NOW).round?.effects).toMatchObject([
    { kind: "closed", order: numbered(0), status: "CANCELLED", reason: "expired" },
    { kind: "rested", order: numbered(1) },
  ]);
});

test("an order that has closed is not due at its expiry", () => {
  const book = new EngineBook(MARKET, HEAD);
  const expirationDate = (NOW + 1) as Instant;
  const order = { ...BID, expirationDate, version: 1n } as Order;
  book.run({ status: "OPEN", orders: [order], cancels: [] }, NOW);
  book.accept({ head: HEAD, orders: [{ ...order, version: 2n }], executions: [] });
  expect(book.hasDue(expirationDate)).toBe(true);
  const asked = { profileId: BID.profileId, requestedAt: NOW, caller: undefined, orderStatus: "OPEN" } as const;
  book.run({ status: "OPEN", orders: [], cancels: [{ ...asked, orderId: BID.id }] }, NOW);
  book.accept({ head: HEAD, orders: [{ ...order, closedAt: NOW }], executions: [] });
  expect(book.hasDue(expirationDate)).toBe(false);
});

test("a round rests on the versions that its orders have had since the last round", () => {
  const book = new EngineBook(MARKET, HEAD);
  const order = { ...BID, version: 1n } as Order;
  const versionsOf = (work: Partial<Parameters<EngineBook["run"]>[0]>) => {
    const { round } = book.run({ status: "OPEN", orders: [], cancels: [], ...work }, NOW);
    return [...(round?.orders.values() ?? [])].map(({ version }) => version);
  };
  expect(versionsOf({ orders: [order] })).toEqual([1n]);
  book.accept({ head: HEAD, orders: [{ ...order, version: 2n }], executions: [] });
  const asked = { profileId: BID.profileId, requestedAt: NOW, caller: undefined, orderStatus: "OPEN" } as const;
  expect(versionsOf({ cancels: [{ ...asked, orderId: BID.id }] })).toEqual([2n]);
});

test("a cancel is carried out before an order of a later time, and after one of an earlier time", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 2, { customerId: "ann" });
  const sell = { ...BID, side: "SELL", customerId: "bob", timeInForce: "IOC", baseAmount: amountOf("0.0001") };
  const orders = [1_000, 1_002].map((at) => ({ ...sell, id: numbered(at), createdAt: at }) as Order);
  const requestedAt = 1_001 as Instant;
  const asked = { profileId: BID.profileId, requestedAt, caller: undefined, orderStatus: "OPEN" } as const;
  const cancels = [0, 1].map((place) => ({ ...asked, orderId: numbered(place) }));
  const { round, cancels: over } = book.run({ status: "OPEN", orders, cancels }, NOW);
  expect(round?.effects).toMatchObject([
    { kind: "filled", maker: numbered(0), taker: numbered(1_000) },
    { kind: "closed", order: numbered(0), status: "FILLED" },
    { kind: "closed", order: numbered(1_000), status: "FILLED" },
    { kind: "closed", order: numbered(1), status: "CANCELLED", reason: "requested" },
    { kind: "closed", order: numbered(1_002), status: "CANCELLED", reason: "immediate_or_cancel" },
  ]);
  expect(over).toEqual(cancels);
  expect(round?.taken).toEqual(new Map([1_000, 1_002].map((at, i) => [numbered(at), 2 + i])));
});

test("a round closes 50 orders that are overdue, and ends when it has 200 effects; the next one goes on", () => {
  const book = new EngineBook(MARKET, HEAD);
  restoreBids(book, 120, { customerId: "ann", expirationDate: NOW });
  const nothing = { status: "OPEN", orders: [], cancels: [] } as const;
  const closed = (at: Instant, work: Parameters<EngineBook["run"]>[0] = nothing) =>
    book.run(work, at).round?.effects.length;
  expect([1, 2, 3].map(() => closed(NOW))).toEqual([50, 50, 20]);
  expect([book.size, book.hasDue(NOW)]).toEqual([0, false]);
  const orders = Array.from({ length: 600 }, (_, i) => ({ ...BID, id: numbered(2_000 + i) }) as Order);
  expect(closed(NOW, { ...nothing, orders })).toBe(200);
  expect(book.size).toBe(200);
});

test("the rest of a cascade comes before the next order, also if it fills a round without many orders", () => {
  const book = new EngineBook(MARKET, HEAD);
  book.restoreOpen({ ...BID, id: numbered(0), customerId: "bob", price: 9_000, lots: 1_000, priority: 1 } as never);
  for (let i = 1; i <= 40; i += 1)
    book.restoreSubmitted({ ...STOP, id: numbered(i), baseAmount: amountOf("0.0001"), sequence: BigInt(i) });
  const work = { status: "OPEN", orders: [BID], cancels: [] } as const;
  const [first, second] = [1, 2].map(() => book.run(work, NOW).round);
  // Each stop is triggered, filled and closed.
  expect([first?.taken.size, first?.effects.length, first?.orders.size]).toEqual([0, 102, 35]);
  expect([second?.taken.size, second?.effects.length]).toEqual([1, 3 * 6 + 1]);
  expect(second?.effects.at(-1)).toMatchObject({ kind: "rested", order: BID.id });
});

test("the total at a price is told once, however many orders of a round rest or rested there", () => {
  const rested = { ...BID, priority: 1n } as Order;
  const levels = new EngineBook(MARKET, HEAD).levelsOf([rested, { ...rested, id: STOP.id }]);
  expect(levels).toEqual([{ side: "BUY", price: amountOf("90"), amount: amountOf("0") }]);
});
