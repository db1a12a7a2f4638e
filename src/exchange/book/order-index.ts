/**
 * Finds a resting order by its id. Most orders are short-lived, while a deep book has many that stay. Recent orders are
 * therefore in a small map that fits the processor's cache, and are promoted to a large one when they stay. (A single
 * map makes a book with 100,000 orders more than twice as slow.)
 */
import { assert } from "../../std/assert.ts";
import type { Resting } from "./book-side.ts";
import type { BookOrderId } from "./order.ts";

/** At this size of the small map, its older half is promoted. */
const MAX_RECENT = 4_096;

export class OrderIndex {
  readonly #recent = new Map<BookOrderId, Resting>();
  readonly #older = new Map<BookOrderId, Resting>();

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  get(id: BookOrderId): Resting | undefined {
    return this.#recent.get(id) ?? this.#older.get(id);
  }

  has(id: BookOrderId): boolean {
    return this.#recent.has(id) || this.#older.has(id);
  }

  /** Checks the small map only, which is cheap. A duplicate of an older order is detected on promotion. */
  hasRecent(id: BookOrderId): boolean {
    return this.#recent.has(id);
  }

  add(order: Resting): void {
    this.#recent.set(order.id, order);
    if (this.#recent.size >= MAX_RECENT) this.#promote();
  }

  delete(id: BookOrderId): void {
    if (!this.#recent.delete(id)) this.#older.delete(id);
  }

  /** Maps iterate in insertion order. */
  #promote(): void {
    for (const [id, order] of this.#recent) {
      if (this.#recent.size <= MAX_RECENT / 2) break;
      assert(!this.#older.has(id), "an order rests once");
      this.#recent.delete(id);
      this.#older.set(id, order);
    }
  }
}
