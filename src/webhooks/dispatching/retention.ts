/**
 * Removes attempts that are older than 30 days, rows of deleted webhooks, and what was given up of events that are no longer
 * kept: once an hour, in bounded steps. A wrong clock removes no attempts before an hour has passed (`RemovalTime`).
 */
import type { Instant } from "../../std/clock.ts";
import { RemovalTime } from "../../std/removal-time.ts";
import {
  listCustomersWithUndelivered,
  removeOldAttempts,
  removeRowsOfDeleted,
  removeUndeliveredBefore,
} from "../store.ts";
import type { DispatcherOptions } from "./options.ts";

const HOUR_MS = 60 * 60 * 1_000;
const KEPT_MS = 30 * 24 * HOUR_MS;
const ROWS_AT_ONCE = 5_000;
const PAUSE_MS = 5_000;

export interface RetentionOptions extends Pick<DispatcherOptions, "database" | "clock" | "events"> {
  /** Of a monotonic clock. */
  readonly elapsedMs?: (() => number) | undefined;
}

export class Retention {
  readonly #options: RetentionOptions;
  readonly #elapsedMs: () => number;
  readonly #time: RemovalTime;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#elapsedMs = options.elapsedMs ?? (() => performance.now());
    this.#time = new RemovalTime(options.clock, this.#elapsedMs);
  }

  /** Does what is due, if anything is. */
  async run(): Promise<void> {
    if (this.#elapsedMs() < this.#dueMs) return;
    const { database, events } = this.#options;
    const now = this.#time.find();
    const before = now === undefined ? undefined : ((now - KEPT_MS) as Instant);
    const attempts = before === undefined ? 0 : await removeOldAttempts(database.commits, before, ROWS_AT_ONCE);
    const rows = await removeRowsOfDeleted(database.commits, ROWS_AT_ONCE);
    this.#dueMs = this.#elapsedMs() + (attempts < ROWS_AT_ONCE && rows < ROWS_AT_ONCE ? HOUR_MS : PAUSE_MS);
    const { history } = database;
    for (const customerId of await listCustomersWithUndelivered(database)) {
      const { first, last } = await events.bounds(customerId);
      // Of a customer to whom nothing has happened for so long no event is kept.
      const firstKept = first === 0n ? last + 1n : first;
      if (firstKept > 1n) await removeUndeliveredBefore(database.commits, history, customerId, firstKept);
    }
  }
}
