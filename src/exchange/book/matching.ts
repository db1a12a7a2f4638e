/**
 * The two sides of a market's book, and how an order trades with them (docs/contract/orders.md#matching). It knows no
 * stops: a triggered stop is executed as a limit or market order.
 *
 * An order meets a bounded number of resting orders at once. If it has to meet more, it is paused: what is left of it
 * goes on with `resume`, before any other order is executed. Orders that are overdue are closed by the order that comes to
 * them, so that the book is never crossed, also as it is stored.
 */
import { assert } from "../../std/assert.ts";
import { BookSide, type Resting } from "./book-side.ts";
import {
  type CancelReason,
  type Closed,
  cancelled,
  type Effect,
  filledUp,
  type Paused,
  type Rested,
  rejected,
} from "./command-effect.ts";
import {
  assertPositive,
  type BookOrder,
  type BookOrderId,
  type Executing,
  type LimitOrder,
  type Lots,
  type MarketBuy,
  type MarketSell,
  type Price,
  type QuoteUnits,
  type RestingOrder,
  type Side,
  type StopLimitOrder,
  type StopMarketBuy,
  type StopMarketSell,
} from "./order.ts";
import { OrderIndex } from "./order-index.ts";
import { isBeyondCollar } from "./price-collar.ts";

export interface MatchingBounds {
  /**
   * How many resting orders one order may meet, and how many it may look at to find those of other customers. Those that are
   * overdue are not counted.
   */
  readonly maxMet: number;
  /**
   * How many at once, whatever they are. All effects of a part are committed at once and block other commits, so a thousand tiny
   * resting orders must not be able to make that long.
   */
  readonly maxMetAtOnce: number;
}

type Limit = LimitOrder | StopLimitOrder;
type Buy = MarketBuy | StopMarketBuy;
type Sell = MarketSell | StopMarketSell;

export class Matching {
  readonly bids: BookSide;
  readonly asks: BookSide;
  readonly #overdue: ReadonlySet<BookOrderId>;
  readonly #resting = new OrderIndex();
  readonly #bounds: MatchingBounds;
  #last: Price | undefined;
  #paused: Executing | undefined;

  /** @param overdue See `Book.markOverdue`. */
  constructor(bounds: MatchingBounds, overdue: ReadonlySet<BookOrderId>) {
    this.#bounds = bounds;
    this.#overdue = overdue;
    this.bids = new BookSide("BUY", overdue);
    this.asks = new BookSide("SELL", overdue);
  }

  /** The price of the last execution. */
  get last(): Price | undefined {
    return this.#last;
  }

  /** The order that goes on with its next part. */
  get paused(): Executing | undefined {
    return this.#paused;
  }

  get size(): number {
    return this.#resting.size + (this.#paused === undefined ? 0 : 1);
  }

  has(id: BookOrderId): boolean {
    return this.#resting.has(id) || this.#paused?.order.id === id;
  }

  hasRecent(id: BookOrderId): boolean {
    return this.#resting.hasRecent(id);
  }

  restoreLast(price: Price): void {
    this.#last = price;
  }

