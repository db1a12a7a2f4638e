/**
 * The order book of one market: price-time priority, trades at the resting order's price
 * (docs/contract/orders.md#matching).
 * It is pure, synchronous and deterministic: it has no clock, no database and no randomness, so the same commands give
 * the same effects. The caller decides when an order expires, and places nothing while the market is halted.
 *
 * An order is in one of three states: waiting for its trigger (stops only), resting on a side, or not in the book. It
 * enters by one command and leaves by its own cancel or expiry, or by a later order.
 */
import { assert } from "../../std/assert.ts";
import { BookSide, type LevelTotal, type Resting } from "./book-side.ts";
import { type BookState, hashState } from "./book-state.ts";
import {
  type CancelReason,
  type Closed,
  cancelled,
  type Effect,
  filledUp,
  type Rested,
  rejected,
} from "./command-effect.ts";
import {
  assertPositive,
  assertWellFormed,
  type BookOrder,
  type BookOrderId,
  isStop,
  type LimitOrder,
  type Lots,
  type MarketBuy,
  type MarketSell,
  mayStayOpen,
  type Price,
  type QuoteUnits,
  type RestingOrder,
  type Side,
  type StopLimitOrder,
  type StopMarketBuy,
  type StopMarketSell,
  type StopOrder,
} from "./order.ts";
import { OrderIndex } from "./order-index.ts";
import { isBeyondCollar } from "./price-collar.ts";
import { isThrough, WaitingStops } from "./waiting-stops.ts";

export interface BookBounds {
  /**
   * How many resting orders one order may meet, and how many it may look at to find those of other customers. All its
   * effects are committed at once and block other commits, so ten thousand tiny resting orders must not be able to make
   * that long.
   */
  readonly maxMet: number;
  /** How many resting orders the stops of one part of a cascade may look at: a few milliseconds of the event loop. */
  readonly maxLooked: number;
  /** How many orders of one customer may rest or wait: they fill the memory, and delay the next engine of the market. */
  readonly maxOpen: number;
  /** How many of them may be waiting stops: one trade can trigger all, and no other order is matched meanwhile. */
  readonly maxWaiting: number;
}

const BOUNDS: BookBounds = { maxMet: 1_000, maxLooked: 100_000, maxOpen: 20_000, maxWaiting: 1_000 };

export class Book {
  readonly #bids = new BookSide("BUY");
  readonly #asks = new BookSide("SELL");
  readonly #resting = new OrderIndex();
  readonly #stops = new WaitingStops();
  readonly #bounds: BookBounds;
  /** The price of the last execution, which triggers stops. */
  #last: Price | undefined;

