/**
 * The book of a market as its engine keeps it, and what it has to know of the orders in it to find their rows. It runs
 * ahead of what is stored by one round at most: a round that is not committed leaves it of no use, and it is built anew.
 */
import type { Market } from "../../catalogue/market.ts";
import type { Caller } from "../../ledger/caller.ts";
import { assert, must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { Book } from "../book/book.ts";
import { cancelled } from "../book/effect.ts";
import type { BookOrderId, Price, Sequence, StopOrder } from "../book/order.ts";
import { isStop } from "../book/order.ts";
import type { LevelChange } from "../feed/book-change.ts";
import type { MarketHead, MarketState } from "../market-state.ts";
import type { Order, OrderId } from "../order.ts";
import { Expiries } from "./expiries.ts";
import type { RoundEffect, TurnedAway } from "./matching.ts";
import type { BookedOrder, Committed, Round } from "./matching-command.ts";
import { amountOfLots, bookOrder, priceUnits } from "./matching-units.ts";
import type { CancelRequest, OpenOrder, PendingOrder } from "./order-queue.ts";

/** What waits for the engine, as far as it was read: the oldest first. */
export interface Work {
  /** Whether the market takes orders. */
  readonly status: MarketState["status"];
  readonly orders: readonly PendingOrder[];
  readonly cancels: readonly CancelRequest[];
}

export interface Plan {
  /** Undefined when nothing changes. */
  readonly round: Round | undefined;
  /** Cancels that are dealt with once the round is committed. */
  readonly cancels: readonly CancelRequest[];
}

/** The book does not know an order that is stored as open: somebody else has the market by now. */
export class StaleBook extends Error {
  override readonly name = "StaleBook";
}

/** A round ends early when it touches so many orders; one order may exceed it, by all that it matches. */
const MOST_TOUCHED = 1_000;
const MOST_EXPIRIES = 500;

export class EngineBook {
  readonly #market: Market;
  readonly #book = new Book();
  readonly #booked = new Map<BookOrderId, BookedOrder>();
  readonly #expiries = new Expiries();
  #head: MarketHead;

  constructor(market: Market, head: MarketHead) {
    this.#market = market;
    this.#head = head;
    if (head.lastPrice !== undefined) this.#book.restoreLast(priceUnits(market, head.lastPrice));
  }

  /** Those of a price level come in rising priority. */
  restoreOpen(order: OpenOrder): void {
    const id = this.#enter(order);
    const { side, price, lots, priority, customerId: customer } = order;
    this.#book.restoreResting({ id, customer, side, price, lots, priority });
  }

  restoreStop(order: Order): void {
    this.#enter(order);
    const sequence = Number(must(order.sequence, "an order that was taken has a number")) as Sequence;
    const stop = bookOrder(this.#market, order, sequence);
    assert(isStop(stop), "only stops wait as SUBMITTED");
    this.#book.restoreWaiting(stop satisfies StopOrder);
  }

  get size(): number {
    return this.#book.size;
  }

  /** What two books of one market in the same state have in common. */
  stateHash(): string {
    return this.#book.stateHash();
  }

  /** Whether there is something to do that nobody asks for: an expiry, or the rest of a cascade. */
  hasDue(now: Instant): boolean {
    return this.#expiries.isDue(now) || this.#book.hasDueStops();
  }

  /** Does what is due and what waits, in the order in which it came. */
  run(work: Work, now: Instant): Plan {
    const making = new RoundInTheMaking();
    for (const id of this.#expiries.takeDue(now, MOST_EXPIRIES)) this.#note(making, this.#book.expire(id));
    if (work.status === "OPEN" && this.#book.hasDueStops()) {
      making.status = work.status;
      this.#note(making, this.#book.settle());
    }
    const placed = new Map(work.orders.map((order) => [order.id, order]));
    for (const step of inSequence(work, placed)) {
      // What is left of a cascade is done before anything else, but that a halted market triggers nothing.
      if (making.orders.size >= MOST_TOUCHED || (work.status === "OPEN" && this.#book.hasDueStops())) break;
      if (step.order !== undefined) this.#take(making, step.order, work.status, now);
      else this.#cancel(making, step.cancel, placed);
    }
    return { round: making.roundOn(this.#head), cancels: making.cancels };
  }

  /** Takes note that the round is stored. */
  accept({ head, orders }: Committed): void {
    this.#head = head;
    for (const order of orders) {
      const id = bookId(order.id);
      if (order.closedAt === undefined) {
        this.#booked.set(id, { ...must(this.#booked.get(id), "an open order is booked"), seq: order.seq });
      } else {
        this.#booked.delete(id);
        this.#expiries.strikeOff(id);
      }
    }
  }

  /** What rests at the prices at which orders of the round that was just accepted rest, or rested until now. */
  levelsOf(orders: Committed["orders"]): LevelChange[] {
    const levels: LevelChange[] = [];
    const known = { BUY: new Set<Price>(), SELL: new Set<Price>() };
    for (const { side, price, priority } of orders) {
      // An order that never came to rest took from others, and these are in the round too.
      if (price === undefined || priority === undefined) continue;
      const units = priceUnits(this.#market, price);
      if (known[side].has(units)) continue;
      known[side].add(units);
      levels.push({ side, price, amount: amountOfLots(this.#market, this.#book.totalAt(side, units)) });
    }
    return levels;
  }

  #take(making: RoundInTheMaking, order: PendingOrder, status: MarketState["status"], now: Instant): void {
    const id = this.#enter(order);
    if (order.expirationDate !== undefined && order.expirationDate <= now) {
      this.#note(making, [cancelled(id, "expired")]);
      return;
    }
    making.status = status;
    if (status === "HALTED") {
      this.#note(making, [turnedAway(id)]);
      return;
    }
    const sequence = (Number(this.#head.lastSequence) + making.taken.size + 1) as Sequence;
    making.taken.set(id, sequence);
    this.#note(making, this.#book.place(bookOrder(this.#market, order, sequence)));
  }

  /**
   * A cancel whose order is closed by now is dealt with: a fill has won. One whose order is yet to be taken waits for it.
   */
  #cancel(making: RoundInTheMaking, cancel: CancelRequest, placed: ReadonlyMap<OrderId, PendingOrder>): void {
    const { orderId, orderStatus } = cancel;
    if (orderStatus === "PENDING_SUBMISSION" && !placed.has(orderId)) return;
    const id = bookId(orderId);
    if (this.#book.has(id)) {
      this.#note(making, this.#book.cancel(id));
      if (cancel.caller !== undefined) making.askedBy.set(orderId, cancel.caller);
    } else if ((orderStatus === "OPEN" || orderStatus === "SUBMITTED") && !making.orders.has(id)) {
      throw new StaleBook(`order ${orderId} is ${orderStatus}, but not in the book`);
    }
    making.cancels.push(cancel);
  }

  #enter(
    order: Pick<Order, "id" | "profileId" | "customerId" | "recipientProfileId" | "side" | "seq" | "expirationDate">,
  ): BookOrderId {
    const { profileId, customerId, recipientProfileId, side, seq, expirationDate } = order;
    const id = bookId(order.id);
    this.#booked.set(id, { id: order.id, profileId, customerId, recipientProfileId, side, seq });
    if (expirationDate !== undefined) this.#expiries.add(id, expirationDate);
    return id;
  }

  #note(making: RoundInTheMaking, effects: readonly RoundEffect[]): void {
    for (const effect of effects) {
      making.effects.push(effect);
      const ids = effect.kind === "filled" ? [effect.taker, effect.maker] : [effect.order];
      for (const id of ids) making.orders.set(id, must(this.#booked.get(id), "an order in the book is booked"));
    }
  }
}

class RoundInTheMaking {
  readonly taken = new Map<BookOrderId, Sequence>();
  readonly effects: RoundEffect[] = [];
  readonly orders = new Map<BookOrderId, BookedOrder>();
  readonly cancels: CancelRequest[] = [];
  readonly askedBy = new Map<OrderId, Caller>();
  status: MarketState["status"] | undefined;

  roundOn(head: MarketHead): Round | undefined {
    const { taken, effects, orders, askedBy, status } = this;
    return effects.length === 0 ? undefined : { head, status, taken, effects, orders, askedBy };
  }
}

type Step =
  | { readonly at: Instant; readonly order: PendingOrder; readonly cancel?: undefined }
  | { readonly at: Instant; readonly cancel: CancelRequest; readonly order?: undefined };

/** Orders and cancels by their times, but no cancel before its order: the clocks of two nodes may differ. */
function inSequence({ orders, cancels }: Work, placed: ReadonlyMap<OrderId, PendingOrder>): Step[] {
  const steps: Step[] = orders.map((order) => ({ at: order.createdAt, order }));
  for (const cancel of cancels) {
    const at = Math.max(cancel.requestedAt, placed.get(cancel.orderId)?.createdAt ?? 0) as Instant;
    steps.push({ at, cancel });
  }
  // The sort is stable: of equal times orders come first, and these in the order of their ids.
  return steps.sort((a, b) => a.at - b.at);
}

const turnedAway = (order: BookOrderId): TurnedAway => ({
  kind: "closed",
  order,
  status: "REJECTED",
  reason: "market_halted",
});

const bookId = (id: OrderId): BookOrderId => id as string as BookOrderId;
