/**
 * One market as its maker knows it: its orders there, where the price has walked to, and whether it is worth trying.
 * Synchronous: told what the orders have become, it says what is to be done. `now` is in milliseconds of any clock that
 * never steps.
 *
 * The price walks on when somebody has traded with the maker, so an order is stored only because of somebody, and
 * quotes depend on the seed and on what was traded, not on when. How far it has walked is written on each order, which
 * is where the next process finds it.
 */
import type { Market } from "../catalogue/market.ts";
import type { Order, OrderId } from "../exchange/exchange.ts";
import { minus } from "../money/amount.ts";
import { must } from "../std/assert.ts";
import type { MadeMarket } from "./made-markets.ts";
import { type Changes, changesTo, ladder, type Resting } from "./quotes.ts";
import { type Position, START, stepOn } from "./random-walk.ts";

/** How long a market is left alone that has refused an order: longer each time, until one rests again. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

const NOTHING: Changes = { withdraw: [], place: [] };

export class Desk {
  readonly terms: MadeMarket;
  readonly #seed: string;
  /** Not closed, as far as is known. */
  readonly #orders = new Map<OrderId, Order>();
  readonly #leaving = new Set<OrderId>();
  #position: Position;
  #refusals = 0;
  #pausedUntil = 0;

  /** `newest`: the last order that this maker has placed on the market, in whatever life. */
  constructor(terms: MadeMarket, seed: string, newest: Order | undefined) {
    this.terms = terms;
    this.#seed = seed;
    this.#position = positionOf(newest?.metadata) ?? START;
  }

  get orders(): readonly Order[] {
    return [...this.#orders.values()];
  }

  /** What is written on an order that is placed now. */
  get metadata(): Readonly<Record<string, string>> {
    const { step, offset } = this.#position;
    return { step: String(step), offset: String(offset) };
  }

  /** An order that it has placed, or one that is found on the market. */
  add(order: Order): void {
    if (!this.#orders.has(order.id)) this.#orders.set(order.id, order);
  }

  /** It was asked to be cancelled, and may be filled all the same. */
  leaves(id: OrderId): void {
    this.#leaving.add(id);
  }

  /** An order was refused here. */
  refused(now: number): void {
    this.#pausedUntil = now + Math.min(SHORTEST_PAUSE_MS * 2 ** Math.min(this.#refusals, 10), LONGEST_PAUSE_MS);
    this.#refusals += 1;
  }

  /** What its orders have become. */
  observe(orders: readonly Order[], now: number): void {
    let traded = false;
    let rejected = false;
    for (const order of orders) {
      const before = must(this.#orders.get(order.id), "only an order of the desk is observed");
      traded ||= order.filled > before.filled;
      if (order.status === "OPEN" && before.status !== "OPEN") this.#refusals = 0;
      rejected ||= order.status === "REJECTED";
      this.#orders.set(order.id, order);
      if (order.closedAt !== undefined) this.#forget(order.id);
    }
    if (traded) this.#position = stepOn({ ...this.terms, seed: this.#seed, name: this.terms.market }, this.#position);
    if (rejected) this.refused(now);
  }

  #forget(id: OrderId): void {
    this.#orders.delete(id);
    this.#leaving.delete(id);
  }

  /** What is to be done to have the ladder on the market. */
  changes(market: Market, now: number): Changes {
    if (now < this.#pausedUntil) return NOTHING;
    const wanted = ladder(this.terms, market, this.#position.offset);
    const { withdraw, place } = changesTo(wanted, this.orders.map(restingOf));
    return { place, withdraw: withdraw.filter((id) => !this.#leaving.has(id)) };
  }

  /** All of its orders are on the book, and none is about to go. */
  get isAtRest(): boolean {
    return this.#leaving.size === 0 && this.orders.every(({ status }) => status === "OPEN");
  }
}

function restingOf({ id, side, price, baseAmount, filled }: Order): Resting {
  const [at, amount] = [must(price, "a quote has a price"), must(baseAmount, "a quote has an amount")];
  return { id, side, price: at, amount: minus(amount, filled) };
}

/** Undefined when the order is not one that a maker has written its position on. */
function positionOf({ step = "", offset = "" }: Readonly<Record<string, string>> = {}): Position | undefined {
  if (!/^[0-9]{1,15}$/.test(step) || !/^-?[0-9]{1,15}$/.test(offset)) return undefined;
  return { step: Number(step), offset: Number(offset) };
}
