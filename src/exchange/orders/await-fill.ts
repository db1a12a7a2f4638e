/**
 * Waits for orders to close, for requests with `await_fill_millis`. The engines of this process report what they have
 * committed; orders that other nodes match are polled every 200 ms with one statement, while there are waiters. Waiting
 * never changes an order.
 */
import type { Queryable } from "../../postgres/database.ts";
import type { Order, OrderId } from "../order.ts";
import { findOrderOfCustomer, listClosed } from "./store.ts";

const POLL_MS = 200;
/** Maximum number of waiters. Beyond it, requests do not wait. */
const MAX_WAITING = 1_000;
/** One customer's maximum share of the waiters, so that it cannot crowd out the others. */
const SHARE_OF_ONE = 1 / 4;

interface FillWaiter {
  readonly order: Order;
  /** Ends the wait, with the order if it has closed. */
  readonly end: (closed: Order | undefined) => void;
}

export class FillWaiters {
  readonly #database: Queryable;
  readonly #max: number;
  /** Only the request that placed an order waits for it, so each has one waiter at most. */
  readonly #waiters = new Map<OrderId, FillWaiter>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(database: Queryable, max = MAX_WAITING) {
    this.#database = database;
    this.#max = max;
  }

  /** The order as it is when it has closed, after `millis` ms, or when the signal is aborted. */
  async untilClosed(order: Order, millis: number, signal: AbortSignal): Promise<Order> {
    if (order.closedAt !== undefined || millis === 0 || signal.aborted || this.#isFullFor(order)) return order;
    const closed = await this.#wait(order, millis, signal);
    if (closed !== undefined) return closed;
    return signal.aborted ? order : this.#readCurrent(order);
  }

  /** These orders changed, durably. */
  onCommitted(orders: readonly Order[]): void {
    for (const order of orders) if (order.closedAt !== undefined) this.#waiters.get(order.id)?.end(order);
  }

  stop(): void {
    for (const { end } of [...this.#waiters.values()]) end(undefined);
  }

  #isFullFor({ customerId }: Order): boolean {
    if (this.#waiters.size >= this.#max) return true;
    let own = 0;
    for (const { order } of this.#waiters.values()) if (order.customerId === customerId) own += 1;
    return own >= Math.ceil(this.#max * SHARE_OF_ONE);
  }

  #wait(order: Order, millis: number, signal: AbortSignal): Promise<Order | undefined> {
    return new Promise((resolve) => {
      const end = (closed: Order | undefined): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        this.#waiters.delete(order.id);
        if (this.#waiters.size === 0) this.#stopPolling();
        resolve(closed);
      };
      const giveUp = (): void => end(undefined);
      const timer = setTimeout(giveUp, millis);
      signal.addEventListener("abort", giveUp);
      this.#waiters.set(order.id, { order, end });
      this.#timer ??= setInterval(() => void this.#poll(), POLL_MS);
    });
  }

  #stopPolling(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      this.onCommitted(
        await listClosed(
          this.#database,
          [...this.#waiters.values()].map(({ order }) => order),
        ),
      );
    } catch {
      // The database is away: waiters return what is known when their time is up.
    }
    this.#isPolling = false;
  }

  /** Falls back to the order as it was placed, because the request succeeded even if the database is now away. */
  async #readCurrent(order: Order): Promise<Order> {
    const now = await findOrderOfCustomer(this.#database, order.customerId, order.id).catch(() => undefined);
    return now ?? order;
  }
}
