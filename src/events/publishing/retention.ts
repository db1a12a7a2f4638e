/**
 * Removes events that are too old to be listed. A wrong clock must not remove them: besides what `RemovalTime` does, a check
 * once an hour removes at most one day of events. So a clock that is wrong for less than an hour removes nothing, and one
 * that stays wrong removes a day of events an hour.
 */
import type { Database } from "../../postgres/database.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { RemovalTime } from "../../std/removal-time.ts";
import { findCutAt, readCuts, readFirstCut, removeRowsOfCuts, setFirstCut } from "../store.ts";

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
  /** The first cut that the last check keeps. */
  #firstKept = 0n;

  constructor(options: RetentionOptions) {
    this.#options = { elapsedMs: () => performance.now(), ...options };
    this.#time = new RemovalTime(this.#options.clock, this.#options.elapsedMs);
  }

  /** Does what is due, if anything is: a check of the clock, or the removal of some cuts. */
  async run(): Promise<void> {
    const { database, elapsedMs } = this.#options;
    if (elapsedMs() < this.#dueMs) return;
    const first = await readFirstCut(database);
    if (this.#firstKept <= first) await this.#check(first);
    const isMore = await removeOldCuts(database, first, this.#firstKept);
    this.#dueMs = elapsedMs() + (isMore ? PAUSE_MS : CHECK_EVERY_MS);
  }

  async #check(first: bigint): Promise<void> {
    const { database, keptMs } = this.#options;
    const now = this.#time.find();
    const [oldest] = now === undefined ? [] : await readCuts(database, first, 1);
    if (now === undefined || oldest === undefined) return;
    const until = Math.min(now - keptMs, oldest.at + MOST_AT_A_CHECK_MS);
    this.#firstKept = await findCutAt(database, until as Instant);
  }
}

/**
 * Says from where on events are listed and removes what is before, or neither: what stayed would never be looked at again.
 * Of each customer the last row stays, from which its numbers go on, and the last one of each object that may still change,
 * for its state.
 *
 * @returns whether there is more to remove
 */
async function removeOldCuts(database: Database, first: bigint, wanted: bigint): Promise<boolean> {
  if (wanted <= first) return false;
  let [next, events] = [first, 0];
  for (const cut of await readCuts(database, first, CUTS_AT_ONCE)) {
    if (cut.number >= wanted || events >= EVENTS_AT_ONCE) break;
    next = cut.number + 1n;
    events += cut.events;
  }
  await database.transaction(async (transaction) => {
    await setFirstCut(transaction, next);
    await removeRowsOfCuts(transaction, first, next - 1n, next);
  });
  return next < wanted;
}
