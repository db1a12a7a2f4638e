/**
 * Removes events that are too old to be listed. A wrong clock must not remove them: besides what `RemovalTime` does, a check
 * once an hour removes at most one day of events. So a clock that is wrong for less than an hour removes nothing, and one
 * that stays wrong removes a day of events an hour.
 */
import type { Database } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { RemovalTime } from "../../std/removal-time.ts";
import { readCuts, readFirstCut, removeRowsOfCuts, setFirstCut } from "../store.ts";

export interface RetentionOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** How long events are listed. */
  readonly keptMs: number;
  /** Of a monotonic clock. */
  readonly elapsedMs?: () => number;
}

const CHECK_EVERY_MS = 60 * 60 * 1_000;
const MOST_AT_A_CHECK_MS = 24 * 60 * 60 * 1_000;
/** Publishing waits for each removal: 50,000 events of orders take half a second. */
const CUTS_AT_ONCE = 1_000;
const EVENTS_AT_ONCE = 50_000;
const PAUSE_MS = 2_000;

export class Retention {
  readonly #options: Required<RetentionOptions>;
  readonly #time: RemovalTime;
  #dueMs = Number.NEGATIVE_INFINITY;
  /** The last check removes what is before. A time, and no number: after a restore the same numbers are given again. */
  #until = Number.NEGATIVE_INFINITY as Instant;

  constructor(options: RetentionOptions) {
    this.#options = { elapsedMs: () => performance.now(), ...options };
    this.#time = new RemovalTime(this.#options.clock, this.#options.elapsedMs);
  }

  /** Does what is due, if anything is: a check of the clock, or the removal of some cuts. */
  async run(): Promise<void> {
    const { elapsedMs } = this.#options;
    if (elapsedMs() < this.#dueMs) return;
    const now = this.#time.find();
    const isMore = now !== undefined && (await this.#remove(now));
    this.#dueMs = elapsedMs() + (isMore ? PAUSE_MS : CHECK_EVERY_MS);
  }

  /** @returns whether there is more to remove before the next check */
  async #remove(now: Instant): Promise<boolean> {
    const { database, keptMs } = this.#options;
    const [oldest] = await readCuts(database, await readFirstCut(database), 1);
    if (oldest === undefined) return false;
    if (oldest.at >= this.#until) this.#until = Math.min(now - keptMs, oldest.at + MOST_AT_A_CHECK_MS) as Instant;
    return oldest.at < this.#until && (await removeOldCuts(database, this.#until));
  }
}

/**
 * Says from where on events are listed and removes what is before, or neither: what stayed would never be looked at again.
 * Of each customer the last row stays, from which its numbers go on, and the last one of each object that may still change,
 * for its state. Which cuts these are is read in the same transaction, so in the same history of the database.
 *
 * @returns whether there is more to remove
 */
function removeOldCuts(database: Database, until: Instant): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const first = await readFirstCut(transaction);
    const old = (await readCuts(transaction, first, CUTS_AT_ONCE + 1)).filter(({ at }) => at < until);
    let [removed, events] = [0, 0];
    while (removed < Math.min(old.length, CUTS_AT_ONCE) && events < EVENTS_AT_ONCE) {
      events += old[removed]?.events ?? 0;
      removed += 1;
    }
    const last = old[removed - 1];
    if (last === undefined) return false;
    await setFirstCut(transaction, last.number + 1n);
    await removeRowsOfCuts(transaction, first, last.number, last.number + 1n);
    return removed < old.length;
  });
}
