/** While the database is away: what is retried until it responds, and what becomes of commands meanwhile. */
import { asFault, awayReason, DatabaseAway, serverError } from "../../postgres/database.ts";
import { pause } from "../../std/pause.ts";
import type { AdmissionControl } from "./command-admission.ts";
import type { CommandQueue } from "./command-queue.ts";
import { LaneClosed } from "./lane-connection.ts";
import { type LaneOptions, LIMITS } from "./lane-options.ts";

export class DatabaseOutage {
  readonly #log: LaneOptions["log"];
  readonly #queue: Pick<CommandQueue, "takeAll">;
  readonly #admission: Pick<AdmissionControl, "failAll">;
  readonly #isClosed: () => boolean;
  #fault: Error | undefined;

  constructor(
    log: LaneOptions["log"],
    queue: Pick<CommandQueue, "takeAll">,
    admission: Pick<AdmissionControl, "failAll">,
    isClosed: () => boolean,
  ) {
    this.#log = log;
    this.#queue = queue;
    this.#admission = admission;
    this.#isClosed = isClosed;
  }

  /** As a text for the response; undefined while the database responds. */
  get reason(): string | undefined {
    return this.#fault && awayReason(this.#fault);
  }

  /**
   * Retries a query until the database responds. Until then, queued commands fail at once, because nothing of them was
   * done; commands in flight fail after `unknownOutcomeWaitMs`, because their outcome is unknown.
   * @throws LaneClosed when the lane is closed meanwhile
   */
  async outlast<Value>(query: () => Promise<Value>): Promise<Value> {
    const patientUntil = performance.now() + LIMITS.unknownOutcomeWaitMs;
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
      if (this.#isClosed()) throw new LaneClosed("the lane was closed while it retried a query");
      try {
        const value = await query();
        this.#fault = undefined;
        return value;
      } catch (error) {
        const fault = asFault(error);
        // Retrying does not help against a bug of ours.
        if (!(fault instanceof DatabaseAway) && serverError(fault) === undefined) throw fault;
        if (this.#fault === undefined) this.#log({ kind: "database_away", error: fault });
        this.#fault = fault;
        for (const pending of this.#queue.takeAll()) pending.unavailable(awayReason(fault));
        if (performance.now() > patientUntil)
          this.#admission.failAll(`${awayReason(fault)}: look up the ref_id to see what was done`);
        await pause(pauseMs);
      }
    }
  }
}
