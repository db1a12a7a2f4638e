/**
 * The matching engine of one market. Any number of processes may have one; only the leader works.
 *
 * States:
 *   standing_by  another process has the market's lease; taking it is retried about every second.
 *   opening      the lease is ours. Its fencing token is committed to the market's head before the book is read. After
 *                that no other engine, and no command of ours with an unknown outcome, can change the market's orders.
 *   serving      rounds run back to back while there is work: read the backlog, run it through the book, commit it as
 *                one command, notify the listeners. At most one command of the market is in flight.
 *   failing      a round or the opening failed, or the stored rows did not match the book. The book is discarded, and
 *                after a growing pause the market is opened again, as the catalogue has it then: an order may have more
 *                decimals than the market had before.
 *   stopped      the last round is done, and the lease is released.
 *
 *   standing_by -> opening -> serving -> failing -> opening
 *   opening, serving, failing -> standing_by (another process has the lease or a higher fence, or our clock is wrong)
 *   any state -> stopped
 *
 * A lease alone does not exclude a former leader: a process that was paused beyond the lease's end still believes that it
 * leads. The market's head excludes it: every command increments its version, and the successor did so first.
 */
import type { Market } from "../../catalogue/market.ts";
import type { Lane } from "../../ledger/writer/lane.ts";
import { type Database, DatabaseAway } from "../../postgres/database.ts";
import { type Lease, releaseLease, renewLease, takeLease } from "../../postgres/leases.ts";
import { asError } from "../../std/as-error.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import type { BookChange } from "../market-feed/book-change.ts";
import { EngineBook, type EngineBounds, type Plan, StaleBook } from "./engine-book.ts";
import { ExpiryTurns } from "./expiry-turns.ts";
import type { RoundEffect } from "./round-changes.ts";
import { deleteCancels, eachOpenOrder, eachSubmittedOrder, readBacklog, readCancels } from "./store.ts";
import { type Committed, commitRound, type Round, takeOver } from "./takeover-and-round.ts";

/** For the operator's log. */
export type EngineEvent =
  | { readonly kind: "market_opened"; readonly market: string; readonly orders: number; readonly ms: number }
  /** `ms`: from reading the backlog until the outcome was durable. */
  | { readonly kind: "round_committed"; readonly market: string; readonly orders: number; readonly ms: number }
  | { readonly kind: "market_lost"; readonly market: string }
  | { readonly kind: "market_failed"; readonly market: string; readonly error: Error }
  | { readonly kind: "listener_failed"; readonly market: string; readonly error: Error };

export type EngineState = "standing_by" | "opening" | "serving" | "failing" | "stopped";

/**
 * A durable round: the rows that it changed and added, and all effects. Opening a market is published as a round without
 * effects, because it increments the head's version.
 */
export interface CommittedRound extends Committed {
  readonly market: Market;
  readonly effects: readonly RoundEffect[];
  readonly change: BookChange;
}

/** A round that is about to be committed. `startedMs`: when reading its backlog began, by the monotonic clock. */
export interface RoundInFlight {
  readonly market: string;
  readonly startedMs: number;
}

/** Runs `work` and returns its result, for tracing. */
export type AroundRound = <Result>(round: RoundInFlight, work: () => Promise<Result>) => Promise<Result>;

/** While the clock has a fault nothing can be committed here, and another process may take the market. */
export interface EngineClock extends Clock {
  readonly fault?: string | undefined;
}

export interface EngineParts {
  readonly database: Database;
  readonly lane: Pick<Lane, "execute">;
  readonly clock: EngineClock;
  /** Identifies this process among all that share the database. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly bounds?: Partial<EngineBounds> | undefined;
  /** Shared with the engines of other markets. */
  readonly expiryTurns?: ExpiryTurns | undefined;
  readonly log: (event: EngineEvent) => void;
  /** Called for every committed round. Must not throw. */
  readonly publish: (round: CommittedRound) => void;
  readonly aroundRound?: AroundRound | undefined;
}

