/**
 * The maker's state on one market: its orders, the position of its price walk, and the pause after rejections.
 * Synchronous: given the state of its orders, it returns the changes to make. `now` is in ms of a monotonic clock.
 *
 * The price moves only after a trade with the maker, so an idle market causes no orders, and quotes depend on the seed
 * and on trades, not on time. The position is in the metadata of each order, where the next process finds it.
 */
import type { Market } from "../catalogue/market.ts";
import type { Order, OrderId } from "../exchange/exchange.ts";
import { minus } from "../money/amount.ts";
import { must } from "../std/assert.ts";
import type { QuotedMarket } from "./quoted-markets.ts";
import { type Changes, changesTo, ladder, type Resting } from "./quotes.ts";
import { nextPosition, type Position, START } from "./random-walk.ts";

/** The back-off after a rejected order. Doubles until an order rests again. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

const NOTHING: Changes = { cancel: [], place: [] };

export class MarketQuoter {
  readonly terms: QuotedMarket;
  readonly #seed: string;
  /** The orders not known to be closed. */
  readonly #orders = new Map<OrderId, Order>();
  readonly #cancelRequested = new Set<OrderId>();
  #position: Position;
  #rejections = 0;
  #pausedUntil = 0;

  /** @param newest the last order that the maker has placed on the market, in any process */
  constructor(terms: QuotedMarket, seed: string, newest: Order | undefined) {
    this.terms = terms;
    this.#seed = seed;
    this.#position = positionOf(newest?.annotations.metadata) ?? START;
  }

  get orders(): readonly Order[] {
    return [...this.#orders.values()];
  }

  /** The metadata of new orders. */
  get metadata(): Readonly<Record<string, string>> {
    const { step, offset } = this.#position;
    return { step: String(step), offset: String(offset) };
  }

  /** Takes over an order that was placed or found. */
  add(order: Order): void {
    if (!this.#orders.has(order.id)) this.#orders.set(order.id, order);
  }

  /** The order may still be filled. */
  onCancelRequested(id: OrderId): void {
    this.#cancelRequested.add(id);
  }

  /** Backs off after a rejected order. */
  onRejected(now: number): void {
    this.#pausedUntil = now + Math.min(SHORTEST_PAUSE_MS * 2 ** Math.min(this.#rejections, 10), LONGEST_PAUSE_MS);
    this.#rejections += 1;
  }

  /** Updates the orders; a trade moves the price. */
  observe(orders: readonly Order[], now: number): void {
    let traded = false;
    let rejected = false;
    for (const order of orders) {
      const before = must(this.#orders.get(order.id), "only an order of the quoter is observed");
      traded ||= order.filled > before.filled;
      if (order.status === "OPEN" && before.status !== "OPEN") this.#rejections = 0;
      rejected ||= order.status === "REJECTED";
      this.#orders.set(order.id, order);
      if (order.closedAt !== undefined) this.#forget(order.id);
    }
    if (traded)
      this.#position = nextPosition({ ...this.terms, seed: this.#seed, name: this.terms.market }, this.#position);
    if (rejected) this.onRejected(now);
  }

  #forget(id: OrderId): void {
    this.#orders.delete(id);
    this.#cancelRequested.delete(id);
  }

  /** The changes that bring the ladder onto the order book. */
  changes(market: Market, now: number): Changes {
    if (now < this.#pausedUntil) return NOTHING;
    const wanted = ladder(this.terms, market, this.#position.offset);
    const { cancel, place } = changesTo(wanted, this.orders.map(restingOf));
    return { place, cancel: cancel.filter((id) => !this.#cancelRequested.has(id)) };
  }

  /** Whether all its orders rest on the book and none is being cancelled. */
  get isAtRest(): boolean {
    return this.#cancelRequested.size === 0 && this.orders.every(({ status }) => status === "OPEN");
  }
}

function restingOf({ id, side, price, baseAmount, filled }: Order): Resting {
  const [at, amount] = [must(price, "a quote has a price"), must(baseAmount, "a quote has an amount")];
  return { id, side, price: at, amount: minus(amount, filled) };
}

/** @returns undefined if the metadata has no position */
function positionOf({ step = "", offset = "" }: Readonly<Record<string, string>> = {}): Position | undefined {
  if (!/^[0-9]{1,15}$/.test(step) || !/^-?[0-9]{1,15}$/.test(offset)) return undefined;
  return { step: Number(step), offset: Number(offset) };
}
