/** The lane's own connection: pipelined, with settings that keep query plans and waiting times predictable. */
import type pg from "pg";
import { type Database, destroyConnection, type Queryable, type Transaction } from "../../postgres/database.ts";
import type { SessionSettings } from "../../postgres/session.ts";
import { must } from "../../std/assert.ts";
import type { DatabaseComparedClock } from "../compared-clock.ts";
import type { InFlightBatch } from "./in-flight-batch.ts";
import type { LaneBounds, LaneOptions } from "./lane-options.ts";
import { LOCKING_SETTINGS, LockPatience } from "./lock-patience.ts";
import { PreparedStatements } from "./prepared-statements.ts";
import type { RowLine } from "./row-lines.ts";
import { type Statement, Statements } from "./statement.ts";

/**
 * A batch's statement joins a few hundred keys to tables by primary key, with one generic plan. Made while the tables
 * are small, that plan would scan them forever, so everything but the index is disabled. A batch whose locks or
 * statement time out fails as a whole and is decided again.
 */
const SETTINGS: SessionSettings = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
  jit: "off",
  statement_timeout: "8s",
  idle_in_transaction_session_timeout: "5s",
};

/** For the batches that follow on the lane's own connection. */
export const LOCK_TIMEOUT = "select set_config('lock_timeout', $1, false)";

export class LaneConnection {
  readonly #database: Database;
  readonly #clock: DatabaseComparedClock;
  readonly #patience: LockPatience;
  readonly #onLost: (warning?: string) => void;
  readonly #statements = new Statements();
  #session: { readonly client: pg.Client; readonly prepared: PreparedStatements; lockTimeout: string } | undefined;
  /** Settles when all that was sent so far has been answered, with success or failure. */
  #answered: Promise<unknown> = Promise.resolve();
  #lastCommitMs = 0;

  /**
   * @param onLost called when an open connection breaks, not when it is dropped or closed. Any warning breaks the
   * connection, so that no batch in flight on it counts as committed.
   */
  constructor(
    { database, clock }: Pick<LaneOptions, "database" | "clock">,
    { leastLockWaitMs }: Pick<LaneBounds, "leastLockWaitMs">,
    onLost: (warning?: string) => void,
  ) {
    this.#database = database;
    this.#clock = clock;
    this.#patience = new LockPatience(leastLockWaitMs);
    this.#onLost = onLost;
  }

  get isOpen(): boolean {
    return this.#session !== undefined;
  }

  async open(): Promise<void> {
    const lockTimeout = this.#patience.timeout;
    const settings = { ...SETTINGS, lock_timeout: lockTimeout };
    const client = await this.#database.connect({ pipeline: true, application_name: "parbook lane" }, settings);
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    // PostgreSQL warns, before it responds, when it did not wait for the standby to confirm a commit.
    client.on("notice", ({ message }) => this.#lost(client, message));
    this.#session = { client, prepared: new PreparedStatements(client), lockTimeout };
    try {
      await this.#clock.measure(() => timeOf(client), true);
    } catch (error) {
      this.drop();
      throw error;
    }
  }

  /** Pipelines a batch behind those already sent. Resolves when it has committed. */
  async send(flight: InFlightBatch): Promise<void> {
    const session = must(this.#session, "a running lane has its connection");
    const { client, prepared } = session;
    const lockTimeout = this.#patience.timeout;
    if (session.lockTimeout !== lockTimeout) {
      session.lockTimeout = lockTimeout;
      // If this fails, the connection is lost, and the batch with it.
      client.query({ text: LOCK_TIMEOUT, values: [lockTimeout] }).catch(() => undefined);
    }
    const { name, ...statement } = this.#statementOf(flight);
    const answer = client.query({ ...statement, name: prepared.nameOf(name) });
    this.#answered = answer.catch(() => undefined);
    await answer;
  }

  /** Lets a transaction of `lockingTransaction` write a batch when it commits. */
  commitWith(transaction: Transaction, flight: InFlightBatch): void {
    const { text, values } = this.#statementOf(flight);
    transaction.commitWith(text, values);
  }

  /** That a batch has committed, by either way: how long that takes is how long the next ones wait for locks. */
  noteCommit({ sentMs }: InFlightBatch): void {
    const now = performance.now();
    this.#patience.observe(now - Math.max(sentMs, this.#lastCommitMs));
    this.#lastCommitMs = now;
  }

  /**
   * Waits for the answers to all that was sent, and until what was refused holds no rows any more: PostgreSQL answers with the
   * error first, and rolls back then. @returns whether the connection is still open
   */
  async isAnswered(mostMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), mostMs);
    });
    const haveCome = await Promise.race([this.#answered.then(() => this.#isAtRest()), late]);
    clearTimeout(timer);
    return haveCome && this.isOpen;
  }

  /** One statement is begun when the one before it has ended. */
  async #isAtRest(): Promise<boolean> {
    const { client, lockTimeout } = this.#session ?? {};
    const answer = client?.query({ text: LOCK_TIMEOUT, values: [lockTimeout] });
    return (await answer?.catch(() => undefined)) !== undefined;
  }

  /** The statement that commits a batch, here or in a transaction. Its time bounds are checked by the database's clock. */
  #statementOf({ content, link, decidedAt, deadline }: InFlightBatch): Statement {
    const times = { notBefore: this.#clock.notBefore(decidedAt), deadline: this.#clock.databaseTime(deadline) };
    return this.#statements.batch(content, link, times);
  }

  /** A pooled transaction that locks rows and writes a batch, or that of a line, which has rows already. */
  async lockingTransaction(
    line: RowLine | undefined,
    work: (transaction: Transaction) => Promise<void>,
  ): Promise<void> {
    const bounded = async (transaction: Transaction): Promise<void> => {
      await Promise.all([transaction.rows(LOCKING_SETTINGS, [this.#patience.timeout]), work(transaction)]);
    };
    await (line === undefined ? this.#database.transaction(bounded, "seconds", "at once") : line.run(bounded));
  }

  /** Breaks the connection at once, whatever its state. */
  drop(): void {
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) destroyConnection(session.client);
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.client.end().catch(() => undefined);
  }

  #lost(client: pg.Client, warning?: string): void {
    if (this.#session?.client !== client) return;
    this.drop();
    this.#onLost(warning);
  }
}

/** A network that drops packets silently raises no error, and nothing else would end this wait. */
const TIME_QUERY_TIMEOUT_MS = 5_000;

async function timeOf(client: pg.Client): Promise<number> {
  const question = { text: DATABASE_TIME, query_timeout: TIME_QUERY_TIMEOUT_MS };
  const { rows } = await client.query<{ now: string }>(question);
  return Number(rows[0]?.now);
}

/** @returns milliseconds since 1970, with fractions */
export async function readDatabaseTime(database: Queryable): Promise<number> {
  const [row] = await database.rows<{ now: string }>(DATABASE_TIME);
  return Number(row?.now);
}

const DATABASE_TIME = "select extract(epoch from clock_timestamp()) * 1000 as now";

/** Ends the retries of a stopped lane. */
export class LaneClosed extends Error {
  override readonly name = "LaneClosed";
}

/** A closed lane has no pending commands; the slot's next holder resolves its batches. */
export async function ignoreLaneClosed(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof LaneClosed)) throw error;
  }
}
