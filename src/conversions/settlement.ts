/**
 * Settles conversions in the background. A conversion created by this process is settled once its delay is over. A query
 * every second finds overdue conversions of other nodes and of earlier processes. Settling twice is harmless: the second
 * command finds the conversion closed.
 *
 * A clock that was set back must not delay settlement: delays use the monotonic clock, and the query treats conversions
 * created in the future as due.
 */
import type { Lane } from "../ledger/writer/lane.ts";
import type { Queryable } from "../postgres/database.ts";
import { type Clock, type Instant, steadyClock } from "../std/clock.ts";
import { Outage } from "../std/outage.ts";
import { LONGEST_TIMER_MS } from "../std/pause.ts";
import type { Conversion, ConversionId } from "./conversion.ts";
import { settlementOf } from "./conversions.ts";
import { listDueConversions } from "./store.ts";

export interface SettlementOptions {
  readonly database: Queryable;
  readonly lane: Pick<Lane, "execute">;
  readonly clock: Clock;
  /** The minimum time that a conversion stays CREATED. */
  readonly delayMs: number;
  /** The first failure of an outage; the others are counted. */
  readonly onError: (error: unknown) => void;
  /** The first success after `failures` of them. */
  readonly onRecovered: (failures: number) => void;
}

/** Conversions beyond these bounds are found by the query. */
const MAX_IN_FLIGHT = 500;
const MAX_SCHEDULED = 10_000;
const SEARCH_MS = 1_000;
/** More than the clocks of nodes may differ. */
const SKEW_MS = 60_000;

export class Settlement {
  readonly #options: SettlementOptions;
  /** In the order in which they fall due, because all have the same delay. */
  readonly #due: { readonly conversion: Conversion; readonly dueAt: number }[] = [];
  readonly #inFlight = new Set<ConversionId>();
  #timer: NodeJS.Timeout | undefined;
  #search: NodeJS.Timeout | undefined;
  #stopped = false;
  /** Apart, because a search succeeds on a database that is read-only. */
  readonly #settling: Outage;
  readonly #searching: Outage;

  constructor(options: SettlementOptions) {
    this.#options = options;
    this.#settling = new Outage(options.onError, options.onRecovered);
    this.#searching = new Outage(options.onError, options.onRecovered);
  }

  start(): void {
    this.#search = setInterval(() => void this.#settleOverdue(), SEARCH_MS);
    void this.#settleOverdue();
  }

  /** Schedules a conversion that this process has created. */
  onCreated(conversion: Conversion): void {
    if (this.#stopped || this.#due.length >= MAX_SCHEDULED) return;
    this.#due.push({ conversion, dueAt: steadyClock.now() + this.#options.delayMs });
    this.#settleDue();
  }

  /** What is not due yet is left to the next start. What is in flight ends with the lane, which is stopped later. */
  stop(): void {
    this.#stopped = true;
    clearInterval(this.#search);
    clearTimeout(this.#timer);
  }

  #settleDue(): void {
    clearTimeout(this.#timer);
    while (!this.#stopped && this.#inFlight.size < MAX_IN_FLIGHT) {
      const [next] = this.#due;
      if (next === undefined) return;
      const waitMs = next.dueAt - steadyClock.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#settleDue(), Math.min(waitMs, LONGEST_TIMER_MS));
        return;
      }
      this.#due.shift();
      void this.#settle(next.conversion);
    }
  }

  async #settle(conversion: Conversion): Promise<void> {
    if (this.#inFlight.has(conversion.id)) return;
    this.#inFlight.add(conversion.id);
    try {
      await this.#options.lane.execute(settlementOf(conversion, { house: "settlement" }));
      this.#settling.succeeded();
    } catch (error) {
      // It stays CREATED, and the query finds it again.
      this.#settling.failed(error);
    } finally {
      this.#inFlight.delete(conversion.id);
      this.#settleDue();
    }
  }

  /** Settles what has been due for longer than its own node should need. */
  async #settleOverdue(): Promise<void> {
    const room = MAX_IN_FLIGHT - this.#inFlight.size;
    if (room <= 0 || this.#stopped) return;
    const { clock, delayMs, database } = this.#options;
    try {
      const now = clock.now();
      const [before, after] = [now - delayMs - SEARCH_MS, now + SKEW_MS] as [Instant, Instant];
      const due = await listDueConversions(database, before, after, room);
      this.#searching.succeeded();
      if (this.#stopped) return;
      for (const conversion of due) void this.#settle(conversion);
    } catch (error) {
      this.#searching.failed(error);
    }
  }
}
