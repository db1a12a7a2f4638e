/**
 * Finds a resting order by its id. Most orders that come soon go again, while a deep book has many that stay: so those
 * that came lately are in a small map of their own, which stays in the processor's cache, and move to the large one
 * when they have stayed for a while. (One map for all makes a book with 100,000 orders take more than twice the time.)
 */
import { assert } from "../../std/assert.ts";
import type { Resting } from "./book-side.ts";
import type { BookOrderId } from "./order.ts";

/** When so many have come lately, the older half of them moves. */
const MOST_RECENT = 4_096;

export class OrderIndex {
  readonly #recent = new Map<BookOrderId, Resting>();
  readonly #settled = new Map<BookOrderId, Resting>();

  get size(): number {
    return this.#recent.size + this.#settled.size;
  }

  get(id: BookOrderId): Resting | undefined {
    return this.#recent.get(id) ?? this.#settled.get(id);
  }

  has(id: BookOrderId): boolean {
    return this.#recent.has(id) || this.#settled.has(id);
  }

  /** Looks at those that came lately only: that is cheap, and a doubled order that stays is found when it moves. */
  hasRecent(id: BookOrderId): boolean {
    return this.#recent.has(id);
  }

  add(order: Resting): void {
    this.#recent.set(order.id, order);
    if (this.#recent.size >= MOST_RECENT) this.#settle();
  }

  delete(id: BookOrderId): void {
    if (!this.#recent.delete(id)) this.#settled.delete(id);
  }

  /** A map gives its entries in the order in which they came. */
  #settle(): void {
    for (const [id, order] of this.#recent) {
      if (this.#recent.size <= MOST_RECENT / 2) break;
      assert(!this.#settled.has(id), "an order rests once");
      this.#recent.delete(id);
      this.#settled.set(id, order);
    }
  }
}
