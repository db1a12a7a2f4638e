/** The rows after a round; the money of a match is tested in trade-money.test.ts and test/exchange/engine-money.test.ts. */
import { expect, test } from "vitest";
import { BTCUSD } from "../../../test/support/exchange/btcusd.ts";
import { profileOf } from "../../../test/support/states.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { entry } from "../../ledger/accounts.ts";
import { amountOf, negative, ZERO } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource, siblingId } from "../../std/id.ts";
import type { BookOrderId, Sequence } from "../book/order.ts";
import { executedAtOf, NO_EXECUTION, nextMatchId, takerId } from "../execution-id.ts";
import type { MarketHead } from "../market-state.ts";
import type { Order, OrderId } from "../order.ts";
import { matchRound, type RoundEffect, timeOf } from "./round-changes.ts";

const ids = new IdSource();
const NOW = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
const [payer, recipient] = [profileOf("acme" as CustomerId), profileOf("acme" as CustomerId, { incomingCount: 2 })];
const HEAD = { lastExecutionId: NO_EXECUTION, lastSequence: 7n, lastPrice: undefined } as unknown as MarketHead;

const BID = {
  id: ids.next() as OrderId,
  profileId: payer.id,
  recipientProfileId: recipient.id,
  side: "BUY",
  type: "LIMIT",
  price: amountOf("20000"),
  annotations: {},
  status: "PENDING_SUBMISSION",
  filled: ZERO,
  held: amountOf("20070"),
  updatedAt: NOW,
  closedAt: undefined,
} as unknown as Order;

function settled(order: Order, effects: readonly object[], { head = HEAD, taken = false, now = NOW } = {}) {
  const id = order.id as string as BookOrderId;
  const named = effects.map((effect) => ({ order: id, ...effect })) as RoundEffect[];
  const round = { taken: new Map(taken ? [[id, 8 as Sequence]] : []), effects: named };
  const rows = { head, orders: new Map([[id, order]]), recipients: new Map([[recipient.id, recipient]]) };
  return matchRound(BTCUSD, round, rows, now);
}

test("a resting order has its sequence and priority, and the head has the last sequence", () => {
  const { orders, head, journals } = settled(BID, [{ kind: "rested", priority: 3 }], {
    taken: true,
    now: (NOW + 5) as Instant,
  });
  expect(orders).toEqual([{ ...BID, status: "OPEN", sequence: 8n, priority: 3n, updatedAt: NOW + 5 }]);
  expect([head, journals]).toEqual([{ ...HEAD, lastSequence: 8n }, []]);
});

test("closing an order releases its hold to its profile, and decrements its recipient's incoming count", () => {
  const { orders, journals, recipients } = settled({ ...BID, status: "OPEN" }, [
    { kind: "closed", status: "CANCELLED", reason: "requested" },
  ]);
  const times = { updatedAt: NOW, closedAt: NOW };
  expect(orders).toEqual([{ ...BID, ...times, status: "CANCELLED", held: ZERO, cancelReason: "requested" }]);
  const [released] = journals;
  expect(journals).toEqual([{ id: siblingId(BID.id), cause: "order_released", entries: released?.entries }]);
  expect(released?.entries).toEqual([
    entry(payer.id, BTCUSD.quote, negative(BID.held), "trading"),
    entry(payer.id, BTCUSD.quote, BID.held),
  ]);
  expect(recipients).toEqual([{ ...recipient, incomingCount: 1 }]);
});

test("a rejected order keeps the reason, and one without a hold has no journal", () => {
  const { orders, journals } = settled({ ...BID, held: ZERO }, [
    { kind: "closed", status: "REJECTED", reason: "price_collar" },
  ]);
  expect(orders).toMatchObject([{ status: "REJECTED", rejectReason: "price_collar", cancelReason: undefined }]);
  expect(journals).toEqual([]);
});

test("with an engine clock that is behind, an order is not modified before it was placed", () => {
  const [order] = settled(BID, [{ kind: "closed", status: "CANCELLED" }], { now: (NOW - 60_000) as Instant }).orders;
  expect(order).toMatchObject({ updatedAt: NOW, closedAt: NOW });
});

test("a triggered stop is marked, and waits no longer than that", () => {
  const [order] = settled({ ...BID, status: "SUBMITTED" }, [
    { kind: "triggered" },
    { kind: "rested", priority: 1 },
  ]).orders;
  expect(order).toEqual({ ...BID, isTriggered: true, status: "OPEN", priority: 1n });
});

test("a round in which an order was filled or triggered whose time has come since is dated a millisecond before", () => {
  const expirationDate = (NOW + 100) as Instant;
  const [gtt, other] = ["gtt", "other"] as string[] as BookOrderId[] as [BookOrderId, BookOrderId];
  const orders = new Map([
    [gtt, { ...BID, expirationDate }],
    [other, BID],
  ]);
  const dated = (decidedAfter: number, ...effects: object[]) =>
    timeOf({ effects: effects as RoundEffect[] }, orders, (NOW + decidedAfter) as Instant) - NOW;
  const live = [
    { kind: "filled", taker: other, maker: gtt },
    { kind: "filled", taker: gtt, maker: other },
    { kind: "triggered", order: gtt },
  ];
  for (const effect of live)
    expect([98, 99, 100, 9_000].map((decidedAfter) => dated(decidedAfter, effect))).toEqual([98, 99, 99, 99]);
  // What only ends or rests has the time of its round.
  const ended = { kind: "closed", order: gtt, status: "CANCELLED", reason: "expired" };
  const rested = { kind: "rested", order: gtt, priority: 1 };
  expect(dated(9_000, ended, rested, { kind: "triggered", order: other })).toBe(9_000);
  expect(dated(9_000, ended, rested, live[0] as object)).toBe(99);
});

