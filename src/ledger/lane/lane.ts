/**
 * The lane: the one way by which anything that matters changes. Commands that arrive while a batch is being committed
 * go into the next one together: know, decide, save as one statement, and answer when it is durable.
 *
 * States:
 *   closed      no slot is held; nothing is taken in.
 *   running     batches are decided on the rows in memory and sent; up to two are under way on one connection.
 *   locking     no batch is under way; commands whose rows have to be locked first are being decided.
 *   recovering  a batch failed, or its outcome is unknown. Nothing is decided until the database has told what became
 *               of every batch under way; then memory starts anew.
 *
 *   closed -> running <-> locking, running -> recovering -> running, running -> closed
 */
import { asFault, type Database, DatabaseAway, serverError } from "../../postgres/database.ts";
import { assert } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { pause } from "../../std/pause.ts";
import type { Command, Outcome, Rejection } from "../decision.ts";
import type { LedgerClock } from "../ledger-clock.ts";
import { type Key, keyName, readKeys } from "../rows.ts";
import { AdmissionControl } from "./admission.ts";
import { Answers } from "./answers.ts";
import { RefIdLookup } from "./claims.ts";
import { ClockWatch } from "./clock-watch.ts";
import { type DecidedBatch, Deciding } from "./deciding.ts";
import { ExpiringSet } from "./expiring-set.ts";
import { FairQueue } from "./fair-queue.ts";
import { committed, dispatch, type InFlightBatch, movedRows } from "./in-flight-batch.ts";
import { LaneClosed, unlessClosed } from "./lane-closed.ts";
import { isContention, LaneConnection, LOCKING_SETTINGS } from "./lane-connection.ts";
import {
  BOUNDS,
  type CommittedBatch,
  type LaneBounds,
  type LaneEvent,
  type LaneOptions,
  type LaneReport,
  type LaneState,
} from "./lane-options.ts";
import { Loading } from "./loading.ts";
import type { PendingCommand, Steps } from "./pending-command.ts";
import { Slot } from "./slot.ts";

/** One batch commits while another is decided and sent. */
const MOST_IN_FLIGHT = 2;
/** How often a command is decided again before its caller is told to come back later. */
const MOST_ROUNDS = 5;
/** For how long a row that somebody else moved is locked before it is decided on. */
const CONTESTED_MS = 10_000;
/** A batch that the database has not answered by then is treated as lost. */
const IN_FLIGHT_MS = 9_000;
/** How long callers whose outcome is unknown wait for a database that is away. */
const PATIENCE_MS = 2_000;
const SWEEP_MS = 100;

export class Lane {
  readonly #database: Database;
  readonly #clock: LedgerClock;
  readonly #log: (event: LaneEvent) => void;
  readonly #onCommitted: (batch: CommittedBatch) => void;
  readonly #bounds: LaneBounds;
  readonly #clockWatch: ClockWatch;
  readonly #slot: Slot;
  readonly #admission: AdmissionControl;
  readonly #deciding: Deciding;
  readonly #refIds: RefIdLookup;
  readonly #answers: Answers;
  #state: LaneState = "closed";
  #closing = false;
  /** The database did not answer when it was last asked. */
  #away = false;
  readonly #connection: LaneConnection;
  /** Commands whose rows are being read, whose rows are known, and whose rows have to be locked first. */
  readonly #loading: Loading;
  readonly #queue = new FairQueue<PendingCommand>();
  #toLock: PendingCommand[] = [];
  /** Rows that somebody else keeps changing: for a while they are locked before they are decided on. */
  readonly #contested: ExpiringSet;
  #inFlight: InFlightBatch[] = [];
  #pumpSet = false;
  #timers: NodeJS.Timeout[] = [];
  /** The locking or recovering that is going on, or was the last. */
  #aside: Promise<void> = Promise.resolve();

