/**
 * The order book of one market: price-time priority, trades at the resting order's price
 * (docs/contract/orders.md#matching).
 * It is pure and synchronous: it knows no clock, no database and no chance, so the same commands give the same
 * effects. Who calls it decides when an order expires; and when the market is halted, that nothing is placed.
 *
 * An order is in one of three places: waiting for its trigger (stops only), resting on a side, or nowhere. It gets
 * there by one command and leaves by its own cancel or expiry, or by an order of somebody that comes after it.
 */
import { assert } from "../../std/assert.ts";
import { BookSide, type LevelTotal, type Resting } from "./book-side.ts";
import { type BookState, hashState } from "./book-state.ts";
import { isBeyondCollar } from "./collar.ts";
import { type CancelReason, type Closed, cancelled, type Effect, filledUp, type Rested, rejected } from "./effect.ts";
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
import { isThrough, WaitingStops } from "./waiting-stops.ts";

const ONE_LOT = 1 as Lots;
/**
 * How many resting orders one order may meet. Whatever it does is stored at once, and while that is done nobody else's
 * money moves: so somebody who rests ten thousand tiny orders must not decide how long that is.
 */
const MOST_MET = 1_000;

export class Book {
  readonly #bids = new BookSide("BUY");
  readonly #asks = new BookSide("SELL");
  readonly #resting = new OrderIndex();
  readonly #stops = new WaitingStops();
  readonly #mostMet: number;
  /** The price of the last execution, which stops wait for. */
  #last: Price | undefined;

  constructor(mostMet = MOST_MET) {
    this.#mostMet = mostMet;
  }

