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
import { inPriority, inTriggerOrder, levelsOf } from "./naive-queues.ts";

/** What a taker has yet to trade or to spend, how many orders it may yet come to now, and how many it may meet in all. */
interface Left {
  now: number;
  inAll: number;
  lots: Lots | undefined;
  budget: QuoteUnits | undefined;
  traded: boolean;
}

export class NaiveBook {
  resting: RestingOrder[] = [];
  waiting: StopOrder[] = [];
  last: Price | undefined;
  executing: Executing | undefined;
  overdue: BookOrderId[] = [];
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
    if (executing !== undefined && this.isOverdue(executing.order)) this.cancelNow(executing.order.id, "expired");
    else if (executing !== undefined) this.executePart(executing.order, executing);
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
      if (this.isOverdue(due)) this.cancelNow(id, "expired");
      else this.execute(due);
    }
  }

  /** docs/contract/orders.md#halts, rule 2. */
  cancelUnfinished(): readonly Effect[] {
    const order = this.executing?.order;
    if (order === undefined) return [];
    const isPatient = order.timeInForce === "GTC" || order.timeInForce === "GTT";
    if (isPatient && order.type !== "STOP_MARKET") return [];
    return this.takeOut(order.id, "immediate_or_cancel");
  }

  cancel(id: BookOrderId): readonly Effect[] {
    return this.takeOut(id, this.isOverdue({ id }) ? "expired" : "requested");
  }

  /** docs/contract/orders.md#time-in-force, rule 4. */
  markOverdue(id: BookOrderId): void {
    if (!this.overdue.includes(id)) this.overdue.push(id);
  }

  isOverdue({ id }: { readonly id: BookOrderId }): boolean {
    return this.overdue.includes(id);
  }

  expireOverdue(most: number): readonly Effect[] {
    this.effects = [];
    for (const id of this.overdue.slice(0, most)) this.cancelNow(id, "expired");
    return this.effects;
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
    return levelsOf(this.queue(side));
  }

  state(): BookState {
    const stops = [...inTriggerOrder(this.waiting, "SELL"), ...inTriggerOrder(this.waiting, "BUY")];
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

  /** docs/contract/orders.md#stops, rule 2: both sides. */
  nextDue(): StopOrder | undefined {
    const sell = inTriggerOrder(this.waiting, "SELL").filter((stop) => this.isDue(stop))[0];
    const buy = inTriggerOrder(this.waiting, "BUY").filter((stop) => this.isDue(stop))[0];
    return [sell, buy].filter((stop) => stop !== undefined).sort((a, b) => a.sequence - b.sequence)[0];
  }

  queue(side: Side): RestingOrder[] {
    return inPriority(this.resting, side);
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
        this.postOnly(order, before);
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
    const inAll = this.mostMet - (before?.met ?? 0);
    const traded = before?.hasTraded ?? false;
    const [lots, budget] = "budget" in order ? [undefined, order.budget] : [order.lots, undefined];
    return { now: this.mostAtOnce, inAll, lots, budget, traded };
  }

  pause(order: BookOrder, { inAll, traded }: Left): void {
    this.executing = { order, met: this.mostMet - inAll, hasTraded: traded };
    this.effects.push({ kind: "paused", order: order.id });
  }

  /** Counts an order that a taker comes to. It does not go past one that it may not meet. */
  comesTo(left: Left, maker: RestingOrder): boolean {
    const counts = this.isOverdue(maker) ? 0 : 1;
    if (left.inAll < counts) left.now = 0;
    if (left.now === 0) return false;
    left.now -= 1;
    left.inAll -= counts;
    return true;
  }

  /** Whether the taker may come to the first of these with its next part. */
  mayGoOn({ inAll }: Left, [first]: readonly RestingOrder[]): boolean {
    return first !== undefined && (inAll > 0 || this.isOverdue(first));
  }

  /** docs/contract/orders.md#time-in-force, rule 3, and #self-trade-prevention, rule 3. */
  postOnly(order: LimitOrder, before: Executing | undefined): void {
    const reachable = this.reachable(order.side, order.price);
    const wouldCross = reachable.some((maker) => !this.isOverdue(maker));
    if (wouldCross) this.effects.push(rejected(order.id, "post_only_would_cross"));
    else if (order.timeInForce === "IOC") this.effects.push(cancelled(order.id, "immediate_or_cancel"));
    else if (order.timeInForce === "FOK") this.effects.push(cancelled(order.id, "fill_or_kill"));
    else {
      const left = this.leftOf(order, before);
      for (const maker of reachable) if (this.comesTo(left, maker)) this.cancelNow(maker.id, "expired");
      if (this.reachable(order.side, order.price).length > 0) this.pause(order, left);
      else this.rest(order, order.lots);
    }
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
    const remaining = this.reachable(order.side, order.price);
    const isCutOff = remaining.length > 0;
    if (left.lots === 0) this.effects.push(filledUp(order.id));
    else if (this.mayGoOn(left, remaining)) this.pause({ ...order, lots: left.lots as Lots }, left);
    else if (order.timeInForce === "IOC") this.effects.push(cancelled(order.id, "immediate_or_cancel"));
    else if (isCutOff) this.effects.push(cancelled(order.id, "too_many_matches"));
    else this.rest(order, left.lots as Lots);
  }

  /** docs/contract/orders.md#price-collar. */
  isCollared(order: LimitOrder | StopLimitOrder): boolean {
    const bid = this.queue("BUY").find((resting) => !this.isOverdue(resting));
    const ask = this.queue("SELL").find((resting) => !this.isOverdue(resting));
    if (bid === undefined || ask === undefined) return false;
    const twiceMid = BigInt(bid.price) + BigInt(ask.price);
    const twicePrice = 2n * BigInt(order.price);
    return order.side === "BUY" ? twicePrice * 100n >= twiceMid * 115n : twicePrice * 100n <= twiceMid * 85n;
  }

  /** Other customers' orders among those that an order can meet. */
  othersMet({ customer }: BookOrder, queue: RestingOrder[]): RestingOrder[] {
    const inTime = queue.filter((maker) => !this.isOverdue(maker));
    return inTime.slice(0, this.mostMet).filter((maker) => maker.customer !== customer);
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
    else if (this.mayGoOn(left, this.queue("BUY"))) this.pause({ ...order, lots: left.lots as Lots }, left);
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
      if (affordable === 0n && (left.budget === 0n || !this.isOverdue(maker))) return false;
      if (!this.comesTo(left, maker)) return false;
      if (this.isOverdue(maker)) this.cancelNow(maker.id, "expired");
      else if (maker.customer === order.customer) this.cancelNow(maker.id, "self_trade");
      else if (affordable >= BigInt(maker.lots)) this.fill(order, left, maker, maker.lots);
      else {
        this.fill(order, left, maker, Number(affordable) as Lots);
        return false;
      }
    }
    return !this.queue("SELL").some((ask) => ask.price === price);
  }

  /** docs/contract/orders.md#matching, rule 4. */
  closeMarketBuy(order: MarketBuy | StopMarketBuy, left: Left): void {
    const budget = left.budget as QuoteUnits;
    const [first] = this.queue("SELL");
    const ask = first?.price;
    const hidesNext = first !== undefined && this.isOverdue(first) && budget > 0n;
    const pays = (price: Price | undefined) => price !== undefined && budget >= BigInt(price);
    if (hidesNext || (pays(ask) && left.inAll > 0)) this.pause({ ...order, budget }, left);
    else if (left.traded && !pays(ask ?? this.last)) this.effects.push(filledUp(order.id));
    else this.effects.push(cancelled(order.id, "immediate_or_cancel"));
  }

  /** A taker of lots, if it has something left, comes to an order of the other side. */
  meet(taker: BookOrder, left: Left, maker: RestingOrder): void {
    if (left.lots === 0 || !this.comesTo(left, maker)) return;
    if (this.isOverdue(maker)) this.cancelNow(maker.id, "expired");
    else if (maker.customer === taker.customer) this.cancelNow(maker.id, "self_trade");
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
    this.overdue = this.overdue.filter((other) => other !== id);
    this.effects.push(cancelled(id, reason));
  }
}
