/**
 * Stores the order book changes of this process's engines, for followers on all nodes. It runs asynchronously and never
 * delays the engines: changes that arrive during a write are written together next, and changes beyond the bounds or
 * that cannot be written are dropped, as are those that waited while another server took over, which may not have them.
 * Followers detect the missing version.
 */
import { DatabaseAway, type QueryableWithHistory } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import type { BookChange } from "./book-change.ts";
import { addChanges, type CommittedChange, removeChanges } from "./store.ts";

export interface BookRecorderOptions {
  readonly database: QueryableWithHistory;
  /** Monotonic. */
  readonly clock: Clock;
  readonly onWritten: () => void;
  readonly onFault: (error: Error) => void;
}

const MAX_PENDING = 5_000;
/** Levels of all pending changes: one change may have thousands. */
const MAX_PENDING_LEVELS = 100_000;
const MAX_AT_ONCE = 500;
/** Followers are behind by a second at most, or read the book again. */
const KEPT_MS = 10 * 60_000;
const REMOVE_EVERY_MS = 20_000;
/** Per market and removal. */
const MAX_REMOVED = 10_000;

export class BookRecorder {
  readonly #options: BookRecorderOptions;
  #pending: CommittedChange[] = [];
  #pendingLevels = 0;
  #isWriting = false;
  #removedAt: Instant;

  constructor(options: BookRecorderOptions) {
    this.#options = options;
    this.#removedAt = options.clock.now();
  }

  record(change: BookChange): void {
    if (this.#pending.length >= MAX_PENDING || this.#pendingLevels >= MAX_PENDING_LEVELS) return;
    this.#pending.push({ ...change, history: this.#options.database.history });
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

  /** Runs after writes only: where nothing is added, nothing has to be removed. */
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
      // If the database is away, the engines report it.
      if (!(error instanceof DatabaseAway)) this.#options.onFault(error as Error);
    }
  }
}
