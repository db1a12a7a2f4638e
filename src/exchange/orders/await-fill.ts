/**
 * Waits for orders to close, on behalf of callers who asked for that with `await_fill_millis`. The engine of this
 * process tells of what it has committed; orders that another node matches are asked for every 200 ms, all of them with
 * one statement, for as long as anybody waits. Waiting changes nothing, whatever becomes of it.
 */
import type { Queryable } from "../../postgres/database.ts";
import type { Order, OrderId } from "../order.ts";
import { findOrderOfCustomer, listClosed } from "./store.ts";

const POLL_MS = 200;
/** Callers that wait at once. Whoever comes on top is answered without waiting. */
const MAX_WAITING = 1_000;
/** What of it one customer may take: who waits for a thousand orders of his own must not end the waiting of others. */
const SHARE_OF_ONE = 1 / 4;

interface FillWaiter {
  readonly order: Order;
  /** Ends the waiting; with the order when that has closed. */
  readonly end: (closed: Order | undefined) => void;
}

export class FillWaiters {
  readonly #database: Queryable;
  readonly #most: number;
  /** An order is waited for by whoever placed it, so by one caller at most. */
  readonly #waiters = new Map<OrderId, FillWaiter>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(database: Queryable, most = MAX_WAITING) {
    this.#database = database;
    this.#most = most;
  }

  /** The order as it is when it has closed, when the time is up, or when the signal says that nobody waits any more. */
  async untilClosed(order: Order, millis: number, signal: AbortSignal): Promise<Order> {
    if (order.closedAt !== undefined || millis === 0 || signal.aborted || this.#isFullFor(order)) return order;
    const closed = await this.#wait(order, millis, signal);
    if (closed !== undefined) return closed;
    return signal.aborted ? order : this.#readCurrent(order);
  }

  /** Told of orders that changed, once that is durable. */
  onCommitted(orders: readonly Order[]): void {
    for (const order of orders) if (order.closedAt !== undefined) this.#waiters.get(order.id)?.end(order);
  }

  /** Ends all waiting: the callers are answered at once. */
  stop(): void {
    for (const { end } of [...this.#waiters.values()]) end(undefined);
  }

  #isFullFor({ customerId }: Order): boolean {
    if (this.#waiters.size >= this.#most) return true;
    let own = 0;
    for (const { order } of this.#waiters.values()) if (order.customerId === customerId) own += 1;
    return own >= Math.ceil(this.#most * SHARE_OF_ONE);
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
      // The database is away: whoever waits is told what is known when the time is up.
    }
    this.#isPolling = false;
  }

  /** The order was placed, so its caller hears of it even when the database cannot be asked now. */
  async #readCurrent(order: Order): Promise<Order> {
    const now = await findOrderOfCustomer(this.#database, order.customerId, order.id).catch(() => undefined);
    return now ?? order;
  }
}
