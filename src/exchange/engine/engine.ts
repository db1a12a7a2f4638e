/**
 * The matching engine of one market. However many processes have one, one of them works at a time.
 *
 * States:
 *   standing_by  another process has the market's lease; it is tried for every second or so.
 *   opening      the lease is ours. Its fence is committed to the market's head, and only then is the book read: from
 *                here on no other engine, and no command of ours whose outcome is unknown, can change an order of it.
 *   serving      rounds run back to back while there is work: read what waits, run it through the book, commit it as
 *                one command, tell the listeners. One command of the market is under way at a time.
 *   failing      a round or the opening has failed, or something was not as the book believed. The book is thrown away;
 *                after a pause, which grows while it goes on failing, the market is opened again.
 *   stopped      the round that was under way is done, and the lease is let go of.
 *
 *   standing_by -> opening -> serving -> failing -> opening
 *   opening, serving, failing -> standing_by (the lease, or the fence, is somebody else's, or our clock is wrong), and from
 *   all to stopped
 *
 * A lease alone keeps nobody out: a process that was paused past its end still believes that it has it. What keeps it
 * out is the head, which every command of the market numbers on and which a successor has numbered on first.
 */
import type { Market } from "../../catalogue/market.ts";
import type { Lane } from "../../ledger/lane/lane.ts";
import { type Database, DatabaseAway } from "../../postgres/database.ts";
import { type Lease, releaseLease, renewLease, takeLease } from "../../postgres/leases.ts";
import { WakeSignal } from "../../std/bell.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import type { BookChange } from "../feed/book-change.ts";
import { EngineBook, type Plan, StaleBook } from "./engine-book.ts";
import type { RoundEffect } from "./matching.ts";
import { type Committed, commitRound, type Round, takeOver } from "./matching-command.ts";
import { eachOpenOrder, eachWaitingStop, readBacklog, readCancels, strikeOut } from "./order-queue.ts";

/** What an operator may want to know. */
export type EngineEvent =
  | { readonly kind: "market_opened"; readonly market: string; readonly orders: number; readonly ms: number }
  /** From when what waits was read until its outcome was durable. */
  | { readonly kind: "round_committed"; readonly market: string; readonly orders: number; readonly ms: number }
  | { readonly kind: "market_lost"; readonly market: string }
  | { readonly kind: "market_failed"; readonly market: string; readonly error: Error }
  | { readonly kind: "listener_failed"; readonly market: string; readonly error: Error };

export type EngineState = "standing_by" | "opening" | "serving" | "failing" | "stopped";

/**
 * A round that is durable: the rows that it changed and added, as they are stored, and all that the book did. The
 * opening of a market is told as one that did nothing: it has numbered the head on.
 */
export interface CommittedRound extends Committed {
  readonly market: Market;
  readonly effects: readonly RoundEffect[];
  readonly change: BookChange;
}

/** A round that is about to be committed, and when reading what waits for it began. */
export interface RoundUnderWay {
  readonly market: string;
  readonly startedMs: number;
}

/** Carries out the work, and answers as it does. */
export type AroundRound = <Result>(round: RoundUnderWay, work: () => Promise<Result>) => Promise<Result>;

/** While it has a fault nothing can be committed here, and another process may have the market. */
export interface EngineClock extends Clock {
  readonly fault?: string | undefined;
}

export interface EngineParts {
  readonly database: Database;
  readonly lane: Pick<Lane, "execute">;
  readonly clock: EngineClock;
  /** Names this process among all that share the database. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly log: (event: EngineEvent) => void;
  /** Told of every round after its commit. Does not throw. */
  readonly publish: (round: CommittedRound) => void;
  /** For who traces what is done within a round. */
  readonly aroundRound?: AroundRound | undefined;
}

