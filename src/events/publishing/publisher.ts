/**
 * Publishes events: reads the batches behind the last cut, and writes a cut with their events, in one statement. One process
 * at a time does, by the lease `events`; that of two only one can write a cut is ensured by its number. What is kept between
 * cuts only spares reading it from the database, so a publisher may end anywhere: the next one goes on behind the last cut.
 *
 * It rests after each cut for as long as keeps its share of the time small. Under load it so makes larger cuts, which cost
 * less for each event.
 */
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Database, DatabaseAway } from "../../postgres/database.ts";
import { LEASE_MS, type Lease, releaseLease, renewLease, takeLease } from "../../postgres/leases.ts";
import type { ComparedClock, Instant } from "../../std/clock.ts";
import { Outage } from "../../std/outage.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import { countRows, digestOfFacts, rowsOf } from "../event-rows.ts";
import type { Fact } from "../facts.ts";
import { type Cut, findLastCut, hasEndsOfLog, readLastNumbers, writeCut } from "../store.ts";
import { findNext, readContent } from "./cut-content.ts";
import { NO_HEADS } from "./event-batch.ts";
import type { RecentBatches } from "./recent-batches.ts";
import { Retention } from "./retention.ts";

export type PublisherEvent =
  | { readonly kind: "published"; readonly cut: PublishedCut; readonly ms: number }
  /** This process has the lease, and no longer has it. */
  | { readonly kind: "leading" | "ended" }
  /** The first failure of several in a row. */
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "recovered"; readonly failures: number };

export interface PublishedCut extends Cut {
  /** Who has events in it. */
  readonly customers: ReadonlySet<CustomerId>;
}

export interface PublisherOptions {
  readonly database: Database;
  readonly clock: ComparedClock;
  /** How far the clock of a node may be from the database's. */
  readonly clockToleranceMs: number;
  /** How long events are listed. */
  readonly keptMs: number;
  readonly holder: string;
  /** Notified when there is a new batch. Those of other processes are looked for without. */
  readonly committed: WakeSignal;
  /** Those of this process. Without, all are read from the database. */
  readonly recentBatches?: RecentBatches;
  /** Must not throw. */
  readonly log: (event: PublisherEvent) => void;
  readonly leaseMs?: number;
}

export const EVENTS_LEASE = "events";

/** How often other nodes' batches are looked for. */
const POLL_MS = 50;
/**
 * The rest after a cut, by the root of the number of its events: few are published soon, and the more there are in a second,
 * the fewer cuts. Not in multiples of what it took: on a busy machine that is mostly waiting.
 */
