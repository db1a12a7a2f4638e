/**
 * The market maker of sandbox mode: an ordinary customer that quotes both sides of a few markets, so that users of the
 * API have a counterparty. It deposits, places, cancels and reads with the same commands as any customer.
 *
 * It repeats passes, each of which compares its orders with the ladders it wants (`market-quoter.ts`). Results of a pass:
 *   standing_by  another process holds the lease.
 *   at_work      orders were placed or cancelled, or are on their way onto or off the book.
 *   settled      every ladder rests, except on markets that reject orders, which it backs off from. Without trades nothing
 *                is written; a pass a second reads a few rows.
 *   failed       the database is unavailable, or another error. The next pass backs off.
 *
 * The lease avoids conflicts; safety does not depend on it: orders of a process that has lost it are cancelled by its
 * successor.
 *
 * On stop the orders stay. A start must take over orders after a crash anyway; they keep trading on other nodes, and a
 * restart places no new ones.
 */
import type { Database } from "../postgres/database.ts";
import { LEASE_MS, type Lease, releaseLease, renewLease, takeLease } from "../postgres/leases.ts";
import { asError } from "../std/as-error.ts";
import { WakeSignal } from "../std/wake-signal.ts";
import { MAKER, type MarketMakerParts, type MarketQuoters, openMarketQuoters } from "./market-quoters.ts";

export type { MakerEvent } from "./market-quoters.ts";

export interface MakerParts extends MarketMakerParts {
  readonly database: Database;
  /** The unique name of this process, for the lease. */
  readonly holder: string;
}

type PassResult = "standing_by" | "at_work" | "settled" | "failed";

/** The pause before the next pass. Doubles while passes have the same result. */
const PAUSES_MS: Readonly<Record<PassResult, readonly [first: number, longest: number]>> = {
  standing_by: [1_000, 1_000],
  at_work: [100, 1_000],
  settled: [1_000, 1_000],
  failed: [1_000, 30_000],
};
const LEASE = "sandbox_maker";
/** How long a start waits for the ladders, which take longer if no engine serves the markets. */
const READY_LIMIT_MS = 10_000;

export class Maker {
  readonly #parts: MakerParts;
  readonly #end = new WakeSignal();
  #lease: Lease | undefined;
  /** In ms of the monotonic clock. */
  #renewAt = 0;
  #quoters: MarketQuoters | undefined;
  #stopping = false;
  #running: Promise<void> | undefined;

  constructor(parts: MakerParts) {
    this.#parts = parts;
  }

  /** Resolves when the ladders rest or another process holds the lease, and after 10 s in any case. */
  async start(): Promise<void> {
    const ready = new WakeSignal();
    this.#running ??= this.#run(() => ready.notify());
    await ready.wait(READY_LIMIT_MS);
  }

  /** Waits for the pass in progress. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#end.notify();
    await this.#running;
    await this.#release();
  }

  /** For a sandbox whose maker was turned off: cancels the orders that it has left. */
  async cancelAll(): Promise<void> {
    if ((await this.#parts.customers.find(MAKER)) === undefined || !(await this.#holdsLease())) return;
    await (await openMarketQuoters(this.#parts)).cancelAll();
    await this.#release();
  }

  async #run(ready: () => void): Promise<void> {
    let before: PassResult | undefined;
    let pauseMs = 0;
    while (!this.#stopping) {
      const standing = await this.#tryPass();
      if (standing === "settled" || standing === "standing_by") ready();
      const [first, longest] = PAUSES_MS[standing];
      pauseMs = standing === before ? Math.min(2 * pauseMs, longest) : first;
      before = standing;
      await this.#end.wait(pauseMs);
    }
  }

  async #tryPass(): Promise<PassResult> {
    try {
      if (!(await this.#holdsLease())) return "standing_by";
      this.#quoters ??= await openMarketQuoters(this.#parts);
      return await this.#quoters.pass();
    } catch (error) {
      this.#parts.log({ kind: "pass_failed", error: asError(error) });
      return "failed";
    }
  }

  async #holdsLease(): Promise<boolean> {
    if (this.#lease !== undefined && performance.now() < this.#renewAt) return true;
    const { database, holder } = this.#parts;
    const isKept = this.#lease !== undefined && (await renewLease(database, this.#lease, LEASE_MS));
    if (!isKept) {
      // Another holder may have moved the prices.
      this.#quoters = undefined;
      this.#lease = await takeLease(database, LEASE, holder, LEASE_MS);
    }
    this.#renewAt = performance.now() + LEASE_MS / 3;
    return this.#lease !== undefined;
  }

  /** If this fails, the lease expires. */
  async #release(): Promise<void> {
    if (this.#lease !== undefined) await releaseLease(this.#parts.database, this.#lease).catch(() => undefined);
    this.#lease = undefined;
  }
}
