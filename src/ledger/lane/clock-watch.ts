import type { Queryable } from "../../postgres/database.ts";
import { pause } from "../../std/pause.ts";
import type { LedgerClock } from "../ledger-clock.ts";
import { readDatabaseTime } from "./lane-connection.ts";
import type { LaneEvent } from "./lane-options.ts";

/** How often a clock that is right is compared with the database's. */
const MEASURED_EVERY_MS = 1_000;
const LOOKED_AT_MS = 50;

/**
 * Keeps a running lane's clock measured, and tells when it has become wrong or right. It is looked at ten times a second. A
 * clock that has just become wrong is measured at once: it may be the database's that was set, and ours with it.
 */
export class ClockWatch {
  readonly #database: Queryable;
  readonly #clock: LedgerClock;
  readonly #tell: (event: LaneEvent) => void;
  #measuring = false;
  #measuredMs = performance.now();
  #wasWrong = false;

  constructor(database: Queryable, clock: LedgerClock, tell: (event: LaneEvent) => void) {
    this.#database = database;
    this.#clock = clock;
    this.#tell = tell;
  }

  look(): void {
    const { fault } = this.#clock;
    const isWrong = fault !== undefined;
    if (isWrong || performance.now() - this.#measuredMs >= MEASURED_EVERY_MS) void this.#measure();
    if (isWrong === this.#wasWrong) return;
    this.#wasWrong = isWrong;
    this.#tell(isWrong ? { kind: "clock_wrong", fault } : { kind: "clock_right" });
  }

  /** Waits while the clock is wrong, for as long as there is somebody to wait for. */
  async untilRight(isAwaited: () => boolean): Promise<void> {
    while (this.#clock.fault !== undefined && isAwaited()) await pause(LOOKED_AT_MS);
  }

  async #measure(): Promise<void> {
    if (this.#measuring) return;
    this.#measuring = true;
    this.#measuredMs = performance.now();
    try {
      await this.#clock.measure(() => readDatabaseTime(this.#database));
    } catch {
      // The database is away: what was measured before holds, and the next batch finds out.
    } finally {
      this.#measuring = false;
    }
  }
}
