/**
 * The untriggered stop orders. Each side is an array sorted so that the next stop to trigger is at its end: the sell with
 * the highest stop price, the buy with the lowest, and the oldest among equals.
 */
import { assert, must } from "../../std/assert.ts";
import { CustomerCounts } from "./customer-counts.ts";
import type { BookOrderId, Price, StopOrder } from "./order.ts";

/** Whether the last execution price triggers a stop. Before the first execution nothing does. */
export function isThrough(stop: StopOrder, last: Price | undefined): boolean {
  if (last === undefined) return false;
  return stop.side === "SELL" ? last <= stop.stopPrice : last >= stop.stopPrice;
}

export class WaitingStops {
  readonly #byId = new Map<BookOrderId, StopOrder>();
  readonly #buys: StopOrder[] = [];
  readonly #sells: StopOrder[] = [];
  readonly #customers = new CustomerCounts();

  get size(): number {
    return this.#byId.size;
  }

  countOf(customer: string): number {
    return this.#customers.of(customer);
  }

  has(id: BookOrderId): boolean {
    return this.#byId.has(id);
  }

  add(stop: StopOrder): void {
    const queue = this.#queueOf(stop);
    queue.splice(countAfter(queue, stop), 0, stop);
    this.#byId.set(stop.id, stop);
    this.#customers.add(stop.customer);
  }

  /** @returns false if the stop is not waiting here */
  remove(id: BookOrderId): boolean {
    const stop = this.#byId.get(id);
    if (stop === undefined) return false;
    const queue = this.#queueOf(stop);
    const index = countAfter(queue, stop);
    assert(queue[index] === stop, "a waiting stop is in the queue of its side");
    queue.splice(index, 1);
    this.#forget(stop);
    return true;
  }

  hasDue(last: Price | undefined): boolean {
    return nextDue(this.#sells, last) !== undefined || nextDue(this.#buys, last) !== undefined;
  }

  /** Removes and returns the next due stop: with one due on each side, the one with the lower sequence. */
  takeDue(last: Price | undefined): StopOrder | undefined {
    const sell = nextDue(this.#sells, last);
    const buy = nextDue(this.#buys, last);
    const due = sell !== undefined && buy !== undefined ? older(sell, buy) : (sell ?? buy);
    if (due === undefined) return undefined;
    this.#queueOf(due).pop();
    this.#forget(due);
    return due;
  }

  /** The sells, then the buys, each in trigger order. */
  list(): StopOrder[] {
    return [...this.#sells.toReversed(), ...this.#buys.toReversed()];
  }

  #forget(stop: StopOrder): void {
    this.#byId.delete(stop.id);
    this.#customers.remove(stop.customer);
  }

  #queueOf(stop: StopOrder): StopOrder[] {
    return stop.side === "SELL" ? this.#sells : this.#buys;
  }
}

function nextDue(queue: readonly StopOrder[], last: Price | undefined): StopOrder | undefined {
  const next = queue.at(-1);
  return next !== undefined && isThrough(next, last) ? next : undefined;
}

const older = (a: StopOrder, b: StopOrder): StopOrder => (a.sequence < b.sequence ? a : b);

/** The number of stops of its side that trigger after this one: its index in the queue, or where it belongs. */
function countAfter(queue: readonly StopOrder[], stop: StopOrder): number {
  let start = 0;
  let end = queue.length;
  while (start < end) {
    const middle = (start + end) >>> 1;
    if (triggersBefore(stop, must(queue[middle], "the middle is within the queue"))) start = middle + 1;
    else end = middle;
  }
  return start;
}

function triggersBefore(a: StopOrder, b: StopOrder): boolean {
  if (a.stopPrice === b.stopPrice) return a.sequence < b.sequence;
  return a.side === "SELL" ? a.stopPrice > b.stopPrice : a.stopPrice < b.stopPrice;
}
