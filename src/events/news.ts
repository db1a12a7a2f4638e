/**
 * Notifies readers on this node that there may be new events of their customer. A publisher in the same process says for
 * whom. Otherwise the last cut is read every 25 ms while somebody waits, with one statement for all.
 */
import type { CustomerId } from "../customers/customer-id.ts";
import type { QueryableWithHistory } from "../postgres/database.ts";
import { WakeSignal } from "../std/wake-signal.ts";
import { findCustomersWithNews, findLastCut } from "./store.ts";

const POLL_MS = 25;
/** While this process publishes: the lease may pass to another one at any time. */
const POLL_OF_PUBLISHER_MS = 500;
const FAILURE_PAUSE_MS = 500;

export class News {
  readonly #database: QueryableWithHistory;
  readonly #listeners = new Map<CustomerId, Set<() => void>>();
  readonly #published = new WakeSignal();
  /** Whether this process has the lease of the publisher. */
  isPublishing = false;
  #isRunning = false;
  /** The last cut that listeners were notified of; undefined: all are notified. */
  #seen: bigint | undefined;
  /** That in which it was read: in another one its number may be given anew. */
  #history = "";

  constructor(database: QueryableWithHistory) {
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

  /** A publisher of this process has written a cut, with events of these customers. */
  published(cut: bigint, customers: Iterable<CustomerId>): void {
    if (this.#seen !== undefined && cut === this.#seen + 1n) {
      this.#seen = cut;
      this.#notify(customers);
    } else this.#published.notify();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    this.#seen = undefined;
    while (this.#listeners.size > 0) {
      try {
        await this.#look();
        await this.#published.wait(this.isPublishing ? POLL_OF_PUBLISHER_MS : POLL_MS);
      } catch {
        // The database is away: readers find out by themselves.
        await this.#published.wait(FAILURE_PAUSE_MS);
      }
    }
    this.#isRunning = false;
  }

  async #look(): Promise<void> {
    const { history } = this.#database;
    const last = (await findLastCut(this.#database))?.number ?? 0n;
    if (history !== this.#history) this.#seen = undefined;
    this.#history = history;
    const seen = this.#seen;
    // Not before: who has begun to listen meanwhile may have read what there was before this cut.
    const listening = [...this.#listeners.keys()];
    if (seen !== undefined && last <= seen) return;
    // Who began to listen before the first look may have missed what is in it.
    const readers =
      seen === undefined ? listening : await findCustomersWithNews(this.#database, listening, seen + 1n, last);
    // The publisher of this process may have gone on meanwhile.
    if (this.#seen === undefined || last > this.#seen) this.#seen = last;
    this.#notify(readers);
  }

  #notify(customers: Iterable<CustomerId>): void {
    for (const customerId of customers) for (const listener of this.#listeners.get(customerId) ?? []) listener();
  }
}