/** Orders and cancels that are read for one round. */
const ROUND = 200;
/** At least this long between two tries for a lease, and at most twice as long: a dead node is followed within 1.5 s of it. */
const STANDBY_MS = 750;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export class Engine {
  readonly #market: Market;
  readonly #parts: EngineParts;
  readonly #work = new WakeSignal();
  readonly #end = new WakeSignal();
  #state: EngineState = "standing_by";
  #lease: Lease | undefined;
  /** The lease whose renewal is in progress. */
  #renewing: Lease | undefined;
  #book: EngineBook | undefined;
  /** Since the last round that went well. */
  #failures = 0;
  #stopping = false;
  #running: Promise<void> | undefined;

  constructor(market: Market, parts: EngineParts) {
    this.#market = market;
    this.#parts = parts;
  }

  get state(): EngineState {
    return this.#state;
  }

  /** The state of the book, while it is served here: two engines that agree on it would match alike. */
  stateHash(): string | undefined {
    return this.#book?.stateHash();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Says that there may be work: an order or a cancel that is durable by now. */
  wake(): void {
    this.#work.ring();
  }

  /** Whether an order of this market has to be cancelled because its time is up. */
  hasDue(now: Instant): boolean {
    return this.#book?.hasDue(now) ?? false;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#end.ring();
    this.#work.ring();
    await this.#running;
    this.#state = "stopped";
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      await this.#tryForLease();
      if (this.#lease !== undefined) await this.#lead(this.#lease);
      this.#state = "standing_by";
      // Not all at once, when many processes wait for the same lease.
      if (!this.#stopping) await this.#end.wait(STANDBY_MS * (1 + Math.random()));
    }
  }

  async #tryForLease(): Promise<void> {
    const { database, holder, leaseMs, clock } = this.#parts;
    if (clock.fault !== undefined) return;
    try {
      this.#lease = await takeLease(database.commits, `market/${this.#market.code}`, holder, leaseMs);
    } catch (error) {
      // When the database is away everybody finds out, and who serves a market says so.
      if (!(error instanceof DatabaseAway)) this.#failed(error);
    }
  }

  /** As long as the lease is ours, the market is opened and served, again and again. */
  async #lead(lease: Lease): Promise<void> {
    const renewal = setInterval(() => void this.#renew(lease), this.#parts.leaseMs / 3);
    while (this.#leads) {
      try {
        await this.#open(lease);
        if (this.#book !== undefined) await this.#serve(this.#book);
      } catch (error) {
        this.#failed(error);
        await this.#end.wait(this.#pauseMs());
      }
    }
    clearInterval(renewal);
    this.#book = undefined;
    this.#lease = undefined;
    // Where it is somebody else's by now, this changes nothing; where it cannot be let go of, it ends by itself.
    await releaseLease(this.#parts.database.commits, lease).catch(() => undefined);
  }

  get #leads(): boolean {
    return this.#lease !== undefined && !this.#stopping && this.#parts.clock.fault === undefined;
  }

  async #open(lease: Lease): Promise<void> {
    const { database, lane, clock, log } = this.#parts;
    const { code } = this.#market;
    this.#state = "opening";
    this.#book = undefined;
    const startedAt = clock.now();
    const outcome = await lane.execute(takeOver(code, lease.fence));
    if (outcome.kind !== "done") return this.#lose();
    this.#publish({ head: outcome.value, orders: [], executions: [] }, []);
    const book = new EngineBook(this.#market, outcome.value);
    await eachOpenOrder(database, this.#market, (order) => book.restoreOpen(order));
    await eachWaitingStop(database, code, (stop) => book.restoreStop(stop));
    this.#book = book;
    log({ kind: "market_opened", market: code, orders: book.size, ms: clock.now() - startedAt });
  }

  async #serve(book: EngineBook): Promise<void> {
    this.#state = "serving";
    while (this.#leads) {
      const startedMs = performance.now();
      const plan = await this.#plan(book);
      if (plan.round !== undefined) await this.#commit(book, plan.round, startedMs);
      if (plan.cancels.length > 0) await strikeOut(this.#parts.database, plan.cancels);
      this.#failures = 0;
      if (plan.round === undefined && plan.cancels.length === 0) await this.#work.wait();
    }
  }

  async #plan(book: EngineBook): Promise<Plan> {
    const { database, clock } = this.#parts;
    const { code } = this.#market;
    const { status, orders, hasCancels } = await readBacklog(database, code, ROUND);
    const cancels = hasCancels ? await readCancels(database, code, ROUND) : [];
    return book.run({ status, orders, cancels }, clock.now());
  }

  async #commit(book: EngineBook, round: Round, startedMs: number): Promise<void> {
    const { lane, clock, aroundRound = (_round, work) => work() } = this.#parts;
    const underWay = { market: this.#market.code, startedMs };
    const outcome = await aroundRound(underWay, () => lane.execute(commitRound(this.#market, round, clock.now())));
    if (outcome.kind === "rejected") throw new StaleBook(`the ${outcome.rejection.what} is not as the book believed`);
    if (outcome.kind === "exists") throw new StaleBook("a round claims no ref_id");
    book.accept(outcome.value);
    this.#publish(outcome.value, round.effects, book);
    const [market, orders] = [this.#market.code, outcome.value.orders.length];
    this.#parts.log({ kind: "round_committed", market, orders, ms: performance.now() - startedMs });
  }

  #publish(committed: Committed, effects: readonly RoundEffect[], book?: EngineBook): void {
    const { head, orders } = committed;
    const levels = book?.levelsOf(orders) ?? [];
    const change: BookChange = { market: this.#market.code, number: head.seq, levels };
    this.#parts.publish({ ...committed, market: this.#market, effects, change });
  }

  async #renew(lease: Lease): Promise<void> {
    // One at a time, however long the database takes: the others would wait for its row, and hold connections.
    if (this.#renewing === lease) return;
    this.#renewing = lease;
    try {
      const isKept = await renewLease(this.#parts.database, lease, this.#parts.leaseMs);
      // The answer may come when this lease was let go of, and even when the next one is there.
      if (!isKept && this.#lease === lease) this.#lose();
    } catch {
      // The database is away. Whether the lease is still ours, the next renewal finds out, or the next round.
    } finally {
      if (this.#renewing === lease) this.#renewing = undefined;
    }
  }

  #lose(): void {
    if (this.#lease === undefined) return;
    this.#lease = undefined;
    this.#parts.log({ kind: "market_lost", market: this.#market.code });
    this.#work.ring();
    this.#end.ring();
  }

  #failed(error: unknown): void {
    this.#state = "failing";
    this.#book = undefined;
    this.#failures += 1;
    const cause = error instanceof Error ? error : new Error(String(error));
    this.#parts.log({ kind: "market_failed", market: this.#market.code, error: cause });
  }

  #pauseMs(): number {
    const longest = Math.min(SHORTEST_PAUSE_MS * 2 ** Math.min(this.#failures, 10), LONGEST_PAUSE_MS);
    return longest * (0.5 + Math.random() / 2);
  }
}