const SHORTEST_REST_MS = 12;
const REST_OF_ROOT_MS = 8;
const LONGEST_REST_MS = 250;
const STANDBY_MS = 750;
const FAILURE_PAUSE_MS = 500;
/** Customers whose numbers are remembered. */
const MOST_NUMBERS = 100_000;

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #retention: Retention;
  readonly #end = new WakeSignal();
  #lease: Lease | undefined;
  #isStopping = false;
  readonly #outage: Outage;
  #running: Promise<void> | undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#retention = new Retention(options);
    this.#outage = new Outage(
      (error) => options.log({ kind: "failed", error }),
      (failures) => options.log({ kind: "recovered", failures }),
    );
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Finishes the cut in progress and releases the lease. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#options.committed.notify();
    this.#end.notify();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { database, holder, leaseMs = LEASE_MS } = this.#options;
    while (!this.#isStopping) {
      try {
        this.#lease = await takeLease(database.commits, EVENTS_LEASE, holder, leaseMs);
      } catch (error) {
        if (!(error instanceof DatabaseAway)) this.#outage.failed(error);
      }
      if (this.#lease !== undefined) await this.#lead(this.#lease, leaseMs);
      if (!this.#isStopping) await this.#end.wait(STANDBY_MS * (1 + Math.random()));
    }
  }

  async #lead(lease: Lease, leaseMs: number): Promise<void> {
    const { database } = this.#options;
    const renewal = setInterval(() => void this.#renew(lease, leaseMs), leaseMs / 3);
    this.#options.recentBatches?.collect(true);
    this.#options.log({ kind: "leading" });
    while (this.#isLeader) {
      try {
        await this.#publish(lease);
      } catch (error) {
        this.#outage.failed(error);
        await this.#end.wait(FAILURE_PAUSE_MS);
      }
    }
    clearInterval(renewal);
    this.#options.recentBatches?.collect(false);
    this.#options.log({ kind: "ended" });
    this.#lease = undefined;
    await releaseLease(database.commits, lease).catch(() => undefined);
  }

  get #isLeader(): boolean {
    return this.#lease !== undefined && !this.#isStopping;
  }

  async #renew(lease: Lease, leaseMs: number): Promise<void> {
    try {
      if (!(await renewLease(this.#options.database.commits, lease, leaseMs))) this.#loseLease();
    } catch {
      // The next cut, which names the fence, fails if the lease was lost meanwhile.
    }
  }

  #loseLease(): void {
    this.#lease = undefined;
    this.#options.committed.notify();
  }

  /** Publishes until the lease is lost, something fails, or another history begins: then what is remembered may be wrong. */
  async #publish(lease: Lease): Promise<void> {
    const { database } = this.#options;
    const maker = new CutMaker(this.#options);
    await maker.open();
    while (this.#isLeader && database.history === maker.history) {
      const startedMs = performance.now();
      // No event could be earlier than one with a wrong time.
      const cut = this.#options.clock.fault === undefined ? await maker.next(lease) : undefined;
      if (cut === "lost") return this.#loseLease();
      this.#outage.succeeded();
      const ms = performance.now() - startedMs;
      if (cut !== undefined) this.#options.log({ kind: "published", cut, ms });
      await this.#retention.run();
      if (cut === undefined) await this.#options.committed.wait(POLL_MS);
      else if (!this.#isStopping) await this.#end.wait(restAfter(cut));
    }
  }
}

function restAfter({ events }: Cut): number {
  return Math.min(Math.max(SHORTEST_REST_MS, Math.sqrt(events) * REST_OF_ROOT_MS), LONGEST_REST_MS);
}

/** The table of events lacks some that were published. The message is for the operator. */
export class EventsMissing extends Error {
  override readonly name = "EventsMissing";

  constructor() {
    super("published events are missing from the database: run parbook events rebuild");
  }
}

type MakerOptions = Pick<PublisherOptions, "database" | "clock" | "clockToleranceMs" | "recentBatches">;

/** Makes one cut after the other. After a failure another one has to be opened. */
export class CutMaker {
  readonly #options: MakerOptions;
  /** In which it reads, and writes what it has read. Known from the lease on, which is taken on the same connections. */
  readonly history: string;
  #last: Cut | undefined;
  readonly #numbers = new Map<CustomerId, bigint>();

  constructor(options: MakerOptions) {
    this.#options = options;
    this.history = options.database.history;
  }

  async open(): Promise<void> {
    this.#last = await findLastCut(this.#options.database);
  }

  /** @returns undefined if there is nothing new; "lost" if another publisher is at work, or another history has begun */
  async next(lease: Lease): Promise<PublishedCut | "lost" | undefined> {
    const { database, clock, clockToleranceMs } = this.#options;
    const after = this.#last?.heads ?? NO_HEADS;
    const next = await findNext(database, after, 2 * clockToleranceMs, this.#options.recentBatches);
    if (next === undefined) return undefined;
    const { heads, recent } = next;
    const number = (this.#last?.number ?? 0n) + 1n;
    const { facts, marketReaders, lastAt = 0 } = await readContent(database, after, heads, { number }, recent);
    await this.#readNumbers(facts);
    // What has no events makes those behind it no later.
    const now = facts.length > 0 || this.#last === undefined ? clock.now() : 0;
    const at = Math.max(this.#last?.at ?? 0, lastAt, now) as Instant;
    const cut: Cut = { number, at, events: facts.length, heads, marketReaders, digest: digestOfFacts(facts) };
    const rows = rowsOf(facts, this.#numbers);
    if (!(await writeCut(database.commits, { lease, history: this.history }, cut, rows))) return "lost";
    countRows(this.#numbers, rows);
    this.#options.recentBatches?.forget(heads);
    this.#last = cut;
    return { ...cut, customers: new Set(rows.map(({ customerId }) => customerId)) };
  }

  /** @throws EventsMissing rather than give numbers that its customer may have read already */
  async #readNumbers(facts: readonly Fact[]): Promise<void> {
    if (this.#numbers.size > MOST_NUMBERS) this.#numbers.clear();
    const customers = new Set(facts.map(({ customerId }) => customerId));
    const missing = [...customers].filter((customerId) => !this.#numbers.has(customerId));
    if (missing.length === 0) return;
    const { database } = this.#options;
    const read = await readLastNumbers(database, missing);
    if (read.size < missing.length && !(await hasEndsOfLog(database))) throw new EventsMissing();
    for (const [customerId, last] of read) this.#numbers.set(customerId, last);
  }
}
