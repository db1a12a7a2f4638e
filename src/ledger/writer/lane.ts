/**
 * The lane executes every command that changes the ledger. Commands that arrive while a batch commits form the next
 * batch: their rows are read, they are decided, one statement commits them, and their outcomes are reported when it is
 * durable.
 *
 * States:
 *   closed      no slot is held; no command is admitted.
 *   running     batches are decided on the rows in memory and dispatched; up to two are in flight on one connection.
 *   locking     no batch is in flight; commands whose rows must be locked first are being decided.
 *   recovering  a batch failed, or its outcome is unknown. Nothing is decided until the outcome of every in-flight
 *               batch is known; then what may be out of date is forgotten.
 *
 *   closed -> running <-> locking, running -> recovering -> running, running -> closed
 */
import { asFault, type Database, DatabaseAway, serverError } from "../../postgres/database.ts";
import { assert } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { DatabaseComparedClock } from "../compared-clock.ts";
import { type Claim, type Command, type Outcome, type Rejection, Unavailable } from "../decision.ts";
import { Held, isContention, isLockTimeout } from "./batch-conflicts.ts";
import { ClockWatch } from "./clock-watch.ts";
import { AdmissionControl } from "./command-admission.ts";
import { CommandQueue } from "./command-queue.ts";
import { DatabaseOutage } from "./database-outage.ts";
import { Decider } from "./decider.ts";
import { committed, dispatch, dissolve, failed, type InFlightBatch } from "./in-flight-batch.ts";
import { ignoreLaneClosed, LaneConnection } from "./lane-connection.ts";
import { BOUNDS, type LaneBounds, type LaneOptions, type LaneReport, type LaneState, LIMITS } from "./lane-options.ts";
import { LockQueue } from "./lock-queue.ts";
import { LockedBatches } from "./locked-batches.ts";
import { report, reportByRefId } from "./outcome-reporter.ts";
import type { PendingCommand } from "./pending-command.ts";
import { MicroBatcher } from "./reading/micro-batcher.ts";
import { readRows } from "./reading/read-rows.ts";
import { RefIdLookup } from "./reading/ref-id-lookup.ts";
import { contestedRows, type Refusal, refusalOf } from "./refusal.ts";
import type { RowLine } from "./row-lines.ts";
import { Slot } from "./slot-chain.ts";
import type { HeldCommand } from "./unheld-rows.ts";

export class Lane {
  readonly #database: Database;
  readonly #clock: DatabaseComparedClock;
  readonly #log: LaneOptions["log"];
  readonly #observer: Pick<LaneOptions, "onExecute" | "onCommitted">;
  readonly #bounds: LaneBounds;
  readonly #clockWatch: ClockWatch;
  readonly #slot: Slot;
  readonly #admission: AdmissionControl;
  readonly #decider: Decider;
  readonly #refIds: RefIdLookup;
  #state: LaneState = "closed";
  #closing = false;
  readonly #outage: DatabaseOutage;
  readonly #connection: LaneConnection;
  /** Commands that are probably retries, whose rows are being read, are known, or must be locked first. */
  readonly #retries: MicroBatcher<PendingCommand>;
  readonly #reads: MicroBatcher<PendingCommand>;
  readonly #queue = new CommandQueue();
  readonly #toLock: LockQueue;
  readonly #lockedBatches: LockedBatches;
  #inFlight: InFlightBatch[] = [];
  #nextPump: NodeJS.Immediate | undefined;
  #timers: NodeJS.Timeout[] = [];
  /** The current or last locking or recovery. */
  #background: Promise<void> = Promise.resolve();

