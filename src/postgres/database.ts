/**
 * Access to PostgreSQL: a pool for reads and short transactions, and dedicated connections. Values without an exact
 * JavaScript type (`numeric`, `int8`) are returned as text, times as `Instant`.
 */
import pg from "pg";
import { asError } from "../std/as-error.ts";
import { assert } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import { LONGEST_TIMER_MS } from "../std/pause.ts";
import { asObjects } from "./row-objects.ts";
import { prepareSession, type Session, type SessionSettings, SessionUnfit } from "./session.ts";
import { statementName } from "./statement-name.ts";
import { VALUE_TYPES } from "./value-types.ts";

export interface Queryable {
  /** @param planned `once` for a look-up by a unique key: see `Planning` */
  rows<Row>(text: string, values?: readonly unknown[], planned?: Planning): Promise<Row[]>;
}

export interface Transaction extends Queryable {
  /**
   * Has a last statement sent together with the COMMIT, so that what it locks is held for no round trip more. If it fails, so does
   * the transaction.
   */
  commitWith(text: string, values: readonly unknown[]): void;
}

/**
 * `each time`: for the values at hand. `once`: the statement is prepared on each connection, and after a few runs planned
 * for any values. That saves more than half of what a look-up of one row costs, but only fits a statement whose best plan
 * is the same for all values, and there must be few: each is kept by every connection until it is closed.
 */
export type Planning = "each time" | "once";

/** For who remembers what was read: see `Database.history`. */
export type QueryableWithHistory = Pick<Database, "rows" | "history">;

/** The database is unreachable, or reports that it cannot serve now. */
export class DatabaseAway extends Error {
  override readonly name: string = "DatabaseAway";
}

/** It responds and accepts no writes: a standby, or `default_transaction_read_only` is on. Nothing was done. */
export class DatabaseReadOnly extends DatabaseAway {
  override readonly name = "DatabaseReadOnly";

  constructor(cause: unknown) {
    super("the database is read-only", { cause });
  }
}

/** Why callers are rejected while nothing can be written. */
export function awayReason(fault: Error): string {
  return fault instanceof DatabaseReadOnly ? fault.message : "the database cannot be reached";
}

/**
 * It is unknown whether a transaction is durable: the connection was lost before the commit returned, or the commit
 * returned with a warning. PostgreSQL commits locally when the wait for a synchronous standby is interrupted, and warns:
 * the change is visible, but lost in a failover to that standby.
 */
export class OutcomeUnknown extends DatabaseAway {
  override readonly name = "OutcomeUnknown";

  /** @param cause For the log and the operator. The message is for callers. */
  constructor(cause: Error) {
    super("it is not known whether this was done", { cause });
  }
}

export interface DatabaseOptions {
  readonly connection: pg.ClientConfig;
  readonly maxConnections: number;
  /** Called when an idle pooled connection breaks. */
  readonly onIdleError: (error: Error) => void;
  /** How long a response is waited for. A black-holed connection gives no error; a live server times out earlier. */
  readonly responseMs?: number;
}

/** Timeouts of everything except the lane. */
const POOLED: SessionSettings = {
  statement_timeout: "15s",
  lock_timeout: "10s",
  idle_in_transaction_session_timeout: "10s",
};

/**
 * Extra connections for `commits`. Commits wait while a synchronous standby is unreachable, and must not take the
 * connections that reads need.
 */
const MAX_COMMITTING = 6;

const RESPONSE_MS = 20_000;

/** How often two sessions alternate before their backends count as dedicated. */
const ROUNDS = 8;

export class Database implements Queryable {
  readonly #pool: pg.Pool;
  readonly #committing: pg.Pool;
  /** For statements that commit; on separate, limited connections. */
  readonly commits: Queryable = {
    rows: (text, values = [], planned) => this.#rows(this.#committing, text, values, planned),
  };
  readonly #connection: pg.ClientConfig;
  /** All open connections, pooled and dedicated. */
  readonly #clients = new Set<pg.ClientBase>();
  /** Of the servers' processes, as they say themselves: a pooler makes up others. */
  readonly #pids = new WeakMap<pg.ClientBase, number>();
  #isCutOff = false;
  #history = "";
  /** Of the last server that accepts writes. Its timeline rises with each takeover, and with a restore to an earlier time. */
  #primary = { timeline: 0, history: "" };

