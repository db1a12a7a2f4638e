/**
 * The slow twin of the order book: the rules of docs/contract/orders.md#matching and on, one after the other with
 * arrays that are filtered and sorted anew each time. It is the oracle of the fast book and shares none of its code,
 * only the types and the constructors of what both answer.
 */
import { type BookState, hashState } from "../../src/exchange/book/book-state.ts";
import {
  type CancelReason,
  cancelled,
  type Effect,
  filledUp,
  rejected,
} from "../../src/exchange/book/command-effect.ts";
import type {
  BookOrder,
  BookOrderId,
  Executing,
  LimitOrder,
  Lots,
  MarketBuy,
  MarketSell,
  Price,
  QuoteUnits,
  RestingOrder,
  Side,
  StopLimitOrder,
  StopMarketBuy,
  StopMarketSell,
  StopOrder,
} from "../../src/exchange/book/order.ts";

/** What a taker has yet to trade or to spend, and how many orders it may yet meet: now, and later. */
interface Left {
  meets: number;
  later: number;
  lots: Lots | undefined;
  budget: QuoteUnits | undefined;
  traded: boolean;
}

export class NaiveBook {
  resting: RestingOrder[] = [];
  waiting: StopOrder[] = [];
  last: Price | undefined;
  executing: Executing | undefined;
  effects: Effect[] = [];
  mostMet: number;
  mostAtOnce: number;
  mostOpen: number;

  constructor({ mostMet, mostAtOnce, mostOpen }: { mostMet: number; mostAtOnce: number; mostOpen: number }) {
    this.mostMet = mostMet;
    this.mostAtOnce = mostAtOnce;
    this.mostOpen = mostOpen;
  }

  place(order: BookOrder): readonly Effect[] {
    this.effects = [];
    if (this.isOneTooMany(order)) {
      this.effects.push(rejected(order.id, "too_many_open_orders"));
    } else if ("stopPrice" in order && !this.isDue(order)) {
      this.waiting.push(order);
      this.effects.push({ kind: "waiting", order: order.id });
    } else {
      this.execute(order);
    }
    this.triggerDue();
    return this.effects;
  }

  /** docs/contract/orders.md#stored-rejections, rule 4. */
  isOneTooMany({ customer, timeInForce }: BookOrder): boolean {
    if (timeInForce === "IOC" || timeInForce === "FOK") return false;
    return [...this.resting, ...this.waiting].filter((open) => open.customer === customer).length >= this.mostOpen;
  }

  /** Goes on with an execution or a cascade that has become too long for one answer. */
  settle(): readonly Effect[] {
    this.effects = [];
    const executing = this.executing;
    this.executing = undefined;
    if (executing !== undefined) this.executePart(executing.order, executing);
    this.triggerDue();
    return this.effects;
  }

  isUnfinished(): boolean {
    return this.executing !== undefined || this.nextDue() !== undefined;
  }

  triggerDue(): void {
    for (let due = this.nextDue(); due !== undefined; due = this.nextDue()) {
      if (this.executing !== undefined || this.effects.length >= this.mostAtOnce) return;
      const id = due.id;
      this.waiting = this.waiting.filter((stop) => stop.id !== id);
      this.execute(due);
    }
  }

  /** docs/contract/orders.md#halts, rule 2. */
  cancelUnfinished(): readonly Effect[] {
    const order = this.executing?.order;
    if (order === undefined) return [];
    const isPatient = order.timeInForce === "GTC" || order.timeInForce === "GTT";
    if (isPatient && (order.type === "LIMIT" || order.type === "STOP_LIMIT")) return [];
    return this.takeOut(order.id, "immediate_or_cancel");
  }

  cancel(id: BookOrderId): readonly Effect[] {
    return this.takeOut(id, "requested");
  }

  expire(id: BookOrderId): readonly Effect[] {
    return this.takeOut(id, "expired");
  }

  has(id: BookOrderId): boolean {
    return this.open().some((order) => order.id === id);
  }

