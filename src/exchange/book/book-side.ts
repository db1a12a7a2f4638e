/**
 * One side of the book: price levels in a sorted array, the best at its end, so that coming and going near the best
 * price moves few of them; in each level a linked queue of orders, so that any order leaves it at once.
 */
import { assert, must } from "../../std/assert.ts";
import type { BookOrderId, Lots, Price, RestingOrder, Side } from "./order.ts";

/** A price level as others see it. The total of many orders may be above 2^53. */
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

/** All orders of one side at one price, and never none. */
interface Level {
  readonly price: Price;
  total: bigint;
  oldest: Resting | undefined;
  newest: Resting | undefined;
}

export class BookSide {
  readonly #side: Side;
  /** Bids are better the higher they are, asks the lower: times this, higher is better on both sides. */
  readonly #sign: 1 | -1;
  readonly #levels: Level[] = [];

  constructor(side: Side) {
    this.#side = side;
    this.#sign = side === "BUY" ? 1 : -1;
  }

  bestPrice(): Price | undefined {
    return this.#levels.at(-1)?.price;
  }

  /** The order that is served first: at the best price, the one that has rested there longest. */
  first(): Resting | undefined {
    return this.#levels.at(-1)?.oldest;
  }

  /** Whether an order of the other side with this limit, if any, accepts this side's price. */
  isWithin(limit: Price | undefined, price: Price): boolean {
    return limit === undefined || price * this.#sign >= limit * this.#sign;
  }

  /** The best price at which somebody else than this customer is on this side. */
  bestPriceOfOthers(customer: string): Price | undefined {
    for (let i = this.#levels.length - 1; i >= 0; i -= 1) {
      const level = this.#levelAt(i);
      for (let order = level.oldest; order !== undefined; order = order.newer) {
        if (order.customer !== customer) return level.price;
      }
    }
    return undefined;
  }

  /**
   * Whether others than this customer have at least so many lots on this side within the limit, counting the first
   * `most` orders.
   */
  othersOffer(lots: Lots, limit: Price, customer: string, most = Number.POSITIVE_INFINITY): boolean {
    let missing: number = lots;
    let met = 0;
    for (let i = this.#levels.length - 1; i >= 0; i -= 1) {
      const level = this.#levelAt(i);
      if (!this.isWithin(limit, level.price)) return false;
      for (let order = level.oldest; order !== undefined; order = order.newer) {
        if (met === most) return false;
        met += 1;
        if (order.customer !== customer) missing -= order.lots;
        if (missing <= 0) return true;
      }
    }
    return false;
  }

  /** Puts an order behind those that rest at its price already. */
  append(id: BookOrderId, customer: string, price: Price, lots: Lots): Resting {
    const level = this.#openLevel(price);
    const priority = level.newest === undefined ? 1 : level.newest.priority + 1;
    return this.#enqueue(level, id, customer, lots, priority);
  }

  /** Puts an order back where it rested. Those of a level come back in rising priority. */
  restore(order: RestingOrder): Resting {
    const level = this.#openLevel(order.price);
    assert(
      level.newest === undefined || level.newest.priority < order.priority,
      "orders of a level are restored in rising priority",
    );
    return this.#enqueue(level, order.id, order.customer, order.lots, order.priority);
  }

  /** Takes lots off a resting order, which keeps its place in the queue. */
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
    if (level.oldest === undefined) this.#closeLevel(level);
  }

  /** All orders, in the order in which they are served. */
  *orders(): Generator<Resting> {
    for (let i = this.#levels.length - 1; i >= 0; i -= 1) {
      for (let order = this.#levelAt(i).oldest; order !== undefined; order = order.newer) yield order;
    }
  }

  /** The totals of the best levels, the best first. */
  totals(depth: number): LevelTotal[] {
    const best = this.#levels.slice(Math.max(0, this.#levels.length - depth)).reverse();
    return best.map((level) => ({ price: level.price, lots: level.total }));
  }

  /** What rests at a price, 0 when nothing does. */
  totalAt(price: Price): bigint {
    const level = this.#levels[this.#countWorse(price)];
    return level?.price === price ? level.total : 0n;
  }

  #enqueue(level: Level, id: BookOrderId, customer: string, lots: Lots, priority: number): Resting {
    const older = level.newest;
    const side = this.#side;
    const order: Resting = { id, customer, side, price: level.price, lots, priority, level, older, newer: undefined };
    if (older === undefined) level.oldest = order;
    else older.newer = order;
    level.newest = order;
    level.total += BigInt(lots);
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
   * How many levels are worse than a price: the index of its level, or where that belongs. The search strides away
   * from the best price, doubling its step, and then halves what it has stepped over.
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
