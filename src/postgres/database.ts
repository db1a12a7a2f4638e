/**
 * The way to PostgreSQL: a pool for reads and short transactions, and single connections for those who need one of
 * their own. Values come back as exact text where JavaScript has no exact type (`numeric`, `int8`), times as `Instant`.
 */
import pg from "pg";
import { assert } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import { prepareSession, type Session, type SessionSettings, SessionUnfit } from "./session.ts";

/** What a statement can be run on. */
export interface Queryable {
  /** Runs one statement with its values and answers its rows. */
  rows<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** The database could not be reached, or said that it cannot serve now. */
export class DatabaseAway extends Error {
  override readonly name: string = "DatabaseAway";
}

/**
 * Nobody knows whether a transaction was committed for good: the connection was lost before its commit was answered, or a
 * warning came with the answer. PostgreSQL commits on its own when the wait for a synchronous standby is interrupted, and
 * says so in a warning: the change is visible, and is gone if that standby takes over.
 */
export class OutcomeUnknown extends DatabaseAway {
  override readonly name = "OutcomeUnknown";

  /** `cause`: for the log and the operator. The message is for callers. */
  constructor(cause: Error) {
    super("it is not known whether this was done", { cause });
  }
}

const TIMESTAMPTZ = 1184;
const DATE = 1082;
/** The longest that a timer of Node can wait. */
const FOREVER_MS = 2 ** 31 - 1;

/**
 * Timestamps as milliseconds: every one that we store has exactly three decimals. Dates as they are written: the driver
 * takes them for midnights of the place where it runs.
 */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") => {
    if (oid === TIMESTAMPTZ && format !== "binary") return readTimestamp;
    if (oid === DATE && format !== "binary") return String;
    return pg.types.getTypeParser(oid, format as "text");
  }) as typeof pg.types.getTypeParser,
};

/** Its form is `2026-11-21 20:08:02.123+00`, with minutes behind the hours where the zone has some. */
function readTimestamp(text: string): Instant {
  const sign = text.at(-3);
  const minutes = sign === "+" || sign === "-" ? ":00" : "";
  return Date.parse(`${text.slice(0, 10)}T${text.slice(11)}${minutes}`) as Instant;
}

export interface DatabaseOptions {
  /** Where and as whom: a connection string or its parts. */
  readonly connection: pg.ClientConfig;
  readonly maxConnections: number;
  /** Told of a pooled connection that broke while nobody used it. */
  readonly onIdleError: (error: Error) => void;
}

/** Bounds of everything that is not the lane's: a statement, a lock that it waits for, a pause in a transaction. */
const POOLED: SessionSettings = {
  statement_timeout: "15s",
  lock_timeout: "10s",
  idle_in_transaction_session_timeout: "10s",
};

/**
 * Connections for the statements of `commits`, beside those of the pool. A commit waits for as long as a synchronous standby
 * is away, and reads have to find connections while it does.
 */
const MOST_COMMITTING = 6;

/** How often two sessions take turns before their backends count as their own. */
const TURNS = 8;

export class Database implements Queryable {
  readonly #pool: pg.Pool;
  readonly #committing: pg.Pool;
  /** Runs statements that commit on the request of a caller: a few at a time, whoever else waits. */
  readonly commits: Queryable = { rows: (text, values = []) => this.#rows(this.#committing, text, values) };
  readonly #connection: pg.ClientConfig;
  /** All that are open, shared or not. */
  readonly #clients = new Set<pg.Client>();
  #isCutOff = false;

  constructor(options: DatabaseOptions) {
    this.#connection = { ...options.connection, types: TYPES };
    const { maxConnections, onIdleError } = options;
    this.#pool = this.#openPool(maxConnections, onIdleError);
    this.#committing = this.#openPool(Math.min(MOST_COMMITTING, maxConnections), onIdleError);
  }

  #openPool(max: number, onIdleError: (error: Error) => void): pg.Pool {
    const pool = new pg.Pool({
      ...this.#connection,
      max,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 30_000,
      onConnect: async (client) => void (await prepareSession(client, POOLED)),
      // A network that swallows everything sends no error: past this the server would have spoken.
      query_timeout: 20_000,
    });
    // A connection that breaks between two statements says so by an event, which would end the process if nobody
    // listened. The next statement finds out.
    pool.on("connect", (client) => this.#note(client.on("error", () => undefined)));
    pool.on("error", (error) => {
      // Who closes is not told of connections that end.
      if (!pool.ending && !this.#isCutOff) onIdleError(error);
    });
    return pool;
  }

  async rows<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#rows(this.#pool, text, values);
  }

  async #rows<Row>(pool: pg.Pool, text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#withClient(pool, async (client) => (await commit<Row & object>(client, text, values)).rows);
  }

