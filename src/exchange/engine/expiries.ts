/**
 * The expiry times of a book's orders: a min-heap with lazy deletion. It is compacted when most of its entries have been
 * removed, so that short-lived orders do not accumulate.
 */
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { CustomerCounts } from "../book/customer-counts.ts";
import type { BookOrderId } from "../book/order.ts";

interface Expiry {
  readonly order: BookOrderId;
  readonly at: Instant;
}

const SMALL = 64;

export class Expiries {
  /** The orders that are to expire, with their customers. */
  readonly #valid = new Map<BookOrderId, string>();
  readonly #counts = new CustomerCounts();
  #heap: Expiry[] = [];

  add(order: BookOrderId, customer: string, at: Instant): void {
    this.#valid.set(order, customer);
    this.#counts.add(customer);
    this.#heap.push({ order, at });
    this.#siftUp(this.#heap.length - 1);
  }

  remove(order: BookOrderId): void {
    this.#forget(order);
    if (this.#heap.length > SMALL + 2 * this.#valid.size) this.#compact();
  }

  /** How many orders of the customer are to expire, or have expired and are not removed yet. */
  countOf(customer: string): number {
    return this.#counts.of(customer);
  }

  isDue(now: Instant): boolean {
    for (let first = this.#heap[0]; first !== undefined && first.at <= now; first = this.#heap[0]) {
      if (this.#valid.has(first.order)) return true;
      this.#takeFirst();
    }
    return false;
  }

  /** Returns due orders that were not returned before, earliest first. They are counted until they are removed. */
  takeDue(now: Instant, most: number): BookOrderId[] {
    const due: BookOrderId[] = [];
    while (due.length < most && this.isDue(now)) {
      due.push(this.#takeFirst().order);
    }
    return due;
  }

  #forget(order: BookOrderId): void {
    const customer = this.#valid.get(order);
    if (customer === undefined) return;
    this.#valid.delete(order);
    this.#counts.remove(customer);
  }

  #takeFirst(): Expiry {
    const first = must(this.#heap[0], "there is an expiry to take");
    const last = must(this.#heap.pop(), "there is an expiry to take");
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#siftDown(0);
    }
    return first;
  }

  #compact(): void {
    this.#heap = this.#heap.filter(({ order }) => this.#valid.has(order)).sort((a, b) => a.at - b.at);
  }

  #siftUp(from: number): void {
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.#at(parent) <= this.#at(i)) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  #siftDown(from: number): void {
    let i = from;
    for (;;) {
      let earliest = i;
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < this.#heap.length && this.#at(child) < this.#at(earliest)) earliest = child;
      }
      if (earliest === i) return;
      this.#swap(i, earliest);
      i = earliest;
    }
  }

  #at(i: number): Instant {
    return must(this.#heap[i], "the index is within the heap").at;
  }

  #swap(i: number, j: number): void {
    const [a, b] = [this.#heap[i], this.#heap[j]];
    this.#heap[i] = must(b, "the index is within the heap");
    this.#heap[j] = must(a, "the index is within the heap");
  }
}