  restorePaused(executing: Executing): void {
    assert(this.#paused === undefined, "one order is executed at a time");
    this.#paused = executing;
  }

  restoreResting(order: RestingOrder): void {
    assertPositive(order.price, "a price is a safe integer above zero");
    assertPositive(order.lots, "lots are a safe integer above zero");
    assert(!this.has(order.id), "an order is restored once");
    assert(!this.#wouldCross(order.side, order.price), "a book that is restored is not crossed");
    this.#resting.add(this.own(order.side).restore(order));
  }

  /** Removes an order that rests or is paused. @returns false if there is none */
  remove(id: BookOrderId): boolean {
    const resting = this.#resting.get(id);
    if (resting !== undefined) this.#remove(resting);
    else if (this.#paused?.order.id === id) this.#paused = undefined;
    else return false;
    return true;
  }

  /** An order's fills come first in the effects, its state last. */
  execute(order: BookOrder, effects: Effect[]): void {
    this.#run(new Part(order, this.#bounds, undefined), effects);
  }

  /** Executes the next part of the paused order. */
  resume(effects: Effect[]): void {
    const paused = this.#paused;
    assert(paused !== undefined, "an order that goes on was paused");
    this.#paused = undefined;
    this.#run(new Part(paused.order, this.#bounds, paused), effects);
  }

  own(side: Side): BookSide {
    return side === "BUY" ? this.bids : this.asks;
  }

  #opposite(side: Side): BookSide {
    return side === "BUY" ? this.asks : this.bids;
  }

  #run(part: Part, effects: Effect[]): void {
    assert(this.#paused === undefined, "one order is executed at a time");
    const outcome = this.#outcomeOf(part, effects);
    effects.push(outcome);
  }

  #outcomeOf(part: Part, effects: Effect[]): Rested | Paused | Closed {
    const { order } = part;
    switch (order.type) {
      case "LIMIT":
      case "STOP_LIMIT":
        return this.#executeLimit(order, part, effects);
      case "POST_ONLY_LIMIT":
        return this.#executePostOnly(order, part, effects);
      case "MARKET":
      case "STOP_MARKET":
        return order.side === "BUY"
          ? this.#executeMarketBuy(order, part, effects)
          : this.#executeMarketSell(order, part, effects);
    }
  }

  #executeLimit(order: Limit, part: Part, effects: Effect[]): Rested | Paused | Closed {
    if (part.isFirst && !this.#isCompletable(order)) return cancelled(order.id, "fill_or_kill");
    if (part.isFirst && this.#isCollared(order)) return rejected(order.id, "price_collar");

    const left = this.#takeLots(order, order.price, part, effects);
    if (left === 0) return filledUp(order.id);
    assert(order.timeInForce !== "FOK", "what others offered has filled the order");
    const isCrossing = this.#wouldCross(order.side, order.price);
    if (isCrossing && this.#mayGoOn(part)) return this.#pause({ ...order, lots: left }, part);
    if (order.timeInForce === "IOC") return cancelled(order.id, "immediate_or_cancel");
    if (isCrossing) return cancelled(order.id, "too_many_matches");
    return this.#rest(order, left);
  }

  /** A post-only order with IOC or FOK is valid but never fills: it may neither take nor rest. */
  #executePostOnly(order: LimitOrder, part: Part, effects: Effect[]): Rested | Paused | Closed {
    const opposite = this.#opposite(order.side);
    const best = opposite.bestFillablePrice();
    if (best !== undefined && opposite.isWithin(order.price, best)) return rejected(order.id, "post_only_would_cross");
    if (order.timeInForce === "IOC") return cancelled(order.id, "immediate_or_cancel");
    if (order.timeInForce === "FOK") return cancelled(order.id, "fill_or_kill");
    let maker = opposite.first();
    // All that it would cross is overdue.
    while (maker !== undefined && opposite.isWithin(order.price, maker.price)) {
      if (!part.meet(true)) return this.#pause(order, part);
      this.#cancelMaker(maker, "expired", effects);
      maker = opposite.first();
    }
    return this.#rest(order, order.lots);
  }

  #executeMarketSell(order: Sell, part: Part, effects: Effect[]): Paused | Closed {
    if (part.isFirst && this.#bestPriceOfOthers(order) === undefined) return rejected(order.id, "no_liquidity");

    const left = this.#takeLots(order, undefined, part, effects);
    if (left === 0) return filledUp(order.id);
    if (this.bids.first() !== undefined && this.#mayGoOn(part)) return this.#pause({ ...order, lots: left }, part);
    return cancelled(order.id, "immediate_or_cancel");
  }

  #executeMarketBuy(order: Buy, part: Part, effects: Effect[]): Paused | Closed {
    if (part.isFirst) {
      const best = this.#bestPriceOfOthers(order);
      if (best === undefined) return rejected(order.id, "no_liquidity");
      if (order.budget < BigInt(best)) return rejected(order.id, "below_one_lot");
    }

    const left = this.#takeForBudget(order, part, effects);
    const first = this.asks.first();
    const best = first?.price;
    const isAffordable = best !== undefined && left >= BigInt(best);
    // What is left is compared with the price of an order that could be filled.
    const isCovered = first !== undefined && left > 0n && this.#overdue.has(first.id);
    if (isCovered || (isAffordable && this.#mayGoOn(part))) return this.#pause({ ...order, budget: left }, part);
    // Between two parts others' orders can expire, so one that has cancelled own orders only may have bought nothing.
    const nextPrice = best ?? this.#last;
    const isFilled = part.hasTraded && nextPrice !== undefined && left < BigInt(nextPrice);
    return isFilled ? filledUp(order.id) : cancelled(order.id, "immediate_or_cancel");
  }

  #pause(order: BookOrder, { met, hasTraded }: Part): Paused {
    this.#paused = { order, met, hasTraded };
    return { kind: "paused", order: order.id };
  }

  /**
   * Fills an order from the opposite side within its lots, its limit, and the number of orders that it may meet.
   * @returns the remaining lots
   */
  #takeLots(taker: Limit | Sell, limit: Price | undefined, part: Part, effects: Effect[]): Lots {
    const opposite = this.#opposite(taker.side);
    let left = taker.lots;
    while (left > 0) {
      const maker = opposite.first();
      if (maker === undefined || !opposite.isWithin(limit, maker.price)) break;
      const isOverdue = this.#overdue.has(maker.id);
      if (!part.meet(isOverdue)) break;
      if (isOverdue || maker.customer === taker.customer) {
        this.#cancelMaker(maker, isOverdue ? "expired" : "self_trade", effects);
        continue;
      }
      const lots = Math.min(left, maker.lots) as Lots;
      left = (left - lots) as Lots;
      part.hasTraded = true;
      this.#fill(taker, left, undefined, maker, lots, cost(maker.price, lots), effects);
    }
    return left;
  }

  /**
   * Buys whole lots for a budget, order by order, until the budget buys no lot at the next price. An own order there is
   * not reached and not cancelled. @returns the remaining budget
   */
  #takeForBudget(taker: Buy, part: Part, effects: Effect[]): QuoteUnits {
    let left = taker.budget;
    while (left > 0n) {
      const maker = this.asks.first();
      if (maker === undefined) break;
      const isOverdue = this.#overdue.has(maker.id);
      const affordable = left / BigInt(maker.price);
      if ((affordable === 0n && !isOverdue) || !part.meet(isOverdue)) break;
      if (isOverdue || maker.customer === taker.customer) {
        this.#cancelMaker(maker, isOverdue ? "expired" : "self_trade", effects);
        continue;
      }
      const lots = affordable < BigInt(maker.lots) ? (Number(affordable) as Lots) : maker.lots;
      const spent = cost(maker.price, lots);
      left = (left - spent) as QuoteUnits;
      part.hasTraded = true;
      this.#fill(taker, undefined, left, maker, lots, spent, effects);
    }
    return left;
  }

  #fill(
    taker: BookOrder,
    takerLotsLeft: Lots | undefined,
    takerBudgetLeft: QuoteUnits | undefined,
    maker: Resting,
    lots: Lots,
    spent: QuoteUnits,
    effects: Effect[],
  ): void {
    const makerLotsLeft = (maker.lots - lots) as Lots;
    effects.push({
      kind: "filled",
      taker: taker.id,
      takerSide: taker.side,
      takerLotsLeft,
      takerBudgetLeft,
      maker: maker.id,
      makerLotsLeft,
      price: maker.price,
      lots,
      cost: spent,
    });
    this.#last = maker.price;
    if (makerLotsLeft > 0) {
      this.own(maker.side).reduce(maker, lots);
    } else {
      this.#remove(maker);
      effects.push(filledUp(maker.id));
    }
  }

