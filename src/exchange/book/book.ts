/**
 * The order book of one market: price-time priority, trades at the resting order's price
 * (docs/contract/orders.md#matching).
 * It is pure, synchronous and deterministic: it has no clock, no database and no randomness, so the same commands give
 * the same effects. The caller decides when an order expires, and places nothing while the market is halted.
 *
 * An order is in one of four states: waiting for its trigger (stops only), executing (one at most, between two parts),
 * resting on a side, or not in the book. It enters by one command and leaves by its own next part, cancel or expiry, or by a
 * later order.
 */
import { assert } from "../../std/assert.ts";
import type { LevelTotal, Resting } from "./book-side.ts";
import { type BookState, hashState } from "./book-state.ts";
import { type CancelReason, cancelled, type Effect, rejected } from "./command-effect.ts";
import { Matching, type MatchingBounds } from "./matching.ts";
import {
  assertPositive,
  assertWellFormed,
  type BookOrder,
  type BookOrderId,
  type Executing,
  isStop,
  mayRest,
  mayStayOpen,
  type Price,
  type RestingOrder,
  type Side,
  type StopOrder,
} from "./order.ts";
import { isThrough, WaitingStops } from "./waiting-stops.ts";

export interface BookBounds extends MatchingBounds {
  /** How many resting orders the stops of one part of a cascade may look at: a few milliseconds of the event loop. */
  readonly maxLooked: number;
  /** How many orders of one customer may rest or wait: they fill the memory, and delay the next engine of the market. */
  readonly maxOpen: number;
  /** How many of them may be waiting stops: one trade can trigger all, and no other order is matched meanwhile. */
  readonly maxWaiting: number;
}

const BOUNDS: BookBounds = {
  maxMet: 1_000,
  maxMetAtOnce: 100,
  maxLooked: 100_000,
  maxOpen: 20_000,
  maxWaiting: 1_000,
};

export class Book {
  readonly #matching: Matching;
  readonly #stops = new WaitingStops();
  readonly #overdue = new Set<BookOrderId>();
  readonly #bounds: BookBounds;

  constructor(bounds: Partial<BookBounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#matching = new Matching(this.#bounds, this.#overdue);
  }

