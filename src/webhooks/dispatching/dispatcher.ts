/**
 * Delivers the events of all customers to their webhooks, in one process at a time, by the lease `webhooks`. Nothing rests on
 * the lease alone: what a process writes names the version of each webhook's progress that it has taken over, and the history
 * of the database in which it did, so one that has lost the lease, or whose database was restored, writes nothing. It may end anywhere: its successor goes on from what was written.
 */

import { DatabaseAway } from "../../postgres/database.ts";
import { LEASE_MS, type Lease, releaseLease, renewLease, takeLease } from "../../postgres/leases.ts";
import { Outage } from "../../std/outage.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import { Dispatch } from "./dispatch.ts";
import type { DispatcherOptions } from "./options.ts";

export const WEBHOOKS_LEASE = "webhooks";

const STANDBY_MS = 750;
/** Nothing is sent in the last part of a lease that could not be renewed: the database's clock may be a little ahead. */
const SAFE_PART = 0.8;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #outage: Outage;
  readonly #end = new WakeSignal();
  #dispatch: Dispatch | undefined;
  #isStopping = false;
  #running: Promise<void> | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#outage = new Outage(
      (error) => options.log({ kind: "failed", error }),
      (failures) => options.log({ kind: "recovered", failures }),
    );
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Sends nothing more, waits a few seconds for what is in flight, writes, and releases the lease. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#dispatch?.end("waits");
    this.#end.notify();
    await this.#running;
  }

  /** What is done just now, on this node. */
  report(): ReturnType<Dispatch["report"]> {
    return this.#dispatch?.report() ?? { webhooks: 0, failing: 0, inFlight: 0, mostPerSecond: 0 };
  }

  async #run(): Promise<void> {
    const { database, holder, leaseMs = LEASE_MS } = this.#options;
    while (!this.#isStopping) {
      const takenAtMs = performance.now();
      let lease: Lease | undefined;
      try {
        lease = await takeLease(database.commits, WEBHOOKS_LEASE, holder, leaseMs);
      } catch (error) {
        if (!(error instanceof DatabaseAway)) this.#outage.failed(error);
      }
      if (lease !== undefined) await this.#lead(lease, leaseMs, takenAtMs);
      if (!this.#isStopping) await this.#end.wait(STANDBY_MS * (1 + Math.random()));
    }
  }

  async #lead(lease: Lease, leaseMs: number, takenAtMs: number): Promise<void> {
    const { database, log } = this.#options;
    const dispatch = new Dispatch(this.#options, lease, this.#outage);
    dispatch.maySendUntilMs = takenAtMs + leaseMs * SAFE_PART;
    const renew = async (): Promise<void> => {
      const startedMs = performance.now();
      if (await renewLease(database.commits, lease, leaseMs)) dispatch.maySendUntilMs = startedMs + leaseMs * SAFE_PART;
      else dispatch.end("at once");
    };
    // Without the database nothing is sent once the lease may have ended.
    const renewal = setInterval(() => void renew().catch(() => undefined), leaseMs / 4);
    this.#dispatch = dispatch;
    if (this.#isStopping) dispatch.end("waits");
    log({ kind: "leading" });
    await dispatch.run();
    clearInterval(renewal);
    this.#dispatch = undefined;
    await releaseLease(database.commits, lease).catch(() => undefined);
    log({ kind: "ended" });
  }
}