  #cancelMaker(maker: Resting, reason: CancelReason, effects: Effect[]): void {
    this.#remove(maker);
    effects.push(cancelled(maker.id, reason));
  }

  /** Whether the order may meet, in a further part, the first one of the other side. */
  #mayGoOn(part: Part): boolean {
    const first = this.#opposite(part.order.side).first();
    return part.mayMeet(first !== undefined && this.#overdue.has(first.id));
  }

  #rest(order: Limit, lots: Lots): Rested {
    const { id, customer, side, price } = order;
    const resting = this.own(side).append(id, customer, price, lots);
    this.#resting.add(resting);
    return { kind: "rested", order: id, side, price, lots, priority: resting.priority };
  }

  #remove(order: Resting): void {
    this.own(order.side).remove(order);
    this.#resting.delete(order.id);
  }

  /** Whether a FOK order can be filled in one part: between two, others' orders can expire. */
  #isCompletable({ timeInForce, side, lots, customer, price }: Limit): boolean {
    if (timeInForce !== "FOK") return true;
    return this.#opposite(side).othersOffer(lots, customer, price, this.#bounds.maxMetAtOnce);
  }

  /** Of the orders that this one can reach: it meets no more than it looks at here. */
  #bestPriceOfOthers({ side, customer }: BookOrder, limit?: Price): Price | undefined {
    return this.#opposite(side).bestPriceOfOthers(customer, limit, this.#bounds.maxMet);
  }

  /** Whether the price collar rejects a limit order: it would match another customer's order at once, beyond the collar. */
  #isCollared(order: Limit): boolean {
    if (this.#bestPriceOfOthers(order, order.price) === undefined) return false;
    const bid = this.bids.bestFillablePrice();
    const ask = this.asks.bestFillablePrice();
    return bid !== undefined && ask !== undefined && isBeyondCollar(order, bid, ask);
  }

  #wouldCross(side: Side, price: Price): boolean {
    const opposite = this.#opposite(side);
    const best = opposite.bestPrice();
    return best !== undefined && opposite.isWithin(price, best);
  }
}

/** What an order does at once: all of its execution, if it need not be paused. */
class Part {
  readonly order: BookOrder;
  readonly isFirst: boolean;
  /** In all parts so far. */
  met: number;
  hasTraded: boolean;
  readonly #most: number;
  /** How many more it may come to in this part. */
  #left: number;

  constructor(order: BookOrder, { maxMet, maxMetAtOnce }: MatchingBounds, paused: Executing | undefined) {
    this.order = order;
    this.isFirst = paused === undefined;
    this.met = paused?.met ?? 0;
    this.hasTraded = paused?.hasTraded ?? false;
    this.#most = maxMet;
    this.#left = maxMetAtOnce;
  }

  /** Whether it may meet such an order, in this part or a further one. */
  mayMeet(isOverdue: boolean): boolean {
    return isOverdue || this.met < this.#most;
  }

  /** Counts an order that it comes to. @returns false if it may not, at least in this part */
  meet(isOverdue: boolean): boolean {
    if (this.#left === 0 || !this.mayMeet(isOverdue)) return false;
    this.#left -= 1;
    if (!isOverdue) this.met += 1;
    return true;
  }
}

function cost(price: Price, lots: Lots): QuoteUnits {
  return (BigInt(price) * BigInt(lots)) as QuoteUnits;
}