test("an order that is paused once more, without a fill, is not modified: there would be no event of its new version", () => {
  const later = { now: (NOW + 5) as Instant };
  const [first] = settled(BID, [{ kind: "paused" }], later).orders;
  expect(first).toEqual({ ...BID, status: "SUBMITTED", updatedAt: NOW + 5 });
  expect(settled({ ...BID, status: "SUBMITTED" }, [{ kind: "paused" }], later).orders).toEqual([]);
});

test("an order that pays into its own profile, named or not, changes no incoming count", () => {
  for (const recipientProfileId of [undefined, payer.id]) {
    const { recipients } = settled({ ...BID, recipientProfileId }, [{ kind: "closed", status: "CANCELLED" }]);
    expect(recipients).toEqual([recipient]);
  }
});

const FILLED = [{ kind: "closed", status: "FILLED" }];

test("a market buy that is filled returns what it has left", () => {
  const { orders, journals } = settled({ ...BID, price: undefined, held: amountOf("0.01") }, FILLED);
  expect(orders).toMatchObject([{ status: "FILLED", held: ZERO }]);
  expect(journals).toMatchObject([{ cause: "order_released" }]);
});

test.each<[string, Partial<Order>]>([
  ["a sell", { side: "SELL", price: undefined }],
  ["a limit order", {}],
])("%s that is filled and still holds something is a bug", (what, order) => {
  expect(() => settled({ ...BID, ...order, held: amountOf("0.01") }, FILLED)).toThrow(`${what} that is filled`);
  expect(settled({ ...BID, ...order, held: ZERO }, FILLED).journals).toEqual([]);
});

test("an order is taken once, and does not change after it was closed", () => {
  expect(() => settled({ ...BID, status: "OPEN" }, [], { taken: true })).toThrow("an order is taken once");
  expect(() => settled({ ...BID, closedAt: NOW }, [{ kind: "waiting" }])).toThrow("a closed order never changes again");
});

test("in a market that is ahead, changes other than matches have the current time", () => {
  const lastExecutionId = nextMatchId(NO_EXECUTION, BTCUSD.number, (NOW + 60_000) as Instant);
  const [order] = settled(BID, [{ kind: "waiting" }], { head: { ...HEAD, lastExecutionId } }).orders;
  expect(order).toMatchObject({ status: "SUBMITTED", updatedAt: NOW });
});

test("in a market that is ahead, a match has the time of its id", () => {
  const ahead = (NOW + 60_000) as Instant;
  const lastExecutionId = takerId(nextMatchId(NO_EXECUTION, BTCUSD.number, ahead));
  const terms = { status: "OPEN", filledGross: ZERO, takerRate: ZERO, makerRebate: ZERO };
  const maker = { ...BID, ...terms, id: "maker" } as unknown as Order;
  const taker = { ...BID, ...terms, id: "taker", side: "SELL", held: amountOf("1") } as unknown as Order;
  const filled = { kind: "filled", maker: maker.id, taker: taker.id, price: 1, lots: 1, cost: 1n };
  const rows = {
    head: { ...HEAD, lastExecutionId },
    orders: new Map([maker, taker].map((order) => [order.id as string as BookOrderId, order])),
    recipients: new Map(),
  };
  const round = { taken: new Map(), effects: [filled as unknown as RoundEffect] };
  const { executions, orders } = matchRound(BTCUSD, round, rows, NOW);
  expect(executions.map(({ id, executedAt }) => [executedAt, executedAtOf(id)])).toEqual([
    [ahead, ahead],
    [ahead, ahead],
  ]);
  expect(orders.map(({ updatedAt }) => updatedAt)).toEqual([ahead, ahead]);
});

test("of a match's two executions the taker's has the commission, the maker's the rebate", () => {
  const terms = { status: "OPEN", filledGross: ZERO, takerRate: amountOf("0.0035"), makerRebate: amountOf("0.0003") };
  const maker = { ...BID, ...terms, customerId: "ann", id: "maker", side: "SELL", held: amountOf("1") };
  const taker = { ...BID, ...terms, customerId: "bob", id: "taker", annotations: { identityAccountId: "desk" } };
  // Half a bitcoin at 20,000 dollars, in the book's units.
  const filled = { kind: "filled", maker: "maker", taker: "taker", price: 2e10, lots: 5e7, cost: 10n ** 18n };
  const orders = new Map([maker, taker].map((order) => [order.id, order])) as unknown as Map<BookOrderId, Order>;
  const rows = { head: HEAD, orders, recipients: new Map() };
  const round = { taken: new Map(), effects: [filled as unknown as RoundEffect] };
  const { executions, head } = matchRound(BTCUSD, round, rows, NOW);
  const id = nextMatchId(NO_EXECUTION, BTCUSD.number, NOW);
  const both = { profileId: payer.id, price: amountOf("20000"), amount: amountOf("0.5"), executedAt: NOW };
  const ofMaker = { customerId: "ann", orderId: "maker", side: "SELL", commission: ZERO, rebate: amountOf("3") };
  const ofTaker = { customerId: "bob", orderId: "taker", side: "BUY", commission: amountOf("35"), rebate: ZERO };
  expect(executions).toEqual([
    { ...both, ...ofMaker, id, market: undefined, annotations: { accountId: undefined } },
    { ...both, ...ofTaker, id: takerId(id), market: undefined, annotations: { accountId: "desk" } },
  ]);
  expect(head).toEqual({ ...HEAD, lastPrice: amountOf("20000"), lastExecutionId: takerId(id) });
});
