/**
 * Settles conversions in the background. What was created here is settled as soon as its delay is over; a search of the
 * database every second finds what other nodes, or this one before it was killed, have left behind. Settling twice is
 * harmless: the second finds the conversion closed.
 *
 * A clock that was set back must not leave conversions behind until it has caught up: what was created here waits by
 * the steady clock, and what the search finds in the future counts as due.
 */
import type { Lane } from "../ledger/lane/lane.ts";
import type { Queryable } from "../postgres/database.ts";
import { type Clock, type Instant, steadyClock } from "../std/clock.ts";
import { settlementOf } from "./conversions.ts";
import { type Conversion, type ConversionId, listDueConversions } from "./store.ts";

export interface SettlementOptions {
  readonly database: Queryable;
  readonly lane: Pick<Lane, "execute">;
  readonly clock: Clock;
  /** How long a conversion stays CREATED at least. */
  readonly delayMs: number;
  /** The first failure of an outage; the others are counted. */
  readonly onError: (error: unknown) => void;
  /** The first success after `failures` of them. */
  readonly onRecovered: (failures: number) => void;
}

/** Settlements under way at once, and conversions remembered as coming due: what is beyond, the search finds. */
const MOST_AT_ONCE = 500;
const MOST_REMEMBERED = 10_000;
const SEARCH_MS = 1_000;
/** Clocks of nodes differ by less. */
const SKEW_MS = 60_000;

export class Settlement {
  readonly #options: SettlementOptions;
  /** In the order in which they come due: the delay is the same for all. */
  readonly #due: { readonly conversion: Conversion; readonly dueAt: number }[] = [];
  readonly #underWay = new Set<ConversionId>();
  #timer: NodeJS.Timeout | undefined;
  #search: NodeJS.Timeout | undefined;
  #stopped = false;
  #whenIdle: (() => void)[] = [];
  /** Apart, because a search succeeds on a database that is read-only. */
  readonly #settling: Outage;
  readonly #searching: Outage;

  constructor(options: SettlementOptions) {
    this.#options = options;
    this.#settling = new Outage(options);
    this.#searching = new Outage(options);
  }

  start(): void {
    this.#search = setInterval(() => void this.#findLeftBehind(), SEARCH_MS);
    void this.#findLeftBehind();
  }

  /** Told of a conversion that was created on this node. */
  created(conversion: Conversion): void {
    if (this.#stopped || this.#due.length >= MOST_REMEMBERED) return;
    this.#due.push({ conversion, dueAt: steadyClock.now() + this.#options.delayMs });
    this.#settleDue();
  }

  /** Waits for the settlements that are under way. What is not yet due is left to the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#search);
    clearTimeout(this.#timer);
    if (this.#underWay.size > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  #settleDue(): void {
    clearTimeout(this.#timer);
    while (!this.#stopped && this.#underWay.size < MOST_AT_ONCE) {
      const [next] = this.#due;
      if (next === undefined) return;
      const waitMs = next.dueAt - steadyClock.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#settleDue(), waitMs);
        return;
      }
      this.#due.shift();
      void this.#settle(next.conversion);
    }
  }

  async #settle(conversion: Conversion): Promise<void> {
    if (this.#underWay.has(conversion.id)) return;
    this.#underWay.add(conversion.id);
    try {
      await this.#options.lane.execute(settlementOf(conversion, { house: "settlement" }));
      this.#settling.succeeded();
    } catch (error) {
      // It stays CREATED, and the search finds it again.
      this.#settling.failed(error);
    } finally {
      this.#underWay.delete(conversion.id);
      if (this.#underWay.size === 0) for (const tell of this.#whenIdle.splice(0)) tell();
      this.#settleDue();
    }
  }

  /** Looks for what has been due for longer than the node that created it should need. */
  async #findLeftBehind(): Promise<void> {
    const room = MOST_AT_ONCE - this.#underWay.size;
    if (room <= 0 || this.#stopped) return;
    const { clock, delayMs, database } = this.#options;
    try {
      const now = clock.now();
      const [before, after] = [now - delayMs - SEARCH_MS, now + SKEW_MS] as [Instant, Instant];
      const due = await listDueConversions(database, before, after, room);
      this.#searching.succeeded();
      for (const conversion of due) void this.#settle(conversion);
    } catch (error) {
      this.#searching.failed(error);
    }
  }
}

/** Reports the first of the failures in a row, and their number when they end. */
class Outage {
  readonly #options: Pick<SettlementOptions, "onError" | "onRecovered">;
  #failures = 0;

  constructor(options: Pick<SettlementOptions, "onError" | "onRecovered">) {
    this.#options = options;
  }

  failed(error: unknown): void {
    this.#failures += 1;
    if (this.#failures === 1) this.#options.onError(error);
  }

  succeeded(): void {
    const failures = this.#failures;
    this.#failures = 0;
    if (failures > 0) this.#options.onRecovered(failures);
  }
}