  get size(): number {
    return this.open().length;
  }

  open(): { id: BookOrderId }[] {
    return [...this.resting, ...this.waiting, ...(this.executing === undefined ? [] : [this.executing.order])];
  }

  levels(side: Side): readonly { price: Price; lots: bigint }[] {
    const queue = this.queue(side);
    return [...new Set(queue.map((order) => order.price))].map((price) => ({
      price,
      lots: queue.filter((order) => order.price === price).reduce((sum, order) => sum + BigInt(order.lots), 0n),
    }));
  }

  state(): BookState {
    const stops = [...this.dueFirst("SELL"), ...this.dueFirst("BUY")];
    const { last, executing } = this;
    return { last, bids: this.queue("BUY"), asks: this.queue("SELL"), stops, executing };
  }

  stateHash(): string {
    return hashState(this.state());
  }

  /** docs/contract/orders.md#stops, rules 1 and 3. */
  isDue(stop: StopOrder): boolean {
    if (this.last === undefined) return false;
    if (stop.side === "SELL") return this.last <= stop.stopPrice;
    return this.last >= stop.stopPrice;
  }

  /** docs/contract/orders.md#stops, rule 2: the order of each side. */
  dueFirst(side: Side): StopOrder[] {
    const stops = this.waiting.filter((stop) => stop.side === side);
    const byPrice = (a: StopOrder, b: StopOrder) =>
      side === "SELL" ? b.stopPrice - a.stopPrice : a.stopPrice - b.stopPrice;
    return stops.sort((a, b) => byPrice(a, b) || a.sequence - b.sequence);
  }

  /** docs/contract/orders.md#stops, rule 2: both sides. */
  nextDue(): StopOrder | undefined {
    const sell = this.dueFirst("SELL").filter((stop) => this.isDue(stop))[0];
    const buy = this.dueFirst("BUY").filter((stop) => this.isDue(stop))[0];
    return [sell, buy].filter((stop) => stop !== undefined).sort((a, b) => a.sequence - b.sequence)[0];
  }

  /** A side's orders in price-time priority. */
  queue(side: Side): RestingOrder[] {
    const orders = this.resting.filter((order) => order.side === side);
    const byPrice = (a: RestingOrder, b: RestingOrder) => (side === "BUY" ? b.price - a.price : a.price - b.price);
    return orders.sort((a, b) => byPrice(a, b) || a.priority - b.priority);
  }

  /** The other side's orders that accept this price, in price-time priority. */
  reachable(side: Side, price: Price): RestingOrder[] {
    if (side === "BUY") return this.queue("SELL").filter((ask) => ask.price <= price);
    return this.queue("BUY").filter((bid) => bid.price >= price);
  }

  execute(order: BookOrder): void {
    if ("stopPrice" in order) this.effects.push({ kind: "triggered", order: order.id });
    this.executePart(order, undefined);
  }

  /** docs/contract/orders.md#matching, rule 7. */
  executePart(order: BookOrder, before: Executing | undefined): void {
    switch (order.type) {
      case "POST_ONLY_LIMIT":
        this.postOnly(order);
        break;
      case "LIMIT":
      case "STOP_LIMIT":
        this.limit(order, before);
        break;
      case "MARKET":
      case "STOP_MARKET":
        if (order.side === "BUY") this.marketBuy(order, before);
        else this.marketSell(order, before);
    }
  }

  leftOf(order: BookOrder, before: Executing | undefined): Left {
    const most = this.mostMet - (before?.met ?? 0);
    const meets = Math.min(most, this.mostAtOnce);
    const traded = before?.hasTraded ?? false;
    const [lots, budget] = "budget" in order ? [undefined, order.budget] : [order.lots, undefined];
    return { meets, later: most - meets, lots, budget, traded };
  }

  pause(order: BookOrder, { meets, later, traded }: Left): void {
    this.executing = { order, met: this.mostMet - meets - later, hasTraded: traded };
    this.effects.push({ kind: "paused", order: order.id });
  }

