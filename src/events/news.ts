/**
 * Notifies readers on this node that there may be new events of their customer. While somebody waits, the last cut is read
 * every 25 ms, with one statement for all; a publisher in the same process has it read at once.
 */
import type { CustomerId } from "../customers/customer-id.ts";
import type { Queryable } from "../postgres/database.ts";
import { WakeSignal } from "../std/wake-signal.ts";
import { findCustomersWithNews, findLastCut } from "./store.ts";

const POLL_MS = 25;
const FAILURE_PAUSE_MS = 500;

export class News {
  readonly #database: Queryable;
  readonly #listeners = new Map<CustomerId, Set<() => void>>();
  readonly #published = new WakeSignal();
  #isRunning = false;
  /** The last cut that listeners were notified of; undefined: all are notified. */
  #seen: bigint | undefined;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** @returns a function that removes the listener */
  listen(customerId: CustomerId, listener: () => void): () => void {
    const listeners = this.#listeners.get(customerId) ?? new Set();
    this.#listeners.set(customerId, listeners.add(listener));
    if (!this.#isRunning) void this.#run();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(customerId) === listeners) this.#listeners.delete(customerId);
    };
  }

  /** A publisher of this process has written a cut. */
  published(): void {
    this.#published.notify();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    this.#seen = undefined;
    while (this.#listeners.size > 0) {
      try {
        await this.#look();
        await this.#published.wait(POLL_MS);
      } catch {
        // The database is away: readers find out by themselves.
        await this.#published.wait(FAILURE_PAUSE_MS);
      }
    }
    this.#isRunning = false;
  }

  async #look(): Promise<void> {
    const listening = [...this.#listeners.keys()];
    const last = (await findLastCut(this.#database))?.number ?? 0n;
    const seen = this.#seen;
    this.#seen = last;
    // Who began to listen before the first look may have missed what is in it.
    if (seen === undefined) return this.#notify(listening);
    if (last > seen) this.#notify(await findCustomersWithNews(this.#database, listening, seen + 1n, last));
  }

  #notify(customers: readonly CustomerId[]): void {
    for (const customerId of customers) for (const listener of this.#listeners.get(customerId) ?? []) listener();
  }
}