  constructor(bounds: Partial<BookBounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  /**
   * Executes an order, and then the cascade of stops that its executions trigger. A long cascade is cut off; it must be
   * finished with `resumeCascade` before another order is placed.
   */
  place(order: BookOrder): readonly Effect[] {
    assertWellFormed(order);
    assert(!this.hasDueStops(), "the cascade of the last order is finished first");
    assert(!this.#resting.hasRecent(order.id) && !this.#stops.has(order.id), "an order is placed once");
    if (this.#isOneTooMany(order)) return [rejected(order.id, "too_many_open_orders")];
    const effects: Effect[] = [];
    if (!isStop(order)) this.#execute(order, effects);
    else if (isThrough(order, this.#last)) this.#trigger(order, effects);
    else this.#wait(order, effects);
    this.#triggerDueStops(effects);
    return effects;
  }

  hasDueStops(): boolean {
    return this.#stops.hasDue(this.#last);
  }

  resumeCascade(): readonly Effect[] {
    const effects: Effect[] = [];
    this.#triggerDueStops(effects);
    return effects;
  }

  /** Cancels an order at its owner's request. No effects if it is not in the book any more: a fill came first. */
  cancel(id: BookOrderId): readonly Effect[] {
    return this.#takeOut(id, "requested");
  }

  /** Expires an order. No effects if it is not in the book any more: a fill came first. */
  expire(id: BookOrderId): readonly Effect[] {
    return this.#takeOut(id, "expired");
  }

  /** Restores a resting order without matching. Orders of a level must be restored in rising priority. */
  restoreResting(order: RestingOrder): void {
    assertPositive(order.price, "a price is a safe integer above zero");
    assertPositive(order.lots, "lots are a safe integer above zero");
    assert(!this.has(order.id), "an order is restored once");
    assert(!this.#wouldCross(order.side, order.price), "a book that is restored is not crossed");
    this.#resting.add(this.#own(order.side).restore(order));
  }

  /** Restores an untriggered stop without triggering anything, in any order. */
  restoreWaiting(stop: StopOrder): void {
    assertWellFormed(stop);
    assert(!this.has(stop.id), "an order is restored once");
    this.#stops.add(stop);
  }

  /** Restores the price of the last execution without triggering anything: the stops of an unfinished cascade are due. */
  restoreLast(price: Price): void {
    assertPositive(price, "a price is a safe integer above zero");
    this.#last = price;
  }

  get last(): Price | undefined {
    return this.#last;
  }

  /** How many resting orders have been looked at so far to find those of other customers: work that has no effects. */
  get looked(): number {
    return this.#bids.looked + this.#asks.looked;
  }

  get size(): number {
    return this.#resting.size + this.#stops.size;
  }

  has(id: BookOrderId): boolean {
    return this.#resting.has(id) || this.#stops.has(id);
  }

  bestBid(): Price | undefined {
    return this.#bids.bestPrice();
  }

  bestAsk(): Price | undefined {
    return this.#asks.bestPrice();
  }

  /** Best level first. */
  levels(side: Side, depth = Number.POSITIVE_INFINITY): readonly LevelTotal[] {
    return this.#own(side).totals(depth);
  }

  /** The lots that rest on a side at a price, for market data. */
  totalAt(side: Side, price: Price): bigint {
    return this.#own(side).totalAt(price);
  }

  state(): BookState {
    const bids = [...this.#bids.orders()].map(restingOrder);
    const asks = [...this.#asks.orders()].map(restingOrder);
    return { last: this.#last, bids, asks, stops: this.#stops.list() };
  }

  stateHash(): string {
    return hashState(this.state());
  }

  #trigger(stop: StopOrder, effects: Effect[]): void {
    effects.push({ kind: "triggered", order: stop.id });
    this.#execute(stop, effects);
  }

  /** Each stop's executions can make others due, or no longer due, so due stops are determined anew after each. */
  #triggerDueStops(effects: Effect[]): void {
    const { maxMet, maxLooked } = this.#bounds;
    const end = this.looked + maxLooked;
    while (effects.length < maxMet && this.looked < end) {
      const stop = this.#stops.takeDue(this.#last);
      if (stop === undefined) return;
      this.#trigger(stop, effects);
    }
  }

  #wait(stop: StopOrder, effects: Effect[]): void {
    this.#stops.add(stop);
    effects.push({ kind: "waiting", order: stop.id });
  }

  /** An order's fills come first in the effects, its final state last. */
  #execute(order: BookOrder, effects: Effect[]): void {
    const outcome = this.#outcomeOf(order, effects);
    effects.push(outcome);
  }

  #outcomeOf(order: BookOrder, effects: Effect[]): Rested | Closed {
    switch (order.type) {
      case "LIMIT":
      case "STOP_LIMIT":
        return this.#executeLimit(order, effects);
      case "POST_ONLY_LIMIT":
        return this.#executePostOnly(order);
      case "MARKET":
      case "STOP_MARKET":
        return order.side === "BUY" ? this.#executeMarketBuy(order, effects) : this.#executeMarketSell(order, effects);
    }
  }

  #executeLimit(order: LimitOrder | StopLimitOrder, effects: Effect[]): Rested | Closed {
    const fillOrKill = order.timeInForce === "FOK";
    const opposite = this.#opposite(order.side);
    if (fillOrKill && !opposite.othersOffer(order.lots, order.customer, order.price, this.#bounds.maxMet)) {
      return cancelled(order.id, "fill_or_kill");
    }
    if (this.#isCollared(order)) return rejected(order.id, "price_collar");

    const left = this.#takeLots(order, order.price, effects);
    assert(left === 0 || !fillOrKill, "what others offered has filled the order");
    if (left === 0) return filledUp(order.id);
    if (order.timeInForce === "IOC") return cancelled(order.id, "immediate_or_cancel");
    if (this.#wouldCross(order.side, order.price)) return cancelled(order.id, "too_many_matches");
    return this.#rest(order, left);
  }

  /** A post-only order with IOC or FOK is valid but never fills: it may neither take nor rest. */
  #executePostOnly(order: LimitOrder): Rested | Closed {
    if (this.#wouldCross(order.side, order.price)) return rejected(order.id, "post_only_would_cross");
    if (order.timeInForce === "IOC") return cancelled(order.id, "immediate_or_cancel");
    if (order.timeInForce === "FOK") return cancelled(order.id, "fill_or_kill");
    return this.#rest(order, order.lots);
  }

  #executeMarketSell(order: MarketSell | StopMarketSell, effects: Effect[]): Closed {
    if (this.#bestPriceOfOthers(order) === undefined) return rejected(order.id, "no_liquidity");

    const left = this.#takeLots(order, undefined, effects);
    return left === 0 ? filledUp(order.id) : cancelled(order.id, "immediate_or_cancel");
  }

  #executeMarketBuy(order: MarketBuy | StopMarketBuy, effects: Effect[]): Closed {
    const best = this.#bestPriceOfOthers(order);
    if (best === undefined) return rejected(order.id, "no_liquidity");
    if (order.budget < BigInt(best)) return rejected(order.id, "below_one_lot");

    const left = this.#takeForBudget(order, effects);
    const nextPrice = this.#asks.bestPrice() ?? this.#last;
    assert(nextPrice !== undefined, "a budget that buys one lot of others has executed");
    return left < BigInt(nextPrice) ? filledUp(order.id) : cancelled(order.id, "immediate_or_cancel");
  }

  /**
   * Fills an order from the opposite side within its lots, its limit, and the number of orders that it may meet.
   * @returns the remaining lots
   */
  #takeLots(taker: BookOrder & { readonly lots: Lots }, limit: Price | undefined, effects: Effect[]): Lots {
    const opposite = this.#opposite(taker.side);
    let left = taker.lots;
    for (let met = 0; left > 0 && met < this.#bounds.maxMet; met += 1) {
      const maker = opposite.first();
      if (maker === undefined || !opposite.isWithin(limit, maker.price)) break;
      if (maker.customer === taker.customer) {
        this.#cancelOwn(maker, effects);
        continue;
      }
      const lots = Math.min(left, maker.lots) as Lots;
      left = (left - lots) as Lots;
      this.#fill(taker, left, undefined, maker, lots, cost(maker.price, lots), effects);
    }
    return left;
  }

  /**
   * Buys whole lots for a budget, order by order, until the budget buys no lot at the next price. An own order there is
   * not reached and not cancelled. @returns the remaining budget
   */
  #takeForBudget(taker: MarketBuy | StopMarketBuy, effects: Effect[]): QuoteUnits {
    let left = taker.budget;
    for (let met = 0; met < this.#bounds.maxMet; met += 1) {
      const maker = this.#asks.first();
      if (maker === undefined) break;
      const affordable = left / BigInt(maker.price);
      if (affordable === 0n) break;
      if (maker.customer === taker.customer) {
        this.#cancelOwn(maker, effects);
        continue;
      }
      const lots = affordable < BigInt(maker.lots) ? (Number(affordable) as Lots) : maker.lots;
      const spent = cost(maker.price, lots);
      left = (left - spent) as QuoteUnits;
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
      this.#own(maker.side).reduce(maker, lots);
    } else {
      this.#remove(maker);
      effects.push(filledUp(maker.id));
    }
  }

  #cancelOwn(maker: Resting, effects: Effect[]): void {
    this.#remove(maker);
    effects.push(cancelled(maker.id, "self_trade"));
  }

  #rest(order: LimitOrder | StopLimitOrder, lots: Lots): Rested {
    const { id, customer, side, price } = order;
    const resting = this.#own(side).append(id, customer, price, lots);
    this.#resting.add(resting);
    return { kind: "rested", order: id, side, price, lots, priority: resting.priority };
  }

  #takeOut(id: BookOrderId, reason: CancelReason): readonly Effect[] {
    const resting = this.#resting.get(id);
    if (resting !== undefined) this.#remove(resting);
    else if (!this.#stops.remove(id)) return [];
    return [cancelled(id, reason)];
  }

  #remove(order: Resting): void {
    this.#own(order.side).remove(order);
    this.#resting.delete(order.id);
  }