  constructor(options: LaneOptions) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#onCommitted = options.onCommitted ?? (() => undefined);
    this.#bounds = { ...BOUNDS, ...options.bounds };
    this.#connection = new LaneConnection(options.database, options.clock, (warning) => this.#connectionLost(warning));
    this.#clockWatch = new ClockWatch(options.database, options.clock, options.log);
    this.#slot = new Slot(options.database, options.holder, this.#bounds.leaseMs);
    this.#admission = new AdmissionControl(this.#bounds.inside, this.#bounds.insidePerCustomer);
    this.#deciding = new Deciding(this.#bounds.remembered);
    this.#contested = new ExpiringSet(options.clock, CONTESTED_MS);
    this.#refIds = new RefIdLookup(options.database.commits, options.clock, this.#deciding);
    const steps: Steps = {
      admit: (waiting) => this.#admit(waiting),
      fail: (waiting, error) => this.#fail(waiting, error),
    };
    this.#answers = new Answers(this.#refIds, this.#bounds.batch, steps);
    this.#loading = new Loading(options.database, this.#deciding, this.#slot, this.#bounds.batch, steps);
  }

  async start(): Promise<void> {
    assert(this.#state === "closed", "a lane is started once");
    await this.#slot.take();
    await this.#connection.open();
    this.#state = "running";
    this.#timers = [
      setInterval(() => this.#sweep(), SWEEP_MS),
      setInterval(() => void this.#renew(), this.#bounds.leaseMs / 3),
    ];
  }

  /** Why one more command would be refused before anything of it is read; undefined when it would not. */
  get refusesWork(): string | undefined {
    if (this.#state === "closed" || this.#closing) return "the service is shutting down";
    if (this.#away) return "the database cannot be reached";
    if (this.#clock.fault !== undefined) return this.#clock.fault;
    return this.#admission.full ? "there is more work waiting than can be taken on" : undefined;
  }

  report(): LaneReport {
    const [state, slot, depth] = [this.#state, this.#slot.number, this.#admission.size];
    const counts = { inFlight: this.#inFlight.length, toLock: this.#toLock.length };
    return { state, slot, depth, ...counts, away: this.#away, clockFault: this.#clock.fault };
  }

  /**
   * Carries a command out. Answers when its effect, or what its refusal rests on, is durable. Throws `Unavailable`
   * when the lane is full, the database is away, or the outcome is not known in time: then nothing was done, or the
   * ref_id tells.
   */
  execute<Value, Why extends Rejection>(command: Command<Value, Why>): Promise<Outcome<Value, Why>> {
    const deadline = (this.#clock.now() + this.#bounds.deadlineMs) as Instant;
    const { waiting, outcome } = this.#admission.enter(command, deadline);
    if (this.#state === "closed" || this.#closing) waiting.unavailable("shutting down");
    else if (this.#away) waiting.unavailable("the database is away");
    else if (this.#clock.fault !== undefined) waiting.unavailable(this.#clock.fault);
    else if (waiting.answered) return outcome;
    else if (this.#refIds.isLikelyTaken(command.claim)) this.#answers.lookUpFirst(waiting);
    else this.#admit(waiting);
    return outcome;
  }

  /** Finishes what is inside, within the deadline that it has, and lets go of the slot. */
  async stop(): Promise<void> {
    if (this.#state === "closed") return;
    this.#closing = true;
    await this.#admission.empty();
    this.#state = "closed";
    for (const timer of this.#timers) clearInterval(timer);
    await this.#aside;
    await this.#connection.close();
    await this.#slot.release().catch(() => undefined);
  }

  // Know -------------------------------------------------------------------------------------------------------------

  /** A command whose rows are known takes its place in the line; for another they are read first. */
  #admit(waiting: PendingCommand): void {
    if (this.#deciding.isKnown(waiting)) {
      this.#queue.push(waiting.command.queueKey, waiting);
      this.#pumpSoon();
      return;
    }
    this.#loading.read(waiting);
  }

  // Decide and save --------------------------------------------------------------------------------------------------

  /** Requests that are parsed in the same turn of the event loop go into one batch. */
  #pumpSoon(): void {
    if (this.#pumpSet) return;
    this.#pumpSet = true;
    setImmediate(() => {
      this.#pumpSet = false;
      this.#pump();
    });
  }

  #pump(): void {
    // What waits is decided when the clock is right again, if that is within its time.
    if (this.#state !== "running" || this.#clock.fault !== undefined) return;
    while (this.#inFlight.length < MOST_IN_FLIGHT && this.#queue.size > 0 && this.#toLock.length === 0) {
      const taken = this.#queue.take(this.#bounds.batch).filter((waiting) => this.#isInTime(waiting));
      this.#toLock.push(...taken.filter((waiting) => this.#mustLock(waiting)));
      this.#dispatch(taken.filter((waiting) => !this.#mustLock(waiting)));
    }
    if (this.#toLock.length > 0 && this.#inFlight.length === 0) this.#lockSome();
  }

  #mustLock({ command }: PendingCommand): boolean {
    if (command.lock === true) return true;
    return !this.#contested.isEmpty && command.dependsOn.some((key) => this.#contested.has(keyName(key)));
  }

  #dispatch(group: readonly PendingCommand[]): void {
    // On remembered rows a rule may find what cannot be, such as a hold that another lane made since: it is decided
    // again on locked ones, and only what fails there is a bug.
    const batch = this.#decide(group, (waiting) => this.#toLock.push(waiting));
    if (batch === undefined) return;
    const sent = dispatch(batch, this.#slot.next(batch.content.digest));
    this.#inFlight.push(sent);
    this.#connection.send(sent).then(
      () => this.#onCommit(sent),
      (error: unknown) => this.#onFailure(sent, asFault(error)),
    );
  }

  #decide(group: readonly PendingCommand[], onFailed: Steps["fail"]): DecidedBatch | undefined {
    if (group.length === 0) return undefined;
    const { batch, unknown, failed } = this.#deciding.decide(group, this.#slot.number, this.#clock.now());
    for (const { waiting, error } of failed) onFailed(waiting, error);
    for (const waiting of unknown) this.#admit(waiting);
    return batch;
  }

  #onCommit(batch: InFlightBatch): void {
    if (this.#inFlight[0] !== batch) return;
    this.#inFlight.shift();
    this.#committed(batch);
    this.#pump();
  }

  #committed(batch: InFlightBatch): void {
    this.#onCommitted(committed(batch));
    this.#answers.tell(batch.decided);
  }

  // Under lock: for what cannot be decided on memory -----------------------------------------------------------------

  #lockSome(): void {
    this.#state = "locking";
    const work = this.#decideUnderLock(this.#toLock.splice(0));
    this.#aside = unlessClosed(work.then(() => this.#resume("locking")));
  }

  /** All together; and where that fails one command per batch, so that a poisonous one falls alone. */
  async #decideUnderLock(some: readonly PendingCommand[]): Promise<void> {
    for (let done = 0; done < some.length; done += this.#bounds.batch) {
      const group = some.slice(done, done + this.#bounds.batch);
      if ((await this.#saveUnderLock(group)) === undefined) continue;
      for (const waiting of group) await this.#saveAlone(waiting);
    }
  }

  async #saveAlone(waiting: PendingCommand): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const failure = await this.#saveUnderLock([waiting]);
      if (failure === undefined) return;
      if (attempt === MOST_ROUNDS || !isContention(failure)) return this.#fail(waiting, failure);
      await pause(Math.random() * 10 * 2 ** attempt);
    }
  }

  /** One batch in a transaction that locks its rows first. Answers the error when nothing of it was committed. */
  async #saveUnderLock(group: readonly PendingCommand[]): Promise<Error | undefined> {
    let sent: InFlightBatch | undefined;
    await this.#clockWatch.untilRight(() => group.some((waiting) => this.#isInTime(waiting)));
    try {
      const some = [...(await this.#refIds.lookUp(group.filter((waiting) => this.#isInTime(waiting))))];
      if (some.length === 0) return undefined;
      await this.#database.transaction(async (transaction) => {
        await transaction.rows(LOCKING_SETTINGS);
        const keys: Key[] = some.flatMap(({ command }) => command.dependsOn);
        const rows = await readKeys(transaction, keys, this.#slot.number, "for update");
        // What was read without a lock meanwhile may be older than what is locked now.
        this.#deciding.startAnew();
        for (const waiting of some) waiting.forgetAbsent();
        this.#deciding.learn(keys, rows, some);
        const batch = this.#decide(some, (waiting, error) => this.#fail(waiting, error));
        if (batch === undefined) return;
        sent = dispatch(batch, this.#slot.next(batch.content.digest));
        const statement = this.#connection.statementOf(sent);
        await transaction.rows(statement.text, statement.values);
      });
    } catch (error) {
      const lost: InFlightBatch | undefined = sent;
      const hasCommitted = lost !== undefined && (await this.#untilAnswered(() => this.#slot.hasCommitted(lost.link)));
      // Only now: the slot may be another one, and with it the house's accounts.
      this.#deciding.startAnew();
      // By a clock that was set meanwhile all that follows would fail as well: the two are compared anew.
      if (["too_late", "clock_ahead"].includes(serverError(asFault(error))?.constraint ?? "")) this.#connection.drop();
      if (!hasCommitted) return asFault(error);
    }
    if (sent !== undefined) this.#committed(sent);
    return undefined;
  }

  // Recovery ---------------------------------------------------------------------------------------------------------

  #onFailure(batch: InFlightBatch, error: Error): void {
    if (!this.#inFlight.includes(batch)) return;
    this.#log({ kind: "batch_failed", slot: batch.link.slot, n: batch.link.n, error });
    this.#recover();
  }

  /** The one way back, whatever has failed: find out, forget everything, decide again under lock. */
  #recover(): void {
    if (this.#state === "recovering" || this.#state === "closed") return;
    this.#state = "recovering";
    this.#aside = unlessClosed(this.#recoverAll());
  }

  async #recoverAll(): Promise<void> {
    const batches = this.#inFlight;
    this.#inFlight = [];
    this.#connection.drop();
    const lost = await this.#resolve(batches);
    const again = lost.flatMap(({ decided }) => decided.map(({ waiting }) => waiting));
    await this.#untilAnswered(async () => {
      await this.#slot.keep();
      if (lost[0] !== undefined) await this.#noteContested(lost[0]);
      await this.#connection.open();
    });
    this.#deciding.startAnew();
    await this.#decideUnderLock(again);
    const all = batches.reduce((sum, { decided }) => sum + decided.length, 0);
    const counts = { committed: all - again.length, again: again.length, voided: lost.length };
    this.#log({ kind: "recovered", slot: this.#slot.number, ...counts });
    this.#resume("recovering");
  }

  #resume(from: "locking" | "recovering"): void {
    if (this.#state === "closed") return;
    assert(this.#state === from, `a lane that is ${this.#state} does not end ${from}`);
    this.#state = "running";
    // A lost connection was noticed meanwhile: there is nothing under way, so going on means starting over.
    if (!this.#connection.isOpen) this.#recover();
    else this.#pump();
  }

  /** Answers the batches that have committed, and returns the others, which never will. */
  async #resolve(batches: readonly InFlightBatch[]): Promise<readonly InFlightBatch[]> {
    for (const [i, batch] of batches.entries()) {
      const hasCommitted = await this.#untilAnswered(() => this.#slot.hasCommitted(batch.link));
      // Those behind a lost batch rest on it: their predecessor will never be there.
      if (!hasCommitted) return batches.slice(i);
      this.#committed(batch);
    }
    return [];
  }

  /** Rows that are not as the lost batch had decided on belong to somebody else as well, for a while. */
  async #noteContested(batch: InFlightBatch): Promise<void> {
    for (const name of await movedRows(this.#database, batch, this.#slot.number)) this.#contested.note(name);
  }

  /**
   * Asks the database until it answers. Meanwhile whoever waits in line is told at once that nothing was done; those
   * whose batch was under way are told a little later that they have to ask again, unless the answer comes before.
   */
  async #untilAnswered<Value>(ask: () => Promise<Value>): Promise<Value> {
    const patientUntil = performance.now() + PATIENCE_MS;
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
      if (this.#state === "closed") throw new LaneClosed("nobody waits for the answer any more");
      try {
        const value = await ask();
        this.#away = false;
        return value;
      } catch (error) {
        const fault = asFault(error);
        // A bug of ours would only be met again.
        if (!(fault instanceof DatabaseAway) && serverError(fault) === undefined) throw fault;
        if (!this.#away) this.#log({ kind: "database_away", error: fault });
        this.#away = true;
        for (const waiting of this.#queue.take(this.#queue.size)) waiting.unavailable("the database is away");
        if (performance.now() > patientUntil)
          this.#admission.tellAll("the database is away: the ref_id tells what was done");
        await pause(pauseMs);
      }
    }
  }

  // Keeping going ----------------------------------------------------------------------------------------------------

  #connectionLost(warning: string | undefined): void {
    if (warning !== undefined) this.#log({ kind: "warned", slot: this.#slot.number, warning });
    // While locking, nothing is under way on it; `#resume` will find it gone.
    if (this.#state === "running") this.#recover();
  }

  async #renew(): Promise<void> {
    // When the database is away the next batch, or the next renewal, finds out.
    const isHeld = await this.#slot.renew().catch(() => true);
    // Whoever took the slot has voided our next number, and nothing of ours can commit on it any more.
    if (!isHeld && this.#state === "running") this.#recover();
  }

  #sweep(): void {
    this.#clockWatch.look();
    const now = this.#clock.now();
    this.#admission.expire(now);
    this.#contested.forgetOld();
    this.#refIds.forgetOld();
    const [oldest] = this.#inFlight;
    if (oldest !== undefined && oldest.sentMs + IN_FLIGHT_MS < performance.now()) this.#connection.drop();
    if (this.#state === "running" && !this.#connection.isOpen) this.#recover();
    this.#pump();
  }

  #isInTime(waiting: PendingCommand): boolean {
    if (waiting.deadline <= this.#clock.now()) waiting.unavailable(this.#clock.fault ?? "not in time");
    return !waiting.answered;
  }

  #fail(waiting: PendingCommand, error: unknown): void {
    const fault = asFault(error);
    if (fault instanceof DatabaseAway || isContention(fault)) {
      waiting.unavailable(fault.message);
      return;
    }
    this.#log({ kind: "command_failed", error: fault });
    waiting.fail(fault);
  }
}
