/**
 * Follows every order from the commands and the effects alone, as the engine does, and holds each effect against the
 * laws of the book. It looks into the book only at the end of a command, to find the same orders there.
 */

import type { Book } from "../../src/exchange/book/book.ts";
import type { Closed, Effect, Filled, Rested } from "../../src/exchange/book/command-effect.ts";
import type { BookOrder, BookOrderId, RestingOrder } from "../../src/exchange/book/order.ts";
import { assert, must } from "../../src/std/assert.ts";

interface Followed {
  readonly order: BookOrder;
  place: "arriving" | "waiting" | "executing" | "resting" | "closed";
  wasTriggered: boolean;
  isOverdue: boolean;
  priority: number;
  lotsLeft: number;
  lotsTraded: number;
  budgetLeft: bigint;
  spent: bigint;
}

export class OrderFollower {
  readonly #orders = new Map<BookOrderId, Followed>();
  /** Those that rest or wait: closed ones are many, and never looked for again. */
  readonly #open = new Map<BookOrderId, Followed>();

  placed(order: BookOrder, effects: readonly Effect[]): void {
    const followed: Followed = {
      order,
      place: "stopPrice" in order ? "arriving" : "executing",
      wasTriggered: false,
      isOverdue: false,
      priority: 0,
      lotsLeft: "lots" in order ? order.lots : 0,
      lotsTraded: 0,
      budgetLeft: "budget" in order ? order.budget : 0n,
      spent: 0n,
    };
    this.#orders.set(order.id, followed);
    this.#open.set(order.id, followed);
    this.follow(effects);
  }

  markOverdue(id: BookOrderId): void {
    this.#get(id).isOverdue = true;
  }

  follow(effects: readonly Effect[]): void {
    for (const effect of effects) this.#apply(effect);
  }

  /** To be called when a command is done. */
  expectSameOrders(book: Book): void {
    const state = book.state();
    const resting = [...state.bids, ...state.asks];
    assert(state.executing === undefined, "no order is left executing");
    assert(this.#open.size === resting.length + state.stops.length, "the book holds the orders that are open");
    for (const order of resting) {
      const followed = this.#get(order.id);
      assert(followed.place === "resting", "what the book holds on a side has rested");
      assert(followed.lotsLeft === order.lots, "the effects have what is left of an order");
      assert(followed.priority === order.priority, "the effects have the place of an order in its level");
    }
    for (const stop of state.stops) {
      assert(this.#get(stop.id).place === "waiting", "what the book holds as a stop waits");
      const last = state.last;
      const due = last !== undefined && (stop.side === "SELL" ? last <= stop.stopPrice : last >= stop.stopPrice);
      assert(!due, "no stop that is due is left waiting");
    }
    const bid = state.bids[0];
    const ask = state.asks[0];
    assert(bid === undefined || ask === undefined || bid.price < ask.price, "the book is never crossed at rest");
  }

  #apply(effect: Effect): void {
    switch (effect.kind) {
      case "waiting":
        this.#move(effect.order, "arriving", "waiting");
        break;
      case "triggered":
        this.#trigger(this.#get(effect.order));
        break;
      case "paused":
        assert(this.#get(effect.order).place === "executing", "an order that pauses is executing");
        break;
      case "filled":
        this.#fill(effect);
        break;
      case "rested":
        this.#rest(effect);
        break;
      case "closed":
        this.#close(effect);
        break;
    }
  }

  #trigger(stop: Followed): void {
    assert(stop.place === "arriving" || stop.place === "waiting", "a stop triggers from where it arrives or waits");
    assert(!stop.wasTriggered, "a stop triggers once");
    assert(!stop.isOverdue, "no stop triggers when its time is over");
    stop.wasTriggered = true;
    stop.place = "executing";
  }

  #fill(fill: Filled): void {
    const taker = this.#get(fill.taker);
    const maker = this.#get(fill.maker);
    assert(taker.place === "executing" && maker.place === "resting", "an executing order takes from a resting one");
    assert(taker.order.side === fill.takerSide && maker.order.side !== fill.takerSide, "sides are opposite");
    assert(!taker.isOverdue && !maker.isOverdue, "no order trades when its time is over");
    assert(taker.order.type !== "POST_ONLY_LIMIT", "a post-only order never takes");
    assert(taker.order.customer !== maker.order.customer, "no customer trades with itself");
    assert("price" in maker.order && maker.order.price === fill.price, "a trade is at the price of the resting order");
    assert(!("price" in taker.order) || !isBetter(taker.order.side, fill.price, taker.order.price), "limits hold");
    assert(fill.cost === BigInt(fill.price) * BigInt(fill.lots) && fill.lots > 0, "the cost is price x lots");
    this.#expectPriority(maker);

    this.#reduceTaker(taker, fill);
    maker.lotsLeft -= fill.lots;
    maker.lotsTraded += fill.lots;
    assert(maker.lotsLeft >= 0 && maker.lotsLeft === fill.makerLotsLeft, "the effect has what is left of the maker");
    expectConserved(maker);
  }