  #isOneTooMany(order: BookOrder): boolean {
    if (!mayStayOpen(order)) return false;
    const { customer } = order;
    const waiting = this.#stops.countOf(customer);
    if (isStop(order) && waiting >= this.#bounds.maxWaiting) return true;
    return this.#bids.countOf(customer) + this.#asks.countOf(customer) + waiting >= this.#bounds.maxOpen;
  }

  /** Of the orders that this one can reach: it meets no more than it looks at here. */
  #bestPriceOfOthers({ side, customer }: BookOrder, limit?: Price): Price | undefined {
    return this.#opposite(side).bestPriceOfOthers(customer, limit, this.#bounds.maxMet);
  }

  /** Whether the price collar rejects a limit order: it would match another customer's order at once, beyond the collar. */
  #isCollared(order: LimitOrder | StopLimitOrder): boolean {
    if (this.#bestPriceOfOthers(order, order.price) === undefined) return false;
    const bid = this.bestBid();
    const ask = this.bestAsk();
    return bid !== undefined && ask !== undefined && isBeyondCollar(order, bid, ask);
  }

  #wouldCross(side: Side, price: Price): boolean {
    const opposite = this.#opposite(side);
    const best = opposite.bestPrice();
    return best !== undefined && opposite.isWithin(price, best);
  }

  #own(side: Side): BookSide {
    return side === "BUY" ? this.#bids : this.#asks;
  }

  #opposite(side: Side): BookSide {
    return side === "BUY" ? this.#asks : this.#bids;
  }
}

function cost(price: Price, lots: Lots): QuoteUnits {
  return (BigInt(price) * BigInt(lots)) as QuoteUnits;
}

/** An immutable copy. */
function restingOrder({ id, customer, side, price, lots, priority }: Resting): RestingOrder {
  return { id, customer, side, price, lots, priority };
}