  /** docs/contract/orders.md#time-in-force, rule 3, and #self-trade-prevention, rule 3. */
  postOnly(order: LimitOrder): void {
    const wouldCross = this.reachable(order.side, order.price).length > 0;
    if (wouldCross) this.effects.push(rejected(order.id, "post_only_would_cross"));
    else if (order.timeInForce === "IOC") this.effects.push(cancelled(order.id, "immediate_or_cancel"));
    else if (order.timeInForce === "FOK") this.effects.push(cancelled(order.id, "fill_or_kill"));
    else this.rest(order, order.lots);
  }

  limit(order: LimitOrder | StopLimitOrder, before: Executing | undefined): void {
    const reachable = this.reachable(order.side, order.price);
    const offered = this.othersMet(order, reachable.slice(0, this.mostAtOnce)).reduce(
      (sum, maker) => sum + BigInt(maker.lots),
      0n,
    );
    if (order.timeInForce === "FOK" && offered < BigInt(order.lots)) {
      this.effects.push(cancelled(order.id, "fill_or_kill"));
      return;
    }
    if (before === undefined && this.othersMet(order, reachable).length > 0 && this.isCollared(order)) {
      this.effects.push(rejected(order.id, "price_collar"));
      return;
    }
    const left = this.leftOf(order, before);
    for (const maker of reachable) this.meet(order, left, maker);
    const isCutOff = this.reachable(order.side, order.price).length > 0;
    if (left.lots === 0) this.effects.push(filledUp(order.id));
    else if (isCutOff && left.later > 0) this.pause({ ...order, lots: left.lots as Lots }, left);
    else if (order.timeInForce === "IOC") this.effects.push(cancelled(order.id, "immediate_or_cancel"));
    else if (isCutOff) this.effects.push(cancelled(order.id, "too_many_matches"));
    else this.rest(order, left.lots as Lots);
  }

  /** docs/contract/orders.md#price-collar. */
  isCollared(order: LimitOrder | StopLimitOrder): boolean {
    const bid = this.queue("BUY")[0];
    const ask = this.queue("SELL")[0];
    if (bid === undefined || ask === undefined) return false;
    const twiceMid = BigInt(bid.price) + BigInt(ask.price);
    const twicePrice = 2n * BigInt(order.price);
    return order.side === "BUY" ? twicePrice * 100n >= twiceMid * 115n : twicePrice * 100n <= twiceMid * 85n;
  }

  /** Other customers' orders among those that an order can meet. */
  othersMet({ customer }: BookOrder, queue: RestingOrder[]): RestingOrder[] {
    return queue.slice(0, this.mostMet).filter((maker) => maker.customer !== customer);
  }

  /** docs/contract/orders.md#matching, rule 6. */
  marketSell(order: MarketSell | StopMarketSell, before: Executing | undefined): void {
    if (before === undefined && this.othersMet(order, this.queue("BUY")).length === 0) {
      this.effects.push(rejected(order.id, "no_liquidity"));
      return;
    }
    const left = this.leftOf(order, before);
    for (const maker of this.queue("BUY")) this.meet(order, left, maker);
    if (left.lots === 0) this.effects.push(filledUp(order.id));
    else if (this.queue("BUY").length > 0 && left.later > 0) this.pause({ ...order, lots: left.lots as Lots }, left);
    else this.effects.push(cancelled(order.id, "immediate_or_cancel"));
  }

  marketBuy(order: MarketBuy | StopMarketBuy, before: Executing | undefined): void {
    const best = this.othersMet(order, this.queue("SELL"))[0];
    if (before === undefined && best === undefined) {
      this.effects.push(rejected(order.id, "no_liquidity"));
    } else if (before === undefined && best !== undefined && order.budget / BigInt(best.price) < 1n) {
      this.effects.push(rejected(order.id, "below_one_lot"));
    } else {
      const left = this.leftOf(order, before);
      for (const level of this.levels("SELL")) if (!this.emptyLevel(order, left, level.price)) break;
      this.closeMarketBuy(order, left);
    }
  }