  constructor(options: DatabaseOptions) {
    // A statement of any time would else wait for days for a server that has gone without a word.
    const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
    this.#connection = { ...keepAlive, ...options.connection, types: VALUE_TYPES };
    this.#pool = this.#openPool(options, options.maxConnections);
    this.#committing = this.#openPool(options, Math.min(MAX_COMMITTING, options.maxConnections));
  }

  #openPool({ onIdleError, responseMs = RESPONSE_MS }: DatabaseOptions, max: number): pg.Pool {
    const pool = new pg.Pool({
      ...this.#connection,
      max,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 30_000,
      // A plan that was made while a table was small must not scan it for long, even if nobody analyzes the table.
      maxLifetimeSeconds: 600,
      onConnect: async (client) => this.#accept(client, await prepareSession(client, POOLED)),
      query_timeout: responseMs,
      // In a transaction a statement can be sent before those before it are answered.
      pipeline: true,
    });
    // Without a listener, a connection that breaks between statements would end the process. The next statement fails.
    pool.on("connect", (client) => client.on("error", () => undefined));
    pool.on("error", (error) => {
      if (!pool.ending && !this.#isCutOff) onIdleError(error);
    });
    return pool;
  }

  /**
   * Names the history that is read now (`HISTORY`). What was read in another one may not be there any more, and its numbers
   * may stand for something else: who remembers it compares. It changes before the first row of the new one is read.
   */
  get history(): string {
    return this.#history;
  }

  async rows<Row>(text: string, values: readonly unknown[] = [], planned?: Planning): Promise<Row[]> {
    return this.#rows(this.#pool, text, values, planned);
  }