  /**
   * Executes an order, and then the cascade of stops that its executions trigger. Long work is cut off; it must be finished
   * with `resume` before another order is placed.
   */
  place(order: BookOrder): readonly Effect[] {
    assertWellFormed(order);
    assert(!this.isUnfinished(), "the last order and its cascade are finished first");
    assert(!this.#matching.hasRecent(order.id) && !this.#stops.has(order.id), "an order is placed once");
    if (this.#isOneTooMany(order)) return [rejected(order.id, "too_many_open_orders")];
    const effects: Effect[] = [];
    if (!isStop(order)) this.#matching.execute(order, effects);
    else if (isThrough(order, this.last)) this.#trigger(order, effects);
    else this.#wait(order, effects);
    this.#triggerDueStops(effects);
    return this.#done(effects);
  }

  /** Whether an order is executing, or stops are due. */
  isUnfinished(): boolean {
    return this.#matching.paused !== undefined || this.#stops.hasDue(this.last);
  }

  /** The next part of an execution or a cascade. */
  resume(): readonly Effect[] {
    const effects: Effect[] = [];
    const paused = this.#matching.paused?.order.id;
    if (paused !== undefined && this.#overdue.has(paused)) effects.push(...this.expire(paused));
    else if (paused !== undefined) this.#matching.resume(effects);
    this.#triggerDueStops(effects);
    return this.#done(effects);
  }

  /** Cancels what is left of an order between two parts, if it may not rest, on a market where it cannot go on. */
  cancelUnfinished(): readonly Effect[] {
    const order = this.#matching.paused?.order;
    return order === undefined || mayRest(order) ? [] : this.#takeOut(order.id, "immediate_or_cancel");
  }

  /** Cancels an order at its owner's request. No effects if it is not in the book any more: a fill came first. */
  cancel(id: BookOrderId): readonly Effect[] {
    return this.#takeOut(id, this.#overdue.has(id) ? "expired" : "requested");
  }

  /**
   * From now on an order in the book is neither filled nor triggered, because its time is over. It is closed by `expireOverdue`,
   * or by an order that comes to it before.
   */
  markOverdue(id: BookOrderId): void {
    assert(this.has(id), "an order that is overdue is in the book");
    this.#overdue.add(id);
  }

  get hasOverdue(): boolean {
    return this.#overdue.size > 0;
  }

  /** Expires orders that are overdue, those that were marked first. */
  expireOverdue(most: number): readonly Effect[] {
    const effects: Effect[] = [];
    for (const id of this.#overdue) {
      if (effects.length === most) break;
      effects.push(...this.expire(id));
    }
    return effects;
  }

  /** Expires an order. No effects if it is not in the book any more: a fill came first. */
  expire(id: BookOrderId): readonly Effect[] {
    return this.#takeOut(id, "expired");
  }

  /** Restores a resting order without matching. Orders of a level must be restored in rising priority. */
  restoreResting(order: RestingOrder): void {
    assert(!this.#stops.has(order.id), "an order is restored once");
    this.#matching.restoreResting(order);
  }

  /** Restores an untriggered stop without triggering anything, in any order. */
  restoreWaiting(stop: StopOrder): void {
    assertWellFormed(stop);
    assert(!this.has(stop.id), "an order is restored once");
    this.#stops.add(stop);
  }

  /** Restores an order between two parts of its execution. */
  restoreExecuting(executing: Executing): void {
    assertWellFormed(executing.order);
    assert(!this.has(executing.order.id), "an order is restored once");
    this.#matching.restorePaused(executing);
  }

  /** Restores the price of the last execution without triggering anything: the stops of an unfinished cascade are due. */
  restoreLast(price: Price): void {
    assertPositive(price, "a price is a safe integer above zero");
    this.#matching.restoreLast(price);
  }

  /** The price of the last execution, which triggers stops. */
  get last(): Price | undefined {
    return this.#matching.last;
  }

  /** How many resting orders have been looked at so far to find those of other customers: work that has no effects. */
  get looked(): number {
    return this.#matching.bids.looked + this.#matching.asks.looked;
  }

  get size(): number {
    return this.#matching.size + this.#stops.size;
  }

  has(id: BookOrderId): boolean {
    return this.#matching.has(id) || this.#stops.has(id);
  }

  bestBid(): Price | undefined {
    return this.#matching.bids.bestPrice();
  }

  bestAsk(): Price | undefined {
    return this.#matching.asks.bestPrice();
  }

  /** Best level first. */
  levels(side: Side, depth = Number.POSITIVE_INFINITY): readonly LevelTotal[] {
    return this.#matching.own(side).totals(depth);
  }

  /** The lots that rest on a side at a price, for market data. */
  totalAt(side: Side, price: Price): bigint {
    return this.#matching.own(side).totalAt(price);
  }

  state(): BookState {
    const { bids, asks, last, paused } = this.#matching;
    const [resting, offered] = [[...bids.orders()].map(restingOrder), [...asks.orders()].map(restingOrder)];
    return { last, bids: resting, asks: offered, stops: this.#stops.list(), executing: paused };
  }

  stateHash(): string {
    return hashState(this.state());
  }

  #trigger(stop: StopOrder, effects: Effect[]): void {
    effects.push({ kind: "triggered", order: stop.id });
    this.#matching.execute(stop, effects);
  }

  /**
   * Each stop's executions can make others due, or no longer due, so due stops are determined anew after each; and none is
   * triggered before the last one is executed.
   */
  #triggerDueStops(effects: Effect[]): void {
    const { maxMetAtOnce, maxLooked } = this.#bounds;
    const end = this.looked + maxLooked;
    while (this.#matching.paused === undefined && effects.length < maxMetAtOnce && this.looked < end) {
      const stop = this.#stops.takeDue(this.last);
      if (stop === undefined) return;
      if (this.#overdue.has(stop.id)) effects.push(cancelled(stop.id, "expired"));
      else this.#trigger(stop, effects);
    }
  }

  #done(effects: readonly Effect[]): readonly Effect[] {
    if (this.#overdue.size === 0) return effects;
    for (const effect of effects) if (effect.kind === "closed") this.#overdue.delete(effect.order);
    return effects;
  }

  #wait(stop: StopOrder, effects: Effect[]): void {
    this.#stops.add(stop);
    effects.push({ kind: "waiting", order: stop.id });
  }

  #takeOut(id: BookOrderId, reason: CancelReason): readonly Effect[] {
    const wasThere = this.#matching.remove(id) || this.#stops.remove(id);
    return wasThere ? this.#done([cancelled(id, reason)]) : [];
  }

  #isOneTooMany(order: BookOrder): boolean {
    if (!mayStayOpen(order)) return false;
    const { customer } = order;
    const waiting = this.#stops.countOf(customer);
    if (isStop(order) && waiting >= this.#bounds.maxWaiting) return true;
    const { bids, asks } = this.#matching;
    return bids.countOf(customer) + asks.countOf(customer) + waiting >= this.#bounds.maxOpen;
  }
}

/** An immutable copy. */
function restingOrder({ id, customer, side, price, lots, priority }: Resting): RestingOrder {
  return { id, customer, side, price, lots, priority };
}
