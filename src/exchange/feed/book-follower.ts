/**
 * Follows the book of one market through the changes that its engine has stored, wherever that runs.
 *
 * States:
 *   unread     the book has to be read: all levels, and the number as of which they are.
 *   following  changes with the numbers that come next are applied and told.
 *   behind     the head is further on than the changes that are there. They are waited for, for a while: a change is
 *              stored a moment after its round has committed, and the one of an engine that died never is.
 *   lost       the wait was in vain; or the head is behind this copy, which only a database that was set back can do; or
 *              the database was away, and may have been set back and gone on past this copy. The book is read again, and
 *              what is different from the copy is told as one change.
 *
 *   unread -> following -> behind -> following, following and behind -> lost -> following
 */
import type { Instant } from "../../std/clock.ts";
import type { OrderBook } from "../market-data/store.ts";
import { Audience } from "./audience.ts";
import type { LevelChange } from "./book-change.ts";
import { BookCopy } from "./book-copy.ts";
import type { FoundChanges } from "./feed-store.ts";

/** What has become of the book: new totals, all of the same moment. None: the book is known from now on. */
export interface BookNews {
  readonly number: bigint;
  readonly levels: readonly LevelChange[];
}

export class BookFollower {
  readonly audience = new Audience<BookNews | undefined>();
  readonly #gapTimeoutMs: number;
  #copy: BookCopy | undefined;
  #isLost = false;
  #behindSince: Instant | undefined;

  /** `gapTimeoutMs`: for how long it waits for a change that ought to be there. */
  constructor(gapTimeoutMs: number) {
    this.#gapTimeoutMs = gapTimeoutMs;
  }

  /** Undefined until it was read. */
  get state(): OrderBook | undefined {
    return this.#copy?.book();
  }

  /** The number behind which changes are looked for; undefined when the book has to be read. */
  get after(): bigint | undefined {
    return this.#isLost ? undefined : this.#copy?.number;
  }

  /** The book as it was read. */
  read(book: OrderBook): void {
    this.#isLost = false;
    this.#behindSince = undefined;
    if (this.#copy === undefined) {
      this.#copy = new BookCopy(book);
      this.audience.notify(undefined);
    } else {
      this.#notify(book.number, this.#copy.replace(book));
    }
  }

  /** What was found behind the number asked for. */
  take({ head, changes }: FoundChanges, now: Instant): void {
    const copy = this.#copy;
    if (copy === undefined || this.#isLost) return;
    for (const change of changes) {
      if (change.number !== copy.number + 1n) break;
      this.#behindSince = undefined;
      this.#notify(change.number, copy.apply(change));
    }
    if (head === copy.number) this.#behindSince = undefined;
    else this.#behindSince ??= now;
    const waited = this.#behindSince === undefined ? 0 : now - this.#behindSince;
    this.#isLost = head < copy.number || waited > this.#gapTimeoutMs;
  }

  /** The database was away: the numbers that it gives now may be other ones. */
  invalidate(): void {
    this.#isLost = this.#copy !== undefined;
  }

  #notify(number: bigint, levels: readonly LevelChange[]): void {
    if (levels.length > 0) this.audience.notify({ number, levels });
  }
}