  #reduceTaker(taker: Followed, fill: Filled): void {
    taker.lotsTraded += fill.lots;
    taker.spent += fill.cost;
    if ("budget" in taker.order) {
      taker.budgetLeft -= fill.cost;
      assert(taker.budgetLeft >= 0n, "a budget is never exceeded");
      assert(fill.takerBudgetLeft === taker.budgetLeft, "the effect has what is left of the budget");
      assert(fill.takerLotsLeft === undefined, "a budget order has no lots");
    } else {
      taker.lotsLeft -= fill.lots;
      assert(taker.lotsLeft >= 0 && fill.takerLotsLeft === taker.lotsLeft, "the effect has what is left");
      assert(fill.takerBudgetLeft === undefined, "an order over lots has no budget");
    }
    expectConserved(taker);
  }

  /** Orders at a better price, or earlier at the same, have traded or were cancelled before. */
  #expectPriority(maker: Followed): void {
    const first = resting(maker);
    for (const other of this.#open.values()) {
      if (other.place !== "resting" || other.order.side !== first.side) continue;
      const { price, priority } = resting(other);
      assert(!isBetter(first.side, price, first.price), "the best price is served first");
      assert(price !== first.price || priority >= first.priority, "at one price the oldest is served first");
    }
  }

  #rest(effect: Rested): void {
    const followed = this.#get(effect.order);
    this.#move(effect.order, "executing", "resting");
    const { order } = followed;
    assert(order.timeInForce === "GTC" || order.timeInForce === "GTT", "only GTC and GTT rest");
    assert("price" in order && order.price === effect.price && order.side === effect.side, "it rests where it said");
    assert(followed.lotsLeft === effect.lots && effect.lots > 0, "it rests with what is left");
    followed.priority = effect.priority;
  }

  #close(effect: Closed): void {
    const followed = this.#get(effect.order);
    assert(followed.place !== "closed", "an order closes once");
    if (followed.isOverdue) assert(effect.reason !== "requested", "what is overdue expires");
    const isOneTooMany = effect.reason === "too_many_open_orders";
    assert(followed.place !== "arriving" || isOneTooMany, "a stop that arrives waits, triggers or is one too many");
    if (effect.status === "REJECTED") assert(followed.lotsTraded === 0, "what is rejected has traded nothing");
    if (effect.status === "FILLED") assert(followed.lotsLeft === 0 && followed.lotsTraded > 0, "filled means all");
    if (followed.order.timeInForce === "FOK") {
      assert(followed.lotsTraded === 0 || effect.status === "FILLED", "FOK trades all or nothing");
    }
    followed.place = "closed";
    this.#open.delete(effect.order);
  }

  #move(id: BookOrderId, from: Followed["place"], to: Followed["place"]): void {
    const followed = this.#get(id);
    assert(followed.place === from, `an order comes to ${to} from ${from}`);
    followed.place = to;
  }

  #get(id: BookOrderId): Followed {
    return must(this.#orders.get(id), "effects are about orders that were placed");
  }
}

function expectConserved({ order, lotsLeft, lotsTraded, budgetLeft, spent }: Followed): void {
  if ("budget" in order) assert(budgetLeft + spent === order.budget, "spent and left make up the budget");
  else assert(lotsLeft + lotsTraded === order.lots, "traded and left make up the order");
}

function resting({ order, priority }: Followed): Pick<RestingOrder, "side" | "price" | "priority"> {
  assert("price" in order, "what rests has a price");
  return { side: order.side, price: order.price, priority };
}

const isBetter = (side: "BUY" | "SELL", price: number, than: number): boolean =>
  side === "BUY" ? price > than : price < than;
