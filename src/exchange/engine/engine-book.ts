/**
 * An engine's order book, with what is needed to find its orders' rows. It is ahead of the database by one round at most:
 * if a round is not committed, the book must be discarded and rebuilt.
 */
import type { Market } from "../../catalogue/market.ts";
import type { Caller } from "../../ledger/caller.ts";
import { assert, must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { Book, type BookBounds } from "../book/book.ts";
import { cancelled, rejected } from "../book/command-effect.ts";
import type { BookOrderId, Price, Sequence } from "../book/order.ts";
import { isStop } from "../book/order.ts";
import type { LevelChange } from "../market-feed/book-change.ts";
import type { MarketHead, MarketState } from "../market-state.ts";
import type { Order, OrderId } from "../order.ts";
import { amountOfLots, bookOrder, executingOrder, priceUnits } from "./book-units.ts";
import { Expiries } from "./expiries.ts";
import type { HaltRejection, RoundEffect } from "./round-changes.ts";
import type { CancelRequest, OpenOrder, PendingOrder } from "./store.ts";
import type { BookedOrder, Committed, Round } from "./takeover-and-round.ts";

/** The part of the engine's backlog that was read, oldest first. */
export interface Work {
  /** Whether the market accepts orders. */
  readonly status: MarketState["status"];
  readonly orders: readonly PendingOrder[];
  readonly cancels: readonly CancelRequest[];
}

export interface Plan {
  /** Undefined when nothing changes. */
  readonly round: Round | undefined;
  /** Cancels that are done once the round is committed. */
  readonly cancels: readonly CancelRequest[];
  /** Whether the round has a turn and does nothing but close what is overdue. */
  readonly hasTurn: boolean;
  /** Whether more is due than a round looks at, so that the next one is to follow at once. */
  readonly isBehind: boolean;
}

/** The order book does not match the database: another engine has the market. */
export class StaleBook extends Error {
  override readonly name = "StaleBook";
}

/**
 * A round ends when it has this many effects; the last order may exceed it by all that it meets at once, and what is overdue
 * comes on top. A round is one batch, and everybody's writes wait for a batch.
 */
const MAX_EFFECTS = 200;
/** A round ends too when the book has looked at this many resting orders: such work leaves no effects to count. */
const MAX_LOOKED = 100_000;
/** How many orders of one customer may be to expire: all of them can be due at once, and each is work for the database. */
const MAX_EXPIRING = 1_000;
export interface EngineBounds extends BookBounds {
  /**
   * How many orders that are overdue a round closes: alone, and beside others' work, there for each order that it takes one
   * more, or they would pile up. On many markets at once such rounds wait for one another, and others' orders for the one of
   * their market that has begun.
   */
  readonly maxExpired: number;
  readonly maxExpiredBeside: number;
}

const BOUNDS = { maxExpired: 50, maxExpiredBeside: 20 } as const;
/** How many become overdue in one round, some milliseconds of the event loop. Nothing is matched before all that are due are. */
const MAX_OVERDUE = 10_000;

export class EngineBook {
  readonly #market: Market;
  readonly #book: Book;
  readonly #bounds: Pick<EngineBounds, keyof typeof BOUNDS>;
  readonly #booked = new Map<BookOrderId, BookedOrder>();
  readonly #expiries = new Expiries();
  #head: MarketHead;

  constructor(market: Market, head: MarketHead, bounds: Partial<EngineBounds> = {}) {
    this.#market = market;
    this.#book = new Book(bounds);
    this.#bounds = { ...BOUNDS, ...bounds };
    this.#head = head;
    if (head.lastPrice !== undefined) this.#book.restoreLast(priceUnits(market, head.lastPrice));
  }

  /** Orders of a price level must be restored in rising priority. */
  restoreOpen(order: OpenOrder): void {
    const id = this.#enter(order);
    const { side, price, lots, priority, customerId: customer } = order;
    this.#book.restoreResting({ id, customer, side, price, lots, priority });
  }

  /** A stop that waits, or an order between two parts of its execution. */
  restoreSubmitted(order: Order): void {
    this.#enter(order);
    const sequence = Number(must(order.sequence, "an order that was taken has a sequence")) as Sequence;
    if (order.stopPrice !== undefined && !order.isTriggered) {
      const stop = bookOrder(this.#market, order, sequence);
      assert(isStop(stop), "only a stop has a stop price");
      this.#book.restoreWaiting(stop);
    } else {
      this.#book.restoreExecuting(executingOrder(this.#market, order, sequence));
    }
  }

  get size(): number {
    return this.#book.size;
  }

  /** Equal for two books of a market in the same state. */
  stateHash(): string {
    return this.#book.stateHash();
  }

  /** Whether the rest of an execution or a cascade is due, or an expiry that is not known to be overdue. */
  hasDue(now: Instant): boolean {
    return this.#expiries.isDue(now) || this.#book.isUnfinished();
  }

  get hasOverdue(): boolean {
    return this.#book.hasOverdue;
  }

  /**
   * Executes what is unfinished, then the backlog in time order, and closes some of what is overdue.
   *
   * @param takeTurn asked before a round that does nothing else
   */
  run(work: Work, now: Instant, takeTurn = () => true): Plan {
    const builder = new RoundBuilder();
    for (const id of this.#expiries.takeDue(now, MAX_OVERDUE)) this.#book.markOverdue(id);
    // What is due and not marked yet could be filled.
    const isBehind = this.#expiries.isDue(now);
    if (!isBehind) this.#work(builder, work, now);
    const { maxExpired, maxExpiredBeside } = this.#bounds;
    const most = builder.effects.length > 0 ? maxExpiredBeside + builder.taken.size : maxExpired;
    const hasTurn = builder.effects.length === 0 && this.#book.hasOverdue && takeTurn();
    if (hasTurn || builder.effects.length > 0) this.#record(builder, this.#book.expireOverdue(most));
    return { round: builder.build(this.#head), cancels: builder.cancels, hasTurn, isBehind };
  }

  #work(builder: RoundBuilder, work: Work, now: Instant): void {
    const end = this.#book.looked + MAX_LOOKED;
    if (work.status === "HALTED") {
      const cancels = this.#book.cancelUnfinished();
      if (cancels.length > 0) builder.status = work.status;
      this.#record(builder, cancels);
    }
    if (work.status === "OPEN" && this.#book.isUnfinished()) {
      builder.status = work.status;
      this.#record(builder, this.#book.resume());
    }
    const placed = new Map(work.orders.map((order) => [order.id, order]));
    for (const step of inTimeOrder(work, placed)) {
      if (builder.isFull || this.#book.looked >= end) break;
      // The rest of an execution or a cascade comes before anything else, except on a halted market, which matches nothing.
      if (work.status === "OPEN" && this.#book.isUnfinished()) break;
      if (step.order !== undefined) this.#take(builder, step.order, work.status, now);
      else this.#cancel(builder, step.cancel, placed);
    }
  }

  /** The round was committed. */
  accept({ head, orders }: Committed): void {
    this.#head = head;
    for (const order of orders) {
      const id = bookId(order.id);
      if (order.closedAt !== undefined) this.#booked.delete(id);
      else this.#booked.set(id, { ...must(this.#booked.get(id), "an open order is booked"), version: order.version });
    }
  }

  /** The totals at all prices where orders of the accepted round rest or rested. */
  levelsOf(orders: Committed["orders"]): LevelChange[] {
    const levels: LevelChange[] = [];
    const known = { BUY: new Set<Price>(), SELL: new Set<Price>() };
    for (const { side, price, priority } of orders) {
      // An order that never rested has only changed the levels of its makers, which are in the round too.
      if (price === undefined || priority === undefined) continue;
      const units = priceUnits(this.#market, price);
      if (known[side].has(units)) continue;
      known[side].add(units);
      levels.push({ side, price, amount: amountOfLots(this.#market, this.#book.totalAt(side, units)) });
    }
    return levels;
  }

  #take(builder: RoundBuilder, order: PendingOrder, status: MarketState["status"], now: Instant): void {
    const id = this.#enter(order);
    if (order.expirationDate !== undefined && order.expirationDate <= now) {
      this.#record(builder, [cancelled(id, "expired")]);
      return;
    }
    builder.status = status;
    if (status === "HALTED") {
      this.#record(builder, [haltRejected(id)]);
      return;
    }
    const sequence = (Number(this.#head.lastSequence) + builder.taken.size + 1) as Sequence;
    builder.taken.set(id, sequence);
    // Its own expiry is among those counted.
    if (order.expirationDate !== undefined && this.#expiries.countOf(order.customerId) > MAX_EXPIRING) {
      this.#record(builder, [rejected(id, "too_many_open_orders")]);
      return;
    }
    this.#record(builder, this.#book.place(bookOrder(this.#market, order, sequence)));
  }

  /**
   * A cancel of a closed order is done: a fill came first. A cancel of an order that was not taken yet stays pending.
   */
  #cancel(builder: RoundBuilder, cancel: CancelRequest, placed: ReadonlyMap<OrderId, PendingOrder>): void {
    const { orderId, orderStatus } = cancel;
    if (orderStatus === "PENDING_SUBMISSION" && !placed.has(orderId)) return;
    const id = bookId(orderId);
    if (this.#book.has(id)) {
      const effects = this.#book.cancel(id);
      this.#record(builder, effects);
      const isRequested = effects.some((effect) => effect.kind === "closed" && effect.reason === "requested");
      if (cancel.caller !== undefined && isRequested) builder.requestedBy.set(orderId, cancel.caller);
    } else if ((orderStatus === "OPEN" || orderStatus === "SUBMITTED") && !builder.orders.has(id)) {
      throw new StaleBook(`order ${orderId} is ${orderStatus}, but not in the book`);
    }
    builder.cancels.push(cancel);
  }

  #enter(
    order: Pick<
      Order,
      "id" | "profileId" | "customerId" | "recipientProfileId" | "side" | "version" | "expirationDate"
    >,
  ): BookOrderId {
    const { profileId, customerId, recipientProfileId, side, version, expirationDate } = order;
    const id = bookId(order.id);
    this.#booked.set(id, { id: order.id, profileId, customerId, recipientProfileId, side, version });
    if (expirationDate !== undefined) this.#expiries.add(id, customerId, expirationDate);
    return id;
  }

  #record(builder: RoundBuilder, effects: readonly RoundEffect[]): void {
    for (const effect of effects) {
      builder.effects.push(effect);
      const ids = effect.kind === "filled" ? [effect.taker, effect.maker] : [effect.order];
      for (const id of ids) builder.orders.set(id, must(this.#booked.get(id), "an order in the book is booked"));
      if (effect.kind === "closed") this.#expiries.remove(effect.order);
    }
  }
}

class RoundBuilder {
  readonly taken = new Map<BookOrderId, Sequence>();
  readonly effects: RoundEffect[] = [];
  readonly orders = new Map<BookOrderId, BookedOrder>();
  readonly cancels: CancelRequest[] = [];
  readonly requestedBy = new Map<OrderId, Caller>();
  status: MarketState["status"] | undefined;

  get isFull(): boolean {
    return this.effects.length >= MAX_EFFECTS;
  }

  build(head: MarketHead): Round | undefined {
    const { taken, effects, orders, requestedBy, status } = this;
    return effects.length === 0 ? undefined : { head, status, taken, effects, orders, requestedBy };
  }
}

type Step =
  | { readonly at: Instant; readonly order: PendingOrder; readonly cancel?: undefined }
  | { readonly at: Instant; readonly cancel: CancelRequest; readonly order?: undefined };

/** Orders and cancels by time, but no cancel before its order, because the clocks of two nodes may differ. */
function inTimeOrder({ orders, cancels }: Work, placed: ReadonlyMap<OrderId, PendingOrder>): Step[] {
  const steps: Step[] = orders.map((order) => ({ at: order.createdAt, order }));
  for (const cancel of cancels) {
    const at = Math.max(cancel.requestedAt, placed.get(cancel.orderId)?.createdAt ?? 0) as Instant;
    steps.push({ at, cancel });
  }
  // The sort is stable: at equal times orders come first, in id order.
  return steps.sort((a, b) => a.at - b.at);
}

const haltRejected = (order: BookOrderId): HaltRejection => ({
  kind: "closed",
  order,
  status: "REJECTED",
  reason: "market_halted",
});

const bookId = (id: OrderId): BookOrderId => id as string as BookOrderId;
