/**
 * Stores what the engines of this process change on their books, for all nodes that follow one. It works behind the
 * engines and never holds them up: what comes while a write is under way goes into the next one together, and what
 * there is no room for, or cannot be written, is dropped. Whoever follows the book sees that a number is missing.
 */
import { type Database, DatabaseAway } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import type { BookChange } from "./book-change.ts";
import { addChanges, removeChanges } from "./feed-store.ts";

export interface BookRecorderOptions {
  readonly database: Pick<Database, "rows">;
  /** Never steps: it measures waits. */
  readonly clock: Clock;
  /** Told after each write. */
  readonly onWritten: () => void;
  readonly onFault: (error: Error) => void;
}

const MAX_PENDING = 5_000;
/** Of all changes that wait: one change may have thousands. */
const MAX_PENDING_LEVELS = 100_000;
const MAX_AT_ONCE = 500;
/** Those who follow a book are behind by a second at most, or read it anew. */
const KEPT_MS = 10 * 60_000;
const REMOVE_EVERY_MS = 20_000;
/** Of each market at a time. */
const MAX_REMOVED = 10_000;

export class BookRecorder {
  readonly #options: BookRecorderOptions;
  #pending: BookChange[] = [];
  #pendingLevels = 0;
  #isWriting = false;
  #removedAt: Instant;

  constructor(options: BookRecorderOptions) {
    this.#options = options;
    this.#removedAt = options.clock.now();
  }

  record(change: BookChange): void {
    if (this.#pending.length >= MAX_PENDING || this.#pendingLevels >= MAX_PENDING_LEVELS) return;
    this.#pending.push(change);
    this.#pendingLevels += change.levels.length;
    if (!this.#isWriting) void this.#write();
  }

  async #write(): Promise<void> {
    const { database, onWritten } = this.#options;
    this.#isWriting = true;
    while (this.#pending.length > 0) {
      const changes = this.#pending.slice(0, MAX_AT_ONCE);
      this.#pending = this.#pending.slice(MAX_AT_ONCE);
      for (const { levels } of changes) this.#pendingLevels -= levels.length;
      await this.#attempt(() => addChanges(database, changes));
      onWritten();
      await this.#removeOld();
    }
    this.#isWriting = false;
  }

  /** Whoever adds clears away, so where nothing is added nothing has to. */
  async #removeOld(): Promise<void> {
    const { database, clock } = this.#options;
    const now = clock.now();
    if (now - this.#removedAt < REMOVE_EVERY_MS) return;
    this.#removedAt = now;
    await this.#attempt(() => removeChanges(database, KEPT_MS, MAX_REMOVED));
  }

  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // When the database is away the engines find out, and say so.
      if (!(error instanceof DatabaseAway)) this.#options.onFault(error as Error);
    }
  }
}
