/**
 * The part of PostgreSQL that Parbook needs, in memory: sessions that execute their messages in order, atomic transactions,
 * row locks, READ COMMITTED. The seed decides how long things take, and whether a commit in flight survives a crash.
 */
import { serverError } from "../../../src/postgres/database.ts";
import type { Instant } from "../../../src/std/clock.ts";
import type { Timer, VirtualTime } from "../virtual-time.ts";
import { knownStatement } from "./known-statements.ts";
import { type Holder, RowLocks } from "./row-locks.ts";
import type { Run, Statement } from "./statement.ts";
import { checkRow, keyOfRow, type Row, serverFault, Tables, type Write } from "./tables.ts";

/** A transaction that has just become visible, with the rows before and after it. */
export interface Commit {
  /** Whose session it was. */
  readonly by: string;
  readonly changes: readonly (Write & { readonly before: Row | undefined })[];
}

/** The statements of one finished transaction. */
export interface Transcript {
  readonly at: number;
  readonly statements: readonly { readonly text: string; readonly values: readonly unknown[] }[];
  /** The code of the error that failed it first. */
  readonly error: string | undefined;
}

/** How long things take on the server, and what happens to commits in flight when it crashes. */
export interface Pace {
  executeMs(): number;
  commitMs(): number;
  isFlushedAtCrash(): boolean;
  /** Whether the wait for the standby is interrupted: the commit is visible, and the standby may lack it. */
  isInterrupted(): boolean;
}

export interface SessionSettings {
  /** The process that opened it. */
  readonly client: string;
  readonly lockMs: number;
  readonly idleInTransactionMs: number;
}

class Transaction implements Holder {
  waitsFor: string | undefined;
  readonly writes: Write[] = [];
  hasMessage = false;
  pages: Row[] = [];
  /** Of the session, unless the transaction has its own. */
  lockMs: number | undefined;

  get isWriting(): boolean {
    return this.hasMessage || this.writes.length > 0;
  }
}

export class SimulatedPostgres {
  readonly tables = new Tables();
  readonly time: VirtualTime;
  readonly locks: RowLocks;
  readonly pace: Pace;
  isUp = true;
  #starts = 1;
  /** The last commit of each row, by table and key; and the last commit that the standby has, with all before it. */
  readonly #committed = new Map<string, number>();
  #commits = 0;
  #replicated = 0;
  readonly sessions = new Set<Session>();
  readonly #listeners: ((commit: Commit) => void)[] = [];
  /** Called with every transaction when it ends. */
  onTranscript: (transcript: Transcript) => void = () => undefined;
  readonly #onUnknown: (error: Error) => void;

  constructor(time: VirtualTime, pace: Pace, onUnknown: (error: Error) => void) {
    this.time = time;
    this.locks = new RowLocks(time);
    this.pace = pace;
    this.#onUnknown = onUnknown;
  }

  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  /** The server crashes: open transactions are rolled back. */
  crash(): void {
    this.isUp = false;
    for (const session of [...this.sessions]) session.kill();
  }

  restart(): void {
    this.isUp = true;
    this.#starts += 1;
  }

  /** Another one after each start. */
  get history(): string {
    return `simulated ${this.#starts}`;
  }

  statement(text: string): Statement {
    try {
      return knownStatement(text);
    } catch (error) {
      // The simulation is out of date: no fault that the code under test could do anything about.
      this.#onUnknown(error as Error);
      throw error;
    }
  }

