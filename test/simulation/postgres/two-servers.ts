/**
 * The simulated PostgreSQL and a real one behind one interface, so that their results can be compared. The real one has the
 * simulated time: a function of the same name shadows `clock_timestamp()`.
 */
import type pg from "pg";
import { serverError } from "../../../src/postgres/database.ts";
import type { TestDatabase } from "../../support/database.ts";
import { until } from "../../support/until.ts";
import { VirtualTime } from "../virtual-time.ts";
import { Session, SimulatedPostgres } from "./simulated-postgres.ts";
import { type Row, TABLE_NAMES } from "./tables.ts";

/** Rows as text, or the error's code and constraint. */
export type Heard = readonly string[] | string;

export interface Speaker {
  send(text: string, values?: readonly unknown[]): Promise<Heard>;
  end(): Promise<void>;
}

export interface Server {
  speaker(name: string): Promise<Speaker>;
  setTime(now: number): Promise<void>;
  /** Waits until every statement but so many has a result or waits for a lock. */
  settle(open: () => number): Promise<void>;
  /** Continues until this has a result. */
  finish(answer: Promise<Heard>): Promise<Heard>;
  rows(table: string, columns: readonly string[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** How long a session waits for a lock, on either of them. */
export const IMPATIENT = "impatient";
/** Virtual time in which everything completes that does not wait for a lock. */
const SETTLED_MS = 100;

export class TwinServer implements Server {
  readonly time = new VirtualTime();
  readonly postgres: SimulatedPostgres;

  constructor() {
    const pace = { executeMs: () => 0, commitMs: () => 0, isFlushedAtCrash: () => true, isInterrupted: () => false };
    this.postgres = new SimulatedPostgres(this.time, pace, (error) => {
      throw error;
    });
  }

  async speaker(name: string): Promise<Speaker> {
    const settings = { client: name, lockMs: name === IMPATIENT ? 300 : 20_000, idleInTransactionMs: 3_600_000 };
    const session = new Session(this.postgres, settings);
    return {
      send: (text, values = []) =>
        new Promise((resolve) => {
          session.submit({ text, values, answer: (result) => resolve(heardOf(text, result)) });
        }),
      end: async () => void this.time.after(0, () => session.hangUp()),
    };
  }

  async setTime(now: number): Promise<void> {
    const ms = Math.max(0, now - this.time.now);
    this.time.after(ms, () => undefined);
    await this.time.runUntil(() => this.time.now >= now, ms);
  }

  async settle(open: () => number): Promise<void> {
    let isOver = false;
    this.time.after(SETTLED_MS, () => (isOver = true));
    await this.time.runUntil(() => isOver || open() === 0, SETTLED_MS);
  }

  async finish(answer: Promise<Heard>): Promise<Heard> {
    let isOpen = true;
    void answer.then(() => (isOpen = false));
    await this.time.runUntil(() => !isOpen, 60_000);
    return answer;
  }

  tablesInUse(): string[] {
    return TABLE_NAMES.filter((table) => this.postgres.tables.rows(table).length > 0);
  }

  columnsOf(table: string): string[] {
    return [...new Set(this.postgres.tables.rows(table).flatMap((row) => Object.keys(row)))];
  }

  async rows(table: string, columns: readonly string[]): Promise<readonly string[]> {
    return this.postgres.tables
      .rows(table)
      .map((row) => wordsOf(row, columns))
      .sort();
  }

  async close(): Promise<void> {
    for (const session of [...this.postgres.sessions]) session.kill();
  }
}

export class RealServer implements Server {
  readonly #db: TestDatabase;
  readonly #clients: pg.Client[] = [];
  #now = 0;

  private constructor(db: TestDatabase) {
    this.#db = db;
  }

  static async of(db: TestDatabase): Promise<RealServer> {
    await db.owner.rows("create schema simulated");
    await db.owner.rows(
      `create function simulated.clock_timestamp() returns timestamptz volatile language sql as
       $$ select timestamptz 'epoch' + current_setting('simulated.now')::bigint * interval '1 millisecond' $$`,
    );
    await db.owner.rows("grant usage on schema simulated to public");
    return new RealServer(db);
  }

  async speaker(name: string): Promise<Speaker> {
    const settings = {
      search_path: "simulated,public,pg_catalog",
      lock_timeout: name === IMPATIENT ? "300ms" : "20s",
      "simulated.now": String(this.#now),
    };
    const client = await this.#db.database.connect({}, settings);
    this.#clients.push(client);
    let setAt = this.#now;
    return {
      send: async (text, values = []) => {
        try {
          if (setAt !== this.#now) await client.query(`set simulated.now = ${this.#now}`);
          setAt = this.#now;
          const { rows, command } = await client.query(text, values.map(this.#withOwnHistory));
          return heardOf(text, text === "commit" ? [{ command }] : (rows as Row[]).map(withSimulatedHistory));
        } catch (error) {
          return heardOf(text, error as Error);
        }
      },
      end: () => client.end(),
    };
  }

  readonly #withOwnHistory = (value: unknown): unknown =>
    typeof value === "string" && SIMULATED_HISTORY.test(value) ? this.#db.owner.history : value;

  async setTime(now: number): Promise<void> {
    this.#now = now;
  }

  finish(answer: Promise<Heard>): Promise<Heard> {
    return answer;
  }

  async settle(open: () => number): Promise<void> {
    const { owner, ownerConnection } = this.#db;
    await until("all is answered or waits for a lock", async () => {
      // Before it is asked who waits: what is answered meanwhile may have been waited for.
      const unanswered = open();
      const [row] = await owner.rows<{ count: string }>(
        "select count(*) from pg_stat_activity where datname = $1 and cardinality(pg_blocking_pids(pid)) > 0",
        [ownerConnection.database],
      );
      return Number(row?.count) >= unanswered;
    });
  }

  async rows(table: string, columns: readonly string[]): Promise<readonly string[]> {
    const named = columns.map((column) => (JSON_TEXTS.has(`${table}.${column}`) ? `${column}::text` : column));
    const rows = await this.#db.owner.rows<Row>(`select ${named.join(", ")} from ${table}`);
    return rows.map((row) => wordsOf(row, columns)).sort();
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.end();
  }
}

/** Kept as they were written. */
const JSON_TEXTS = new Set(["batch.changes", "batch.callers", "event.entries"]);

/** As `SimulatedPostgres` names one. */
const SIMULATED_HISTORY = /^simulated [0-9]+$/;
/** Both have one from beginning to end. */
const withSimulatedHistory = (row: Row): Row => ("history" in row ? { ...row, history: "simulated" } : row);

function heardOf(text: string, result: Row[] | Error): Heard {
  if (result instanceof Error) {
    const sent = serverError(result);
    if (sent === undefined) throw result;
    return `${sent.code} ${sent.constraint ?? ""}`.trim();
  }
  const rows = result.map((row) => wordsOf(row, Object.keys(row).sort()));
  // Of a cursor too: orders of one priority, which are of different levels, come in any order.
  return /order by/.test(text) ? rows : rows.sort();
}

/** Numbers and times by their value, whatever their form. */
function wordsOf(row: Row, columns: readonly string[]): string {
  return columns.map((column) => `${column}=${wordOf(row[column])}`).join(" ");
}

function wordOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Buffer.isBuffer(value)) return value.toString("hex");
  if (typeof value === "object") return JSON.stringify(value, Object.keys(value).sort());
  const text = String(value);
  return /^-?\d+\.\d+$/.test(text) ? text.replace(/\.?0+$/, "") : text;
}