/** The maximum number of orders, and of cancels, read for one round. */
const ROUND = 200;
/** The minimum between two attempts to take a lease; the maximum is twice that, so failover takes 1.5 s after expiry. */
const STANDBY_MS = 750;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export class Engine {
  readonly #findMarket: () => Market;
  /** As it was when it was opened last. */
  #market: Market;
  readonly #parts: EngineParts;
  readonly #expiryTurns: ExpiryTurns;
  readonly #onTurn = (): void => this.#work.notify();
  readonly #work = new WakeSignal();
  readonly #end = new WakeSignal();
  #state: EngineState = "standing_by";
  #lease: Lease | undefined;
  /** The lease whose renewal is in progress. */
  #renewing: Lease | undefined;
  #book: EngineBook | undefined;
  #failures = 0;
  #stopping = false;
  #running: Promise<void> | undefined;

  /** @param findMarket as it is now, always the same one */
  constructor(findMarket: () => Market, parts: EngineParts) {
    this.#findMarket = findMarket;
    this.#market = findMarket();
    this.#parts = parts;
    this.#expiryTurns = parts.expiryTurns ?? new ExpiryTurns();
  }

  get state(): EngineState {
    return this.#state;
  }

  /** Undefined unless this engine serves the market. Engines with equal hashes would match identically. */
  stateHash(): string | undefined {
    return this.#book?.stateHash();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  wake(): void {
    this.#work.notify();
  }

  /** Whether there is something to do that nobody has sent. */
  hasDue(now: Instant): boolean {
    const book = this.#book;
    return book !== undefined && (book.hasDue(now) || (book.hasOverdue && this.#expiryTurns.isFree));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#end.notify();
    this.#work.notify();
    await this.#running;
    this.#state = "stopped";
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      await this.#tryLease();
      if (this.#lease !== undefined) await this.#lead(this.#lease);
      this.#state = "standing_by";
      // Jitter, because many processes may wait for the same lease.
      if (!this.#stopping) await this.#end.wait(STANDBY_MS * (1 + Math.random()));
    }
  }

  async #tryLease(): Promise<void> {
    const { database, holder, leaseMs, clock } = this.#parts;
    if (clock.fault !== undefined) return;
    try {
      this.#lease = await takeLease(database.commits, `market/${this.#market.code}`, holder, leaseMs);
    } catch (error) {
      // If the database is away, the engines that serve a market report it.
      if (!(error instanceof DatabaseAway)) this.#onFailure(error);
    }
  }

  /** Opens and serves the market, and reopens it after failures, while the lease is ours. */
  async #lead(lease: Lease): Promise<void> {
    const renewal = setInterval(() => void this.#renew(lease), this.#parts.leaseMs / 3);
    while (this.#isLeader) {
      try {
        await this.#open(lease);
        if (this.#book !== undefined) await this.#serve(this.#book);
      } catch (error) {
        this.#onFailure(error);
        await this.#end.wait(this.#pauseMs());
      }
    }
    clearInterval(renewal);
    this.#book = undefined;
    this.#lease = undefined;
    // No effect on a lease that was lost; a lease that cannot be released expires.
    await releaseLease(this.#parts.database.commits, lease).catch(() => undefined);
  }

  get #isLeader(): boolean {
    return this.#lease !== undefined && !this.#stopping && this.#parts.clock.fault === undefined;
  }

  async #open(lease: Lease): Promise<void> {
    const { database, lane, clock, log, bounds } = this.#parts;
    this.#market = this.#findMarket();
    const { code } = this.#market;
    this.#state = "opening";
    this.#book = undefined;
    const startedAt = clock.now();
    const outcome = await lane.execute(takeOver(code, lease.fence));
    if (outcome.kind === "rejected") return this.#onLeaseLost();
    this.#publish({ head: outcome.value, orders: [], executions: [] }, []);
    const book = new EngineBook(this.#market, outcome.value, bounds);
    await eachOpenOrder(database, this.#market, (order) => book.restoreOpen(order));
    await eachSubmittedOrder(database, code, (order) => book.restoreSubmitted(order));
    this.#book = book;
    log({ kind: "market_opened", market: code, orders: book.size, ms: clock.now() - startedAt });
  }

  async #serve(book: EngineBook): Promise<void> {
    this.#state = "serving";
    while (this.#isLeader) {
      const startedMs = performance.now();
      const plan = await this.#plan(book);
      try {
        if (plan.round !== undefined) await this.#commit(book, plan.round, startedMs);
      } finally {
        if (plan.hasTurn) this.#expiryTurns.giveBack();
      }
      if (plan.cancels.length > 0) await deleteCancels(this.#parts.database, plan.cancels);
      this.#failures = 0;
      if (plan.round === undefined && plan.cancels.length === 0 && !plan.isBehind) await this.#work.wait();
    }
  }

  async #plan(book: EngineBook): Promise<Plan> {
    const { database, clock } = this.#parts;
    const { code } = this.#market;
    const { status, orders, hasCancels } = await readBacklog(database, code, ROUND);
    const cancels = hasCancels ? await readCancels(database, code, ROUND) : [];
    return book.run({ status, orders, cancels }, clock.now(), () => this.#expiryTurns.take(this.#onTurn));
  }

  async #commit(book: EngineBook, round: Round, startedMs: number): Promise<void> {
    const { lane, clock, aroundRound = (_round, work) => work() } = this.#parts;
    const inFlight = { market: this.#market.code, startedMs };
    const outcome = await aroundRound(inFlight, () => lane.execute(commitRound(this.#market, round, clock.now())));
    if (outcome.kind === "rejected") {
      const { what } = outcome.rejection;
      if (what === "expiry") throw new StaleBook("an order expired seconds before its match could be stored");
      throw new StaleBook(`the stored ${what} does not match the order book`);
    }
    book.accept(outcome.value);
    this.#publish(outcome.value, round.effects, book);
    const [market, orders] = [this.#market.code, outcome.value.orders.length];
    this.#parts.log({ kind: "round_committed", market, orders, ms: performance.now() - startedMs });
  }

  #publish(committed: Committed, effects: readonly RoundEffect[], book?: EngineBook): void {
    const { head, orders } = committed;
    const levels = book?.levelsOf(orders) ?? [];
    const change: BookChange = { market: this.#market.code, version: head.version, levels };
    this.#parts.publish({ ...committed, market: this.#market, effects, change });
  }

  async #renew(lease: Lease): Promise<void> {
    // One at a time: concurrent renewals would wait for the same row and hold connections.
    if (this.#renewing === lease) return;
    this.#renewing = lease;
    try {
      const isKept = await renewLease(this.#parts.database, lease, this.#parts.leaseMs);
      // The result may arrive after this lease was released, or even after the next one was taken.
      if (!isKept && this.#lease === lease) this.#onLeaseLost();
    } catch {
      // The database is away. The next renewal or round detects whether the lease is still ours.
    } finally {
      if (this.#renewing === lease) this.#renewing = undefined;
    }
  }

  #onLeaseLost(): void {
    if (this.#lease === undefined) return;
    this.#lease = undefined;
    this.#parts.log({ kind: "market_lost", market: this.#market.code });
    this.#work.notify();
    this.#end.notify();
  }

  #onFailure(error: unknown): void {
    this.#state = "failing";
    this.#book = undefined;
    this.#failures += 1;
    const cause = asError(error);
    this.#parts.log({ kind: "market_failed", market: this.#market.code, error: cause });
  }

  #pauseMs(): number {
    const longest = Math.min(SHORTEST_PAUSE_MS * 2 ** Math.min(this.#failures, 10), LONGEST_PAUSE_MS);
    return longest * (0.5 + Math.random() / 2);
  }
}
