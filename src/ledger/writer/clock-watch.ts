import type { Queryable } from "../../postgres/database.ts";
import { pause } from "../../std/pause.ts";
import type { DatabaseComparedClock } from "../compared-clock.ts";
import { readDatabaseTime } from "./lane-connection.ts";
import type { LaneEvent } from "./lane-options.ts";

/** How often a correct clock is compared with the database's. */
const MEASURE_EVERY_MS = 1_000;
const POLL_MS = 50;

/**
 * Measures a running lane's clock, and logs when it becomes wrong or right again. A clock that has just become wrong is
 * measured at once: the database's clock may have been set, and ours with it.
 */
export class ClockWatch {
  readonly #database: Queryable;
  readonly #clock: DatabaseComparedClock;
  readonly #log: (event: LaneEvent) => void;
  #measuring = false;
  #measuredMs = performance.now();
  #wasWrong = false;

  constructor(database: Queryable, clock: DatabaseComparedClock, log: (event: LaneEvent) => void) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
  }

  check(): void {
    const { fault } = this.#clock;
    const isWrong = fault !== undefined;
    if (isWrong || performance.now() - this.#measuredMs >= MEASURE_EVERY_MS) void this.#measure();
    if (isWrong === this.#wasWrong) return;
    this.#wasWrong = isWrong;
    this.#log(isWrong ? { kind: "clock_wrong", fault } : { kind: "clock_right" });
  }

  /** Waits while the clock is wrong and `isAwaited` holds. */
  async untilRight(isAwaited: () => boolean): Promise<void> {
    while (this.#clock.fault !== undefined && isAwaited()) await pause(POLL_MS);
  }

  async #measure(): Promise<void> {
    if (this.#measuring) return;
    this.#measuring = true;
    this.#measuredMs = performance.now();
    try {
      await this.#clock.measure(() => readDatabaseTime(this.#database));
    } catch {
      // The earlier measurement still holds, and the next batch will notice that the database is away.
    } finally {
      this.#measuring = false;
    }
  }
}