  /**
   * docs/contract/orders.md#matching, rule 3, for one level. Own orders are no part of what the level sells, and go
   * when they are reached.
   */
  emptyLevel(order: MarketBuy | StopMarketBuy, left: Left, price: Price): boolean {
    for (const maker of this.queue("SELL").filter((ask) => ask.price === price)) {
      const affordable = (left.budget as bigint) / BigInt(price);
      if (affordable === 0n || left.meets === 0) return false;
      left.meets -= 1;
      if (maker.customer === order.customer) this.cancelNow(maker.id, "self_trade");
      else if (affordable >= BigInt(maker.lots)) this.fill(order, left, maker, maker.lots);
      else this.fill(order, left, maker, Number(affordable) as Lots);
    }
    return !this.queue("SELL").some((ask) => ask.price === price);
  }

  /** docs/contract/orders.md#matching, rule 4. */
  closeMarketBuy(order: MarketBuy | StopMarketBuy, left: Left): void {
    const budget = left.budget as QuoteUnits;
    const ask = this.queue("SELL")[0]?.price;
    const pays = (price: Price | undefined) => price !== undefined && budget >= BigInt(price);
    if (pays(ask) && left.later > 0) this.pause({ ...order, budget }, left);
    else if (left.traded && !pays(ask ?? this.last)) this.effects.push(filledUp(order.id));
    else this.effects.push(cancelled(order.id, "immediate_or_cancel"));
  }

  /** A taker of lots, if it has something left, comes to an order of the other side. */
  meet(taker: BookOrder, left: Left, maker: RestingOrder): void {
    if (left.lots === 0 || left.meets === 0) return;
    left.meets -= 1;
    if (maker.customer === taker.customer) this.cancelNow(maker.id, "self_trade");
    else this.fill(taker, left, maker, Math.min(left.lots as Lots, maker.lots) as Lots);
  }

  fill(taker: BookOrder, left: Left, maker: RestingOrder, lots: Lots): void {
    const cost = (BigInt(maker.price) * BigInt(lots)) as QuoteUnits;
    left.traded = true;
    if (left.lots !== undefined) left.lots = (left.lots - lots) as Lots;
    if (left.budget !== undefined) left.budget = (left.budget - cost) as QuoteUnits;
    const makerLotsLeft = (maker.lots - lots) as Lots;
    this.effects.push({
      kind: "filled",
      taker: taker.id,
      takerSide: taker.side,
      takerLotsLeft: left.lots,
      takerBudgetLeft: left.budget,
      maker: maker.id,
      makerLotsLeft,
      price: maker.price,
      lots,
      cost,
    });
    this.last = maker.price;
    this.resting = this.resting
      .map((order) => (order.id === maker.id ? { ...order, lots: makerLotsLeft } : order))
      .filter((order) => order.lots > 0);
    if (makerLotsLeft === 0) this.effects.push(filledUp(maker.id));
  }

  /** Behind all that rest on its side at its price. */
  rest(order: LimitOrder | StopLimitOrder, lots: Lots): void {
    const { id, customer, side, price } = order;
    const ahead = this.queue(side).filter((other) => other.price === price);
    const priority = Math.max(0, ...ahead.map((other) => other.priority)) + 1;
    this.resting.push({ id, customer, side, price, lots, priority });
    this.effects.push({ kind: "rested", order: id, side, price, lots, priority });
  }

  takeOut(id: BookOrderId, reason: CancelReason): readonly Effect[] {
    this.effects = [];
    if (this.has(id)) this.cancelNow(id, reason);
    return this.effects;
  }

  cancelNow(id: BookOrderId, reason: CancelReason): void {
    this.resting = this.resting.filter((order) => order.id !== id);
    this.waiting = this.waiting.filter((stop) => stop.id !== id);
    if (this.executing?.order.id === id) this.executing = undefined;
    this.effects.push(cancelled(id, reason));
  }
}