  async #rows<Row>(
    pool: pg.Pool,
    text: string,
    values: readonly unknown[],
    planned: Planning = "each time",
  ): Promise<Row[]> {
    const name = planned === "once" ? statementName(text) : undefined;
    return this.#withClient(pool, async (client) => asObjects<Row>(await commit(client, text, values, name)));
  }

  /**
   * Runs `work` in one READ COMMITTED transaction. When it returns, the commit is durable. A COMMIT that PostgreSQL turns
   * into a ROLLBACK throws; the driver would report success.
   *
   * @param takes `any time` disables the statement timeouts, for migrations.
   * @param begins `at once`: what `work` asks for before its first answer is sent together with BEGIN. If that fails, it runs
   * without a transaction, and is to write nothing.
   * @throws OutcomeUnknown when the commit was sent and may or may not be durable.
   */
  async transaction<Value>(
    work: (transaction: Transaction) => Promise<Value>,
    takes: "seconds" | "any time" = "seconds",
    begins: "first" | "at once" = "first",
  ): Promise<Value> {
    return this.#withClient(this.#pool, async (client) => {
      const begun = client.query("begin");
      begun.catch(() => undefined);
      if (begins === "first") await begun;
      if (takes === "any time") await client.query("set local statement_timeout = 0");
      const timeout = takes === "any time" ? { query_timeout: LONGEST_TIMER_MS } : {};
      let last: Parameters<Transaction["commitWith"]> | undefined;
      const send = (text: string, values: readonly unknown[] = []) =>
        client.query({ text, values: values as unknown[], rowMode: "array", ...timeout });
      const value = await work({
        rows: async <Row>(text: string, values?: readonly unknown[]) => {
          const [answer] = await Promise.all([send(text, values), begun]);
          return asObjects<Row>(answer);
        },
        commitWith: (...statement) => {
          assert(last === undefined, "a transaction is committed with one statement");
          last = statement;
        },
      });
      await begun;
      const answer = last && send(...last);
      // It is waited for behind the commit.
      answer?.catch(() => undefined);
      const ended = await commit(client, "commit");
      await answer;
      assert(ended.command === "COMMIT", `a transaction ends with COMMIT, but here it ended with ${ended.command}`);
      return value;
    });
  }

  async #withClient<Value>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    let client: pg.PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw asConnectFault(error);
    }
    let broken: Error | undefined;
    try {
      this.#rejectIfCutOff();
      return await work(client);
    } catch (error) {
      // After a failure the state of the connection is uncertain, so the pool discards it.
      broken = asFault(error);
      if (isUnanswered(error) && !this.#isCutOff) void this.#endWait(client);
      throw broken;
    } finally {
      client.release(broken);
    }
  }

  /**
   * Ends the wait of a session for the standby when its client no longer waits. Else it would last until the standby is
   * back, whatever becomes of the connection, and soon the server would have no room for new ones. The transaction is then
   * committed on this server only, which its client has to reckon with anyway.
   */
  async #endWait(client: pg.ClientBase): Promise<void> {
    const pid = this.#pids.get(client);
    await this.#pool.query(END_WAIT, [pid]).catch(() => undefined);
  }

  /** Opens a dedicated connection. The caller ends it. */
  async connect(config: pg.ClientConfig, settings: SessionSettings = {}): Promise<pg.Client> {
    return (await this.#open(config, settings)).client;
  }

  /**
   * Checks that no pooler shares backends between transactions. One session alone might get the same backend each time,
   * so two sessions alternate.
   *
   * @throws SessionUnfit
   */
  async checkSessionsAreNotShared(): Promise<void> {
    const opened = [await this.#open({}, POOLED)];
    try {
      opened.push(await this.#open({}, POOLED));
      for (let turn = 0; turn < ROUNDS; turn += 1) for (const { session } of opened) await session.verify();
    } catch (error) {
      throw asFault(error);
    } finally {
      for (const { client } of opened) await client.end().catch(() => undefined);
    }
  }

  async #open(config: pg.ClientConfig, settings: SessionSettings): Promise<{ client: pg.Client; session: Session }> {
    const client = new pg.Client({ connectionTimeoutMillis: 5_000, ...this.#connection, ...config });
    // An error before the owner listens would end the process. The first statement fails anyway.
    client.on("error", () => undefined);
    try {
      await client.connect();
      const session = await prepareSession(client, settings);
      this.#accept(client, session);
      this.#rejectIfCutOff();
      return { client, session };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw asConnectFault(error);
    }
  }

  /**
   * Rejects the session of a former primary. It may go on for a while without noticing that another server has taken over:
   * nothing that it commits is confirmed by the standby, but what it reads is old. When another server has taken over, the
   * connections to the former one are closed. So are those to a server on the same timeline when one of another history is
   * met: it was restarted, or a copy is in its place.
   *
   * @throws DatabaseAway
   */
  #accept(client: pg.ClientBase, { pid, timeline, history }: Session): void {
    const former = this.#primary;
    if (timeline !== undefined && timeline < former.timeline) throw new DatabaseAway(FORMER_PRIMARY);
    this.#history = history;
    this.#pids.set(client, pid);
    if (timeline !== undefined) {
      this.#primary = { timeline, history };
      const isAnother = former.timeline > 0 && (timeline > former.timeline || history !== former.history);
      if (isAnother) for (const other of this.#clients) destroyConnection(other);
    }
    this.#track(client);
  }

  /**
   * Destroys all connections synchronously and opens no more. PostgreSQL rolls back whatever is not committed.
   */
  cutOff(): void {
    this.#isCutOff = true;
    for (const client of this.#clients) destroyConnection(client);
  }

  #track(client: pg.ClientBase): void {
    this.#clients.add(client);
    client.once("end", () => this.#clients.delete(client));
  }

  #rejectIfCutOff(): void {
    if (this.#isCutOff) throw new DatabaseAway("this process has closed its database connections");
  }

  /** Counts of pooled connections; `waiting` counts the operations that wait for one. */
  report(): { readonly open: number; readonly idle: number; readonly waiting: number } {
    const pools = [this.#pool, this.#committing];
    const sum = (count: (pool: pg.Pool) => number): number => pools.reduce((total, pool) => total + count(pool), 0);
    return {
      open: sum(({ totalCount }) => totalCount),
      idle: sum(({ idleCount }) => idleCount),
      waiting: sum(({ waitingCount }) => waitingCount),
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), this.#committing.end()]);
  }
}

const FORMER_PRIMARY =
  "this database server is a former primary: another one has taken over since. If it was replaced by an older copy on " +
  "purpose, restart this process";

/** Destroys the socket of a connection, in whatever state it is. */
export function destroyConnection(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

const END_WAIT = "select pg_cancel_backend(pid) from pg_stat_activity where pid = $1 and wait_event = 'SyncRep'";

/** The driver has no code for it. */
function isUnanswered(error: unknown): boolean {
  return error instanceof Error && (error.message === "Query read timeout" || isUnanswered(error.cause));
}

/**
 * Runs a statement that commits. Any warning makes the outcome unknown: a cancelled wait for the standby has the generic
 * code 01000.
 */
async function commit(
  client: pg.PoolClient,
  text: string,
  values: readonly unknown[] = [],
  name?: string,
): Promise<pg.QueryArrayResult> {
  const warnings: string[] = [];
  const note = ({ message = "" }: { readonly message?: string | undefined }): void => void warnings.push(message);
  client.on("notice", note);
  try {
    const prepared = name === undefined ? {} : { name };
    const result = await client.query({ text, values: values as unknown[], rowMode: "array", ...prepared });
    if (warnings[0] !== undefined) throw new OutcomeUnknown(new Error(`the database warned: ${warnings[0]}`));
    return result;
  } catch (error) {
    const fault = asFault(error);
    const isKnown = fault instanceof OutcomeUnknown || fault instanceof DatabaseReadOnly;
    throw fault instanceof DatabaseAway && !isKnown ? new OutcomeUnknown(fault) : fault;
  } finally {
    client.off("notice", note);
  }
}

/** An optional time as a statement parameter. */
export function sqlTime(instant: Instant | undefined): Date | null {
  return instant === undefined ? null : new Date(instant);
}

/** The SQLSTATE of an error that PostgreSQL sent, and the constraint and table that it names. */
export function serverError(error: unknown): ServerError | undefined {
  return error instanceof pg.DatabaseError && error.code !== undefined
    ? { code: error.code, constraint: error.constraint, table: error.table }
    : undefined;
}

interface ServerError {
  readonly code: string;
  readonly constraint: string | undefined;
  readonly table: string | undefined;
}

/**
 * Whether a statement or lock timeout expired (SQLSTATE query_canceled, lock_not_available). A retry may succeed.
 */
export function isTimeout(error: unknown): boolean {
  return ["57014", "55P03"].includes(serverError(error)?.code ?? "");
}

/**
 * Converts errors that mean "unreachable" to DatabaseAway. Errors not sent by the server come from the socket, the pool or
 * name resolution. Of SQLSTATEs: 08 connection, 53 resources, 57P shutdown or start-up, 58 system,
 * 25006 read-only after a failover.
 */
export function asFault(error: unknown): Error {
  if (error instanceof DatabaseAway) return error;
  const sent = serverError(error);
  const away = sent === undefined ? isFromOutside(error) : /^(08|53|57P|58)/.test(sent.code);
  if (sent?.code === READ_ONLY) return new DatabaseReadOnly(error);
  if (!away) return asError(error);
  return new DatabaseAway("the database cannot be reached", { cause: error });
}

/**
 * The same while connecting, when no statement of ours can be the reason of an internal error (SQLSTATE XX). On a full disk
 * PostgreSQL rejects new sessions with one, "could not write init file".
 */
export function asConnectFault(error: unknown): Error {
  const isInternal = serverError(error)?.code.startsWith("XX") ?? false;
  return isInternal ? new DatabaseAway("the database cannot be reached", { cause: error }) : asFault(error);
}

const READ_ONLY = "25006";

function isFromOutside(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // The database is unusable until the operator corrects its settings.
  if (error instanceof SessionUnfit) return true;
  // Failed assertions and programming errors must not look like an outage.
  return error.name === "Error" || error.name === "AggregateError";
}