  /**
   * Runs `work` in one READ COMMITTED transaction on a connection of its own. When this answers, the commit is
   * durable. `any time`: its statements are not broken off for taking long, as a migration's may. A COMMIT that
   * PostgreSQL answers with ROLLBACK is an error here, as it is nowhere in the driver.
   *
   * @throws OutcomeUnknown when the commit was sent and may or may not be durable.
   */
  async transaction<Value>(
    work: (transaction: Queryable) => Promise<Value>,
    takes: "seconds" | "any time" = "seconds",
  ): Promise<Value> {
    return this.#withClient(this.#pool, async (client) => {
      await client.query("begin");
      if (takes === "any time") await client.query("set local statement_timeout = 0");
      const timeout = takes === "any time" ? { query_timeout: FOREVER_MS } : {};
      const value = await work({
        rows: async <Row>(text: string, values: readonly unknown[] = []) =>
          (await client.query({ text, values: values as unknown[], ...timeout })).rows as Row[],
      });
      const ended = await commit(client, "commit");
      assert(ended.command === "COMMIT", `a transaction ends with COMMIT, but here it ended with ${ended.command}`);
      return value;
    });
  }

  async #withClient<Value>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    let client: pg.PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw asFault(error);
    }
    let broken: Error | undefined;
    try {
      this.#refuseIfCutOff();
      return await work(client);
    } catch (error) {
      // A connection is not used again after a failure: what state it is in is not worth reasoning about.
      broken = asFault(error);
      throw broken;
    } finally {
      client.release(broken);
    }
  }

  /** A connection of the caller's own, opened and not shared, with settings of its own. The caller ends it. */
  async connect(config: pg.ClientConfig, settings: SessionSettings = {}): Promise<pg.Client> {
    return (await this.#open(config, settings)).client;
  }

  /**
   * Throws when a pooler shares backends between transactions. One session alone may be given the same backend each
   * time; of two that take turns, one is given the other's, or is not given its own again.
   */
  async refuseSharedSessions(): Promise<void> {
    const opened = [await this.#open({}, POOLED)];
    try {
      opened.push(await this.#open({}, POOLED));
      for (let turn = 0; turn < TURNS; turn += 1) for (const { session } of opened) await session.verify();
    } catch (error) {
      throw asFault(error);
    } finally {
      for (const { client } of opened) await client.end().catch(() => undefined);
    }
  }

  async #open(config: pg.ClientConfig, settings: SessionSettings): Promise<{ client: pg.Client; session: Session }> {
    const client = new pg.Client({ connectionTimeoutMillis: 5_000, ...this.#connection, ...config });
    // It may break before its owner listens; that would end the process. The first statement finds out.
    client.on("error", () => undefined);
    try {
      await client.connect();
      const session = await prepareSession(client, settings);
      this.#refuseIfCutOff();
      this.#note(client);
      return { client, session };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw asFault(error);
    }
  }

  /**
   * Breaks all connections off at once, and opens no more: whoever has been given one can do nothing more on it. What was
   * begun and not yet committed is undone by PostgreSQL.
   */
  cutOff(): void {
    this.#isCutOff = true;
    for (const client of this.#clients) breakOff(client);
  }

  #note(client: pg.Client): void {
    this.#clients.add(client);
    client.once("end", () => this.#clients.delete(client));
  }

  #refuseIfCutOff(): void {
    if (this.#isCutOff) throw new DatabaseAway("this process no longer works on the database");
  }

  /** The shared connections: how many there are, are free, and are waited for. */
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

/** Breaks a connection off, so that nothing more can be done on it, whatever state it is in. */
export function breakOff(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/**
 * Runs a statement that ends its transaction. A warning makes its outcome unknown, whatever its code: a cancelled wait for
 * the standby has that of every warning (01000).
 */
async function commit<Row extends object>(
  client: pg.PoolClient,
  text: string,
  values: readonly unknown[] = [],
): Promise<pg.QueryResult<Row>> {
  const warnings: string[] = [];
  const note = ({ message = "" }: { readonly message?: string | undefined }): void => void warnings.push(message);
  client.on("notice", note);
  try {
    const result = await client.query<Row>(text, values as unknown[]);
    if (warnings[0] !== undefined) throw new OutcomeUnknown(new Error(`the database warned: ${warnings[0]}`));
    return result;
  } catch (error) {
    const fault = asFault(error);
    const isUnknown = fault instanceof DatabaseAway && !(fault instanceof OutcomeUnknown);
    throw isUnknown ? new OutcomeUnknown(fault) : fault;
  } finally {
    client.off("notice", note);
  }
}

/** An optional time as a value of a statement. */
export function sqlTime(instant: Instant | undefined): Date | null {
  return instant === undefined ? null : new Date(instant);
}

/** The SQLSTATE of an error that PostgreSQL sent, and the constraint that it names. */
export function serverError(error: unknown): { code: string; constraint: string | undefined } | undefined {
  return error instanceof pg.DatabaseError && error.code !== undefined
    ? { code: error.code, constraint: error.constraint }
    : undefined;
}

/**
 * Whether PostgreSQL broke a statement off at its time-out, or at that of a lock it waited for (SQLSTATE query_canceled,
 * lock_not_available). It is busy, not broken: trying again helps.
 */
export function tookTooLong(error: unknown): boolean {
  return ["57014", "55P03"].includes(serverError(error)?.code ?? "");
}

/**
 * Tells a database that is away from one that refused. Whatever the server did not send itself came from the socket,
 * the pool or the name service; of what it sent, class 08 is the connection, 53 exhausted resources, 57P a server
 * that is going down or coming up, 25006 a primary that has become a standby.
 */
export function asFault(error: unknown): Error {
  if (error instanceof DatabaseAway) return error;
  const sent = serverError(error);
  const away = sent === undefined ? isFromOutside(error) : /^(08|53|57P|25006)/.test(sent.code);
  if (!away) return error instanceof Error ? error : new Error(String(error));
  return new DatabaseAway("the database cannot be reached", { cause: error });
}

function isFromOutside(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // Until the operator has put it right, there is no database to work with.
  if (error instanceof SessionUnfit) return true;
  // Our own beliefs and mistakes in code must not look like weather.
  return error.name === "Error" || error.name === "AggregateError";
}