  /** Whether the standby has what stands in this row. */
  isReplicated(table: string, key: string): boolean {
    return (this.#committed.get(`${table}/${key}`) ?? 0) <= this.#replicated;
  }

  /** `isReplicated`: the standby had it before it became visible. */
  apply(transaction: Transaction, by: string, isReplicated: boolean): void {
    if (transaction.isWriting) this.#commits += 1;
    for (const { table, key } of transaction.writes) this.#committed.set(`${table}/${key}`, this.#commits);
    if (transaction.isWriting && isReplicated) this.#replicated = this.#commits;
    const changes = transaction.writes.map((write) => ({ ...write, before: this.tables.get(write.table, write.key) }));
    for (const write of transaction.writes) this.tables.apply(write);
    this.locks.release(transaction);
    if (changes.length > 0) for (const listener of this.#listeners) listener({ by, changes });
  }
}

interface Message {
  readonly text: string;
  readonly values: readonly unknown[];
  /** `isWarned`: a warning came before the answer. */
  readonly answer: (result: Row[] | Error, isWarned: boolean) => void;
}

/** One backend. It executes everything that was sent before it notices that its client is gone. */
export class Session {
  readonly #postgres: SimulatedPostgres;
  readonly #settings: SessionSettings;
  #lockMs: number;
  readonly #line: Message[] = [];
  #transaction: Transaction | undefined;
  /** In an explicit transaction, after a failure: only its end is accepted. */
  #hasFailed = false;
  #isExplicit = false;
  #isServing = false;
  #isOver = false;
  #isHungUp = false;
  #isCommitting = false;
  #isWarned = false;
  #transcript: Message[] = [];
  #error: string | undefined;
  #idle: Timer | undefined;
  #onKilled: () => void = () => undefined;

  constructor(postgres: SimulatedPostgres, settings: SessionSettings) {
    this.#postgres = postgres;
    this.#settings = settings;
    this.#lockMs = settings.lockMs;
    postgres.sessions.add(this);
  }

  /** Called when the server ends the session. */
  onKilled(listener: () => void): void {
    this.#onKilled = listener;
  }

  submit(message: Message): void {
    if (this.#isOver) return;
    this.#idle?.cancel();
    this.#line.push(message);
    if (!this.#isServing) void this.#serve();
  }

  /** The client is gone; what it sent is executed all the same. */
  hangUp(): void {
    this.#isHungUp = true;
    if (!this.#isServing) this.#end();
  }

  /** The server ends it, whatever it is doing. A commit in flight may be visible, but not on the standby. */
  kill(): void {
    if (this.#isOver) return;
    const transaction = this.#transaction;
    if (transaction !== undefined && this.#isCommitting && this.#postgres.pace.isFlushedAtCrash()) {
      this.#transaction = undefined;
      this.#postgres.apply(transaction, this.#settings.client, false);
      this.#report();
    }
    this.#end();
    this.#onKilled();
  }

  #end(): void {
    this.#isOver = true;
    this.#idle?.cancel();
    this.#postgres.sessions.delete(this);
    this.#rollBack();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    for (let next = this.#line.shift(); next !== undefined; next = this.#line.shift()) {
      this.#transcript.push(next);
      const result = await this.#execute(next);
      if (this.#isOver) return;
      if (result instanceof Error) this.#error ??= serverError(result)?.code;
      if (!this.#isExplicit) this.#report();
      next.answer(result, this.#isWarned);
      this.#isWarned = false;
    }
    this.#isServing = false;
    if (this.#isHungUp) this.#end();
    else if (this.#isExplicit) {
      this.#idle = this.#postgres.time.after(this.#settings.idleInTransactionMs, () => this.kill());
    }
  }

  #report(): void {
    this.#postgres.onTranscript({ at: this.#postgres.time.now, statements: this.#transcript, error: this.#error });
    this.#transcript = [];
    this.#error = undefined;
  }

  async #execute({ text, values }: Message): Promise<Row[] | Error> {
    try {
      await this.#postgres.time.pause(this.#postgres.pace.executeMs());
      if (this.#isOver) return [];
      if (text === "begin") {
        this.#isExplicit = true;
        return [];
      }
      if (text === "commit") return await this.#commitExplicit();
      if (this.#hasFailed) throw serverFault("25P02", "current transaction is aborted");
      const rows = await this.#postgres.statement(text)(this.#run(), values);
      if (!this.#isExplicit) await this.#commit();
      return rows;
    } catch (error) {
      if (this.#isExplicit) this.#hasFailed = true;
      else this.#rollBack();
      return error as Error;
    }
  }

  async #commitExplicit(): Promise<Row[]> {
    const hasFailed = this.#hasFailed;
    this.#isExplicit = false;
    this.#hasFailed = false;
    if (hasFailed) this.#rollBack();
    else await this.#commit();
    return [{ command: hasFailed ? "ROLLBACK" : "COMMIT" }];
  }

  async #commit(): Promise<void> {
    const transaction = this.#transaction;
    if (transaction === undefined) return;
    if (transaction.isWriting) {
      this.#isCommitting = true;
      await this.#postgres.time.pause(this.#postgres.pace.commitMs());
      this.#isCommitting = false;
    }
    if (this.#transaction !== transaction) return;
    this.#transaction = undefined;
    this.#isWarned = transaction.isWriting && this.#postgres.pace.isInterrupted();
    this.#postgres.apply(transaction, this.#settings.client, !this.#isWarned);
  }

  #rollBack(): void {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    if (transaction === undefined) return;
    this.#postgres.locks.breakOff(transaction);
    this.#postgres.locks.release(transaction);
  }

  #run(): Run {
    this.#transaction ??= new Transaction();
    const transaction = this.#transaction;
    const { tables, time, locks, history } = this.#postgres;
    const mostMs = transaction.lockMs ?? this.#lockMs;
    return {
      tables,
      get now() {
        return time.now as Instant;
      },
      history,
      lock: async (table, key, mode) => {
        await locks.take(transaction, `${table}/${key}`, mode, mostMs);
        if (this.#isOver) throw serverFault("57P01", "terminating connection due to administrator command");
      },
      lockUnlessHeld: (table, key, mode) => locks.takeUnlessHeld(transaction, `${table}/${key}`, mode),
      boundLockWaits: (ms, whose) => {
        if (whose === "of the session") this.#lockMs = ms;
        else transaction.lockMs = ms;
      },
      write: (table, row) => {
        checkRow(table, row);
        transaction.writes.push({ table, key: keyOfRow(table, row), row, writtenAt: time.now });
      },
      remove: (table, row) => {
        transaction.writes.push({ table, key: keyOfRow(table, row), row: undefined, writtenAt: time.now });
      },
      writeMessage: async (alone) => {
        if (alone !== undefined) await locks.take(transaction, "advisory", "exclusive", mostMs);
        transaction.hasMessage = true;
      },
      declare: (rows) => {
        transaction.pages = rows;
      },
      fetch: () => transaction.pages,
    };
  }
}
