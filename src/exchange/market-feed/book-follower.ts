/**
 * Follows the order book of one market through the changes that its engine, on any node, has stored.
 *
 * States:
 *   unread     the book must be read: all levels and their version.
 *   following  changes with the next versions are applied and reported.
 *   behind     the head's version is ahead of the stored changes. They are awaited for a while: a change is stored shortly
 *              after its round has committed, or never if its engine died.
 *   lost       the wait timed out; or the head is behind this copy; or this copy is of a former history of the database. The
 *              book is read again, and its differences from the copy are reported as one change.
 *
 *   unread -> following -> behind -> following, following and behind -> lost -> following
 */
import type { Instant } from "../../std/clock.ts";
import type { OrderBook } from "../market-data/store.ts";
import type { LevelChange } from "./book-change.ts";
import { BookCopy } from "./book-copy.ts";
import { Listeners } from "./listeners.ts";
import type { FoundChanges } from "./store.ts";

/** New totals at one version. Listeners receive undefined when the book has been read for the first time. */
export interface BookNews {
  readonly version: bigint;
  readonly levels: readonly LevelChange[];
}

export class BookFollower {
  readonly listeners = new Listeners<BookNews | undefined>();
  readonly #gapTimeoutMs: number;
  #copy: BookCopy | undefined;
  #isLost = false;
  #behindSince: Instant | undefined;

  /** @param gapTimeoutMs how long it waits for a missing change */
  constructor(gapTimeoutMs: number) {
    this.#gapTimeoutMs = gapTimeoutMs;
  }

  /** Undefined until it has been read. */
  get state(): OrderBook | undefined {
    return this.#copy?.book();
  }

  /** The version after which changes are needed; undefined when the book must be read. */
  get after(): bigint | undefined {
    return this.#isLost ? undefined : this.#copy?.version;
  }

  read(book: OrderBook): void {
    this.#isLost = false;
    this.#behindSince = undefined;
    if (this.#copy === undefined) {
      this.#copy = new BookCopy(book);
      this.listeners.notify(undefined);
    } else {
      this.#notify(book.version, this.#copy.replace(book));
    }
  }

  /** Takes the changes that were found after `after`. */
  take({ head, changes }: FoundChanges, now: Instant): void {
    const copy = this.#copy;
    if (copy === undefined || this.#isLost) return;
    for (const change of changes) {
      if (change.version !== copy.version + 1n) break;
      this.#behindSince = undefined;
      this.#notify(change.version, copy.apply(change));
    }
    if (head === copy.version) this.#behindSince = undefined;
    else this.#behindSince ??= now;
    const waited = this.#behindSince === undefined ? 0 : now - this.#behindSince;
    this.#isLost = head < copy.version || waited > this.#gapTimeoutMs;
  }

  /** The database has another history now: its versions may stand for other changes. */
  invalidate(): void {
    this.#isLost = this.#copy !== undefined;
  }

  #notify(version: bigint, levels: readonly LevelChange[]): void {
    if (levels.length > 0) this.listeners.notify({ version, levels });
  }
}
