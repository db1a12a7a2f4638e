/**
 * One side of the order book: price levels in a sorted array with the best at its end, so that changes near the best
 * price move few elements; each level is a linked queue, so that any order is removed in constant time.
 */
import { assert, must } from "../../std/assert.ts";
import { CustomerCounts } from "./customer-counts.ts";
import type { BookOrderId, Lots, Price, RestingOrder, Side } from "./order.ts";

/** The public view of a price level. The total of many orders may exceed 2^53. */
export interface LevelTotal {
  readonly price: Price;
  readonly lots: bigint;
}

/** A resting order in the queue of its level. Only this file changes it. */
export interface Resting extends RestingOrder {
  lots: Lots;
  readonly level: Level;
  older: Resting | undefined;
  newer: Resting | undefined;
}

/** The orders of one side at one price. Never empty. */
interface Level {
  readonly price: Price;
  total: bigint;
  oldest: Resting | undefined;
  newest: Resting | undefined;
}

export class BookSide {
  readonly #side: Side;
  /** Multiplied by this, a higher price is better on both sides. */
  readonly #sign: 1 | -1;
  readonly #levels: Level[] = [];
  readonly #customers = new CustomerCounts();
  /** See `Book.markOverdue`. */
  readonly #overdue: ReadonlySet<BookOrderId>;
  #looked = 0;

  constructor(side: Side, overdue: ReadonlySet<BookOrderId>) {
    this.#side = side;
    this.#overdue = overdue;
    this.#sign = side === "BUY" ? 1 : -1;
  }

  /** How many orders have been looked at so far to find those of other customers. */
  get looked(): number {
    return this.#looked;
  }

  countOf(customer: string): number {
    return this.#customers.of(customer);
  }

  bestPrice(): Price | undefined {
    return this.#levels.at(-1)?.price;
  }

  /** The next order to match: the oldest one at the best price. */
  first(): Resting | undefined {
    return this.#levels.at(-1)?.oldest;
  }

  /** Whether an order of the opposite side with this limit accepts this side's price. */
  isWithin(limit: Price | undefined, price: Price): boolean {
    return limit === undefined || price * this.#sign >= limit * this.#sign;
  }

  /** The best price of an order that is not overdue. */
  bestFillablePrice(): Price | undefined {
    for (const order of this.orders()) {
      if (!this.#overdue.has(order.id)) return order.price;
      this.#looked += 1;
    }
    return undefined;
  }

  /**
   * The best price of another customer's order within the limit, looking at no more than `most` orders, those that are overdue
   * not counted.
   */
  bestPriceOfOthers(customer: string, limit: Price | undefined, most: number): Price | undefined {
    return this.#findAmongOthers(customer, limit, most, () => true)?.price;
  }

  /** Whether other customers offer at least `lots` within the limit, looking at no more than `most` orders, whatever they are. */
  othersOffer(lots: Lots, customer: string, limit: Price, most: number): boolean {
    let missing: number = lots;
    const completes = (order: Resting) => {
      missing -= order.lots;
      return missing <= 0;
    };
    return this.#findAmongOthers(customer, limit, most, completes, "counting overdue") !== undefined;
  }

  /** Adds an order behind those at its price. */
  append(id: BookOrderId, customer: string, price: Price, lots: Lots): Resting {
    const level = this.#openLevel(price);
    const priority = level.newest === undefined ? 1 : level.newest.priority + 1;
    return this.#enqueue(level, id, customer, lots, priority);
  }

  /** Restores an order at its priority. Orders of a level must be restored in rising priority. */
  restore(order: RestingOrder): Resting {
    const level = this.#openLevel(order.price);
    assert(
      level.newest === undefined || level.newest.priority < order.priority,
      "orders of a level are restored in rising priority",
    );
    return this.#enqueue(level, order.id, order.customer, order.lots, order.priority);
  }

  /** Reduces a resting order, which keeps its position in the queue. */
  reduce(order: Resting, lots: Lots): void {
    assert(lots < order.lots, "an order of which nothing is left is removed");
    order.lots = (order.lots - lots) as Lots;
    order.level.total -= BigInt(lots);
  }

  remove(order: Resting): void {
    const { level, older, newer } = order;
    if (older === undefined) level.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) level.newest = older;
    else newer.older = older;
    level.total -= BigInt(order.lots);
    this.#customers.remove(order.customer);
    if (level.oldest === undefined) this.#closeLevel(level);
  }