  /**
   * Executes an order, and then every stop that its executions trigger, and those that these trigger, and so on. Of a
   * long cascade some stops are left, which `settle` goes on with: nothing else is placed before that.
   */
  place(order: BookOrder): readonly Effect[] {
    assertWellFormed(order);
    assert(!this.hasDueStops(), "what the last order has triggered is settled first");
    assert(!this.#resting.hasRecent(order.id) && !this.#stops.has(order.id), "an order is placed once");
    const effects: Effect[] = [];
    if (!isStop(order)) this.#execute(order, effects);
    else if (isThrough(order, this.#last)) this.#trigger(order, effects);
    else this.#wait(order, effects);
    this.#triggerDueStops(effects);
    return effects;
  }

  /** Whether a cascade is to be gone on with. */
  hasDueStops(): boolean {
    return this.#stops.hasDue(this.#last);
  }

  /** Goes on with a cascade. */
  settle(): readonly Effect[] {
    const effects: Effect[] = [];
    this.#triggerDueStops(effects);
    return effects;
  }

  /** Takes an order out because its owner asked. No effects when it is not here any more: a fill has won. */
  cancel(id: BookOrderId): readonly Effect[] {
    return this.#takeOut(id, "requested");
  }

  /** Takes an order out because its time is up. No effects when it is not here any more: a fill has won. */
  expire(id: BookOrderId): readonly Effect[] {
    return this.#takeOut(id, "expired");
  }

  /** Puts an order back on the book as it rested, matching nothing. Those of a level come in rising priority. */
  restoreResting(order: RestingOrder): void {
    assertPositive(order.price, "a price is a safe integer above zero");
    assertPositive(order.lots, "lots are a safe integer above zero");
    assert(!this.has(order.id), "an order is restored once");
    assert(!this.#wouldCross(order.side, order.price), "a book that is restored is not crossed");
    this.#resting.add(this.#own(order.side).restore(order));
  }

  /** Puts a stop back that had not been triggered. It triggers nothing, in whatever order stops come. */
  restoreWaiting(stop: StopOrder): void {
    assertWellFormed(stop);
    assert(!this.has(stop.id), "an order is restored once");
    this.#stops.add(stop);
  }

  /** Restores the price of the last execution. It triggers nothing: what it had triggered is settled, or is due. */
  restoreLast(price: Price): void {
    assertPositive(price, "a price is a safe integer above zero");
    this.#last = price;
  }

  get last(): Price | undefined {
    return this.#last;
  }

  /** How many orders rest or wait here. */
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

  /** The totals of a side's price levels, the best first. */
  levels(side: Side, depth = Number.POSITIVE_INFINITY): readonly LevelTotal[] {
    return this.#own(side).totals(depth);
  }

  /** The lots that rest on a side at a price, 0 when none do: what an update of the market data says. */
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

  /** What one stop executes can make others due, or no longer due: so they are looked at again after each. */
  #triggerDueStops(effects: Effect[]): void {
    while (effects.length < this.#mostMet) {
      const stop = this.#stops.takeDue(this.#last);
      if (stop === undefined) return;
      this.#trigger(stop, effects);
    }
  }

  #wait(stop: StopOrder, effects: Effect[]): void {
    this.#stops.add(stop);
    effects.push({ kind: "waiting", order: stop.id });
  }

  /** Whatever an order trades with comes first in the effects, and where it ends last. */
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
    if (fillOrKill && !opposite.othersOffer(order.lots, order.price, order.customer, this.#mostMet)) {
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

  /** With IOC or FOK a post-only order is valid, but can never fill: it may neither take nor rest. */
  #executePostOnly(order: LimitOrder): Rested | Closed {
    if (this.#wouldCross(order.side, order.price)) return rejected(order.id, "post_only_would_cross");
    if (order.timeInForce === "IOC") return cancelled(order.id, "immediate_or_cancel");
    if (order.timeInForce === "FOK") return cancelled(order.id, "fill_or_kill");
    return this.#rest(order, order.lots);
  }

  #executeMarketSell(order: MarketSell | StopMarketSell, effects: Effect[]): Closed {
    if (this.#bids.bestPriceOfOthers(order.customer) === undefined) return rejected(order.id, "no_liquidity");

    const left = this.#takeLots(order, undefined, effects);
    return left === 0 ? filledUp(order.id) : cancelled(order.id, "immediate_or_cancel");
  }

  #executeMarketBuy(order: MarketBuy | StopMarketBuy, effects: Effect[]): Closed {
    const best = this.#asks.bestPriceOfOthers(order.customer);
    if (best === undefined) return rejected(order.id, "no_liquidity");
    if (order.budget < BigInt(best)) return rejected(order.id, "below_one_lot");

    const left = this.#takeForBudget(order, effects);
    const nextPrice = this.#asks.bestPrice() ?? this.#last;
    assert(nextPrice !== undefined, "a budget that buys one lot of others has executed");
    return left < BigInt(nextPrice) ? filledUp(order.id) : cancelled(order.id, "immediate_or_cancel");
  }

  /**
   * Fills an order from the other side as far as its lots, its limit, and the number of orders that it may meet reach.
   * Returns the lots that are left.
   */
  #takeLots(taker: BookOrder & { readonly lots: Lots }, limit: Price | undefined, effects: Effect[]): Lots {
    const opposite = this.#opposite(taker.side);
    let left = taker.lots;
    for (let met = 0; left > 0 && met < this.#mostMet; met += 1) {
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
   * Buys whole lots for a budget, level by level, until one has more than the budget buys. An own order where the
   * budget does not buy a lot is not reached: there is nothing left that it could have traded. Returns what is left.
   */
  #takeForBudget(taker: MarketBuy | StopMarketBuy, effects: Effect[]): QuoteUnits {
    let left = taker.budget;
    for (let met = 0; met < this.#mostMet; met += 1) {
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

  /** Whether a limit order is refused for its price: it would trade with somebody at once, beyond the collar. */
  #isCollared(order: LimitOrder | StopLimitOrder): boolean {
    if (!this.#opposite(order.side).othersOffer(ONE_LOT, order.price, order.customer)) return false;
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

/** A copy that does not change with the book. */
function restingOrder({ id, customer, side, price, lots, priority }: Resting): RestingOrder {
  return { id, customer, side, price, lots, priority };
}