  constructor(options: LaneOptions) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#observer = options;
    this.#bounds = { ...BOUNDS, ...options.bounds };
    this.#connection = new LaneConnection(options, this.#bounds, (warning) => this.#connectionLost(warning));
    this.#clockWatch = new ClockWatch(options.database, options.clock, options.log);
    this.#slot = new Slot(options.database, options.holder, this.#bounds.leaseMs);
    this.#admission = new AdmissionControl(this.#bounds.pending, this.#bounds.pendingPerCustomer);
    this.#decider = new Decider(this.#bounds);
    this.#outage = new DatabaseOutage(options.log, this.#queue, this.#admission, () => this.#state === "closed");
    this.#refIds = new RefIdLookup(options.database.commits, options.clock, this.#decider);
    this.#toLock = new LockQueue(options, this.#slot, this.#decider, this.#refIds, () => this.#pump());
    this.#lockedBatches = new LockedBatches(this.#bounds.batch, this.#toLock, {
      save: (group, line) => this.#saveUnderLock(group, line),
      fail: (pending, error) => this.#fail(pending, error),
    });
    const read = (some: readonly PendingCommand[]) => readRows(this.#database, this.#decider, this.#slot, some);
    this.#reads = new MicroBatcher(this.#bounds.batch, (some) => this.#proceed(some, read(some)));
    this.#retries = new MicroBatcher(this.#bounds.batch, (some) => this.#proceed(some, this.#refIds.lookUp(some)));
  }

  async start(): Promise<void> {
    assert(this.#state === "closed", "a lane is started once");
    await this.#slot.take();
    await this.#connection.open();
    this.#state = "running";
    this.#timers = [
      setInterval(() => this.#sweep(), LIMITS.sweepMs),
      setInterval(() => void this.#renew(), this.#bounds.leaseMs / 3),
    ];
  }

  /** Why the lane admits no more commands, as a text for the response; undefined when it does. */
  get unavailableReason(): string | undefined {
    const isFull = this.#admission.isFull ? "the service is at capacity: too many requests are waiting" : undefined;
    return this.#restingReason ?? isFull;
  }

  get #restingReason(): string | undefined {
    if (this.#state === "closed" || this.#closing) return "the service is shutting down";
    return this.#outage.reason ?? this.#clock.fault;
  }

  report(): LaneReport {
    const [state, slot, depth] = [this.#state, this.#slot.number, this.#admission.size];
    const counts = { inFlight: this.#inFlight.length, toLock: this.#toLock.size };
    const faults = { databaseAway: this.#outage.reason !== undefined, clockFault: this.#clock.fault };
    return { state, slot, depth, ...counts, ...faults };
  }

  /**
   * Executes a command. Resolves when its effect, or everything that its rejection depends on, is durable.
   * @throws Unavailable when the lane is full, the database is away, or the outcome is not known in time: then nothing
   * was committed, or a lookup by ref_id shows what was.
   */
  execute<Value, Why extends Rejection, Claimed extends Claim = never>(
    command: Command<Value, Why, Claimed>,
  ): Promise<Outcome<Value, Why, Claimed>> {
    const deadline = (this.#clock.now() + this.#bounds.deadlineMs) as Instant;
    const { pending, outcome } = this.#admission.admit(command, deadline);
    this.#observer.onExecute?.(command, outcome);
    const why = this.#restingReason;
    if (why !== undefined) pending.unavailable(why);
    else if (pending.isComplete) return outcome;
    else if (this.#refIds.isLikelyTaken(pending.claims)) this.#retries.add(pending);
    else this.#admit(pending);
    return outcome;
  }

  /** Drains pending commands, within their deadlines, and releases the slot. */
  async stop(): Promise<void> {
    if (this.#state === "closed") return;
    this.#closing = true;
    await this.#admission.drained();
    this.#state = "closed";
    this.#toLock.close();
    for (const timer of this.#timers) clearInterval(timer);
    await this.#background;
    await this.#connection.close();
    await this.#slot.release().catch(() => undefined);
  }

  // Load -------------------------------------------------------------------------------------------------------------

  #admit(pending: PendingCommand): void {
    // What is locked first is read then.
    if (this.#toLock.isFor(pending)) this.#toLock.push([pending]);
    else if (this.#decider.isKnown(pending)) this.#queue.push(pending);
    else this.#reads.add(pending);
    this.#schedulePump();
  }

  /** Admits the commands that a lookup returns. If it fails, all that it was for fail. */
  async #proceed(some: readonly PendingCommand[], lookup: Promise<Iterable<PendingCommand>>): Promise<void> {
    try {
      for (const ready of await lookup) this.#admit(ready);
    } catch (error) {
      for (const pending of some) this.#fail(pending, error);
    }
  }

  // Decide and dispatch ----------------------------------------------------------------------------------------------

  /** Requests that are parsed in the same turn of the event loop go into one batch. */
  #schedulePump(): void {
    this.#nextPump ??= setImmediate(() => {
      this.#nextPump = undefined;
      this.#pump();
    });
  }

  #pump(): void {
    // Queued commands are decided when the clock is right again, if that is before their deadline.
    if (this.#state !== "running" || this.#clock.fault !== undefined) return;
    while (this.#inFlight.length < LIMITS.inFlight && !this.#toLock.isReady) {
      const taken = this.#takeQueued();
      // The queue need not be empty then: what is heavy waits until the heavy batch in flight is committed.
      if (taken.length === 0) break;
      this.#dispatch(this.#undiverted(taken));
    }
    if (this.#toLock.isReady && this.#inFlight.length === 0) this.#startLocking();
  }

  /** For one batch. */
  #takeQueued(): readonly PendingCommand[] {
    return this.#queue.take(this.#bounds.batch, this.#bounds.batchRows, this.#inFlight);
  }

  /** Those whose rows need not be locked first. */
  #undiverted(taken: readonly PendingCommand[]): readonly PendingCommand[] {
    return this.#toLock.divert(taken.filter((pending) => this.#isInTime(pending)));
  }

  #dispatch(group: readonly PendingCommand[]): void {
    // Rows in memory may be stale and so contradict each other, for example when another lane has added a hold. A rule
    // that fails is run again on locked rows; only a failure there is a bug.
    const { batch, failed, unknown } = this.#decider.decide(group, this.#slot.number, this.#clock.now());
    for (const pending of unknown) this.#admit(pending);
    this.#toLock.push(failed.map(({ pending }) => pending));
    if (batch === undefined) return;
    const sent = dispatch(batch, this.#slot.next(batch.content.digest));
    this.#inFlight.push(sent);
    this.#connection.send(sent).then(
      () => this.#onCommit(sent),
      (error: unknown) => this.#onFailure(sent, asFault(error)),
    );
  }

  #onCommit(batch: InFlightBatch): void {
    if (this.#inFlight[0] !== batch) return;
    this.#inFlight.shift();
    this.#committed(batch);
    this.#pump();
  }

  #committed(batch: InFlightBatch): void {
    this.#connection.noteCommit(batch);
    this.#observer.onCommitted?.(committed(batch));
    dissolve(batch);
    const others = report(batch.decided);
    const some = others.map(({ pending }) => pending);
    if (some.length > 0) void this.#proceed(some, reportByRefId(this.#refIds, others));
  }

  // Decide under lock ------------------------------------------------------------------------------------------------

  /** With others that wait for their turn: in a batch of their own they would be decided a round trip and a commit later. */
  #startLocking(): void {
    this.#state = "locking";
    const locked = this.#toLock.take();
    const others = [...(locked.others ?? []), ...this.#undiverted(this.#takeQueued())];
    const deciding = this.#lockedBatches.decide({ ...locked, others });
    this.#background = ignoreLaneClosed(
      deciding.then(() => {
        this.#toLock.onDecided();
        this.#resume("locking");
      }),
    );
  }

  /** One batch in a transaction that locks its rows first, or has some. @returns the error when nothing was committed */
  async #saveUnderLock(group: readonly PendingCommand[], line?: RowLine): Promise<Error | undefined> {
    let sent: InFlightBatch | undefined;
    // Admitted only when the transaction has ended: if it fails, the whole group is decided again, and they with it.
    const others: PendingCommand[] = [];
    let held: readonly HeldCommand[] = [];
    await this.#clockWatch.untilRight(() => group.some((pending) => this.#isInTime(pending)));
    try {
      const some = group.filter((pending) => this.#isInTime(pending));
      if (some.length === 0) return line?.leave();
      await this.#connection.lockingTransaction(line, async (transaction) => {
        const locked = await this.#toLock.lock(transaction, some, line);
        held = locked.held;
        const decisions = this.#decider.decide(locked.free, this.#slot.number, this.#clock.now());
        others.push(...decisions.unknown);
        for (const { pending, error } of decisions.failed)
          if (line === undefined || pending.throwsAgain()) this.#fail(pending, error);
          else others.push(pending);
        if (decisions.batch === undefined) return;
        sent = dispatch(decisions.batch, this.#slot.next(decisions.batch.content.digest));
        this.#connection.commitWith(transaction, sent);
      });
    } catch (error) {
      const [fault, lost]: [Error, InFlightBatch | undefined] = [asFault(error), sent];
      const isHeld = fault instanceof Held || isLockTimeout(fault);
      if (isHeld || (lost !== undefined && refusalOf(lost, fault) !== undefined)) {
        if (lost !== undefined) this.#takeBack([lost]);
        return isHeld ? new Held() : fault;
      }
      const hasCommitted = lost !== undefined && (await this.#outage.outlast(() => this.#slot.hasCommitted(lost.link)));
      // Only now, because the slot may have changed, and with it the house accounts.
      this.#decider.reset();
      // If a clock was set, all later batches would fail too: reconnecting measures it anew.
      if (["too_late", "clock_ahead"].includes(serverError(fault)?.constraint ?? "")) this.#connection.drop();
      if (!hasCommitted && lost !== undefined) dissolve(lost);
      if (!hasCommitted) return fault;
    }
    if (sent !== undefined) this.#committed(sent);
    for (const pending of others) this.#admit(pending);
    this.#toLock.lineUp(held);
    return undefined;
  }

  // Recovery ---------------------------------------------------------------------------------------------------------

  #onFailure(batch: InFlightBatch, error: Error): void {
    if (!this.#inFlight.includes(batch)) return;
    this.#log(failed(batch, error));
    this.#recover(batch === this.#inFlight[0] ? refusalOf(batch, error) : undefined);
  }

  /** The only recovery path, whatever failed: resolve the batches in flight, forget what they changed, decide again under lock. */
  #recover(refusal?: Refusal): void {
    if (this.#state === "recovering" || this.#state === "closed") return;
    this.#state = "recovering";
    this.#background = ignoreLaneClosed(this.#recoverAll(refusal));
  }

  async #recoverAll(refusal: Refusal | undefined): Promise<void> {
    const batches = this.#inFlight;
    this.#inFlight = [];
    // Those behind the first are refused with it. During the round trips of a new session everybody's writes would wait.
    const goesOn = refusal !== undefined && (await this.#connection.isAnswered(LIMITS.inFlightMs));
    if (!goesOn) this.#connection.drop();
    const lost = goesOn ? batches : await this.#resolve(batches);
    const again = goesOn ? this.#takeBack(lost) : lost.flatMap(dissolve);
    await this.#outage.outlast(async () => {
      if (!goesOn) await this.#slot.renewOrTake();
      this.#toLock.addContested(await contestedRows(this.#database, lost[0], this.#slot.number, refusal));
      if (!this.#connection.isOpen) await this.#connection.open();
    });
    // Where one row was changed, others were. Where one is held, the rest of what is in memory is as it was.
    if (!goesOn || refusal === "changed") this.#decider.reset();
    await this.#lockedBatches.decide({ commands: this.#toLock.divert(again) });
    const all = batches.flatMap(({ decided }) => decided).length;
    const counts = { committed: all - again.length, again: again.length, voided: goesOn ? 0 : lost.length };
    this.#log({ kind: "recovered", slot: this.#slot.number, ...counts });
    this.#resume("recovering");
  }

  /** Batches that have not committed, for sure: their numbers are used again. @returns their commands */
  #takeBack(batches: readonly InFlightBatch[]): PendingCommand[] {
    this.#slot.rewind(batches);
    for (const batch of batches) this.#decider.undo(batch);
    return batches.flatMap(dissolve);
  }

  #resume(from: "locking" | "recovering"): void {
    if (this.#state === "closed") return;
    assert(this.#state === from, `a lane that is ${this.#state} does not end ${from}`);
    this.#state = "running";
    // The connection broke in this state. Nothing was in flight, so recovery only reconnects.
    if (!this.#connection.isOpen) this.#recover();
    else this.#pump();
  }

  /** Reports the batches that have committed. @returns the others, which never will */
  async #resolve(batches: readonly InFlightBatch[]): Promise<readonly InFlightBatch[]> {
    for (const [i, batch] of batches.entries()) {
      const hasCommitted = await this.#outage.outlast(() => this.#slot.hasCommitted(batch.link));
      // Later batches depend on the lost one: their predecessor will never exist.
      if (!hasCommitted) return batches.slice(i);
      this.#committed(batch);
    }
    return [];
  }

  // Upkeep -----------------------------------------------------------------------------------------------------------

  #connectionLost(warning: string | undefined): void {
    if (warning !== undefined) this.#log({ kind: "warned", slot: this.#slot.number, warning });
    // While locking, nothing is in flight on it; `#resume` handles the loss.
    if (this.#state === "running") this.#recover();
  }

  async #renew(): Promise<void> {
    // If the database is away, the next batch or renewal will notice.
    const isHeld = await this.#slot.renew().catch(() => true);
    // The new holder has voided our next number, so nothing of ours can commit on this slot any more.
    if (!isHeld && this.#state === "running") this.#recover();
  }

  #sweep(): void {
    this.#clockWatch.check();
    const now = this.#clock.now();
    this.#admission.expire(now);
    this.#toLock.removeExpired();
    this.#refIds.removeExpired();
    if (this.#inFlight.some(({ sentMs }) => sentMs + LIMITS.inFlightMs < performance.now())) this.#connection.drop();
    if (this.#state === "running" && !this.#connection.isOpen) this.#recover();
    this.#pump();
  }

  #isInTime(pending: PendingCommand): boolean {
    if (pending.deadline <= this.#clock.now()) pending.unavailable(this.#clock.fault ?? "not in time");
    return !pending.isComplete;
  }

  #fail(pending: PendingCommand, error: unknown): void {
    const fault = asFault(error);
    const isPassing = fault instanceof DatabaseAway || isContention(fault, pending.claims);
    if (!isPassing) this.#log({ kind: "command_failed", error: fault });
    pending.fail(isPassing ? new Unavailable(fault.message) : fault);
  }
}