  /** All orders in matching order. */
  *orders(): Generator<Resting> {
    for (let i = this.#levels.length - 1; i >= 0; i -= 1) {
      for (let order = this.#levelAt(i).oldest; order !== undefined; order = order.newer) yield order;
    }
  }

  /** Best level first. */
  totals(depth: number): LevelTotal[] {
    const best = this.#levels.slice(Math.max(0, this.#levels.length - depth)).reverse();
    return best.map((level) => ({ price: level.price, lots: level.total }));
  }

  totalAt(price: Price): bigint {
    const level = this.#levels[this.#countWorse(price)];
    return level?.price === price ? level.total : 0n;
  }

  /**
   * The first order of another customer, in matching order, that is wanted and not overdue. Own orders count as looked at too:
   * a customer may have very many.
   */
  #findAmongOthers(
    customer: string,
    limit: Price | undefined,
    most: number,
    isWanted: (order: Resting) => boolean,
    counting?: "counting overdue",
  ): Resting | undefined {
    if (!this.#customers.hasOthers(customer)) return undefined;
    let left = most;
    for (let i = this.#levels.length - 1; i >= 0; i -= 1) {
      const level = this.#levelAt(i);
      if (!this.isWithin(limit, level.price)) return undefined;
      for (let order = level.oldest; order !== undefined; order = order.newer) {
        const isOverdue = this.#overdue.has(order.id);
        if (!isOverdue || counting !== undefined) {
          if (left === 0) return undefined;
          left -= 1;
        }
        this.#looked += 1;
        if (!isOverdue && order.customer !== customer && isWanted(order)) return order;
      }
    }
    return undefined;
  }

  #enqueue(level: Level, id: BookOrderId, customer: string, lots: Lots, priority: number): Resting {
    const older = level.newest;
    const side = this.#side;
    const order: Resting = { id, customer, side, price: level.price, lots, priority, level, older, newer: undefined };
    if (older === undefined) level.oldest = order;
    else older.newer = order;
    level.newest = order;
    level.total += BigInt(lots);
    this.#customers.add(customer);
    return order;
  }

  #openLevel(price: Price): Level {
    const index = this.#countWorse(price);
    const found = this.#levels[index];
    if (found?.price === price) return found;
    const level: Level = { price, total: 0n, oldest: undefined, newest: undefined };
    this.#levels.splice(index, 0, level);
    return level;
  }

  #closeLevel(level: Level): void {
    const index = this.#countWorse(level.price);
    assert(this.#levels[index] === level, "a level that had orders is among the levels");
    this.#levels.splice(index, 1);
  }

  /**
   * The number of levels worse than a price: the index of its level, or where that belongs. An exponential search from
   * the best price, followed by a binary search.
   */
  #countWorse(price: Price): number {
    const wanted = price * this.#sign;
    let end = this.#levels.length;
    let start = end - 1;
    for (let step = 1; start >= 0 && this.#levelAt(start).price * this.#sign >= wanted; step *= 2) {
      end = start;
      start -= step;
    }
    start = Math.max(0, start + 1);
    while (start < end) {
      const middle = (start + end) >>> 1;
      if (this.#levelAt(middle).price * this.#sign < wanted) start = middle + 1;
      else end = middle;
    }
    return start;
  }

  #levelAt(index: number): Level {
    return must(this.#levels[index], "the index is within the levels");
  }
}
