/**
 * A process's connections to the simulated PostgreSQL, with the interface of `Database`, through a network that delays, drops
 * and cuts as the seed decides. Nothing reaches a killed process any more.
 */
import type pg from "pg";
import { asFault, type Database, OutcomeUnknown, type Transaction } from "../../../src/postgres/database.ts";
import { assert } from "../../../src/std/assert.ts";
import type { Process } from "../virtual-time.ts";
import { Session, type SimulatedPostgres } from "./simulated-postgres.ts";
import type { Row } from "./tables.ts";

/**
 * What happens to a message to the server.
 *   arrives   it is executed, and the result comes back
 *   lost      the connection breaks before it arrives
 *   unheard   it is executed, and the connection breaks before the result
 *   late      the connection breaks, and it is executed later all the same
 *   silent    it is executed, and nothing comes back any more, not even an error
 */
export interface Fate {
  readonly kind: "arrives" | "lost" | "unheard" | "late" | "silent";
  readonly lateMs: number;
}

export interface Network {
  latencyMs(): number;
  /** @param isPivotal it fails more often, because much depends on it */
  fate(isPivotal?: boolean): Fate;
}

export const FAILURES = ["lost", "unheard", "late", "silent"] as const;

/** As `Database` sets it for its pool. */
const POOL = { lockMs: 10_000, idleInTransactionMs: 10_000 };
const QUERY_TIMEOUT_MS = 20_000;
/** As `LaneConnection` sets it for its own. */
const LANE = { lockMs: 50, idleInTransactionMs: 5_000 };

/** A statement as the lane's own connection is given it. */
interface ClientStatement {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly query_timeout?: number;
}

interface Pending {
  readonly resolve: (rows: Row[]) => void;
  readonly reject: (error: Error) => void;
}

/** One connection, seen from the client's side. */
class Line {
  readonly #database: SimulatedDatabase;
  readonly #session: Session;
  readonly #pending = new Set<Pending>();
  readonly #listeners: (() => void)[] = [];
  readonly #warningListeners: (() => void)[] = [];
  #hasWarned = false;
  #broken: Error | undefined;
  #isSilent = false;
  /** Messages arrive, and are answered, in their order. */
  #lastArrival = 0;
  #lastAnswer = 0;

  constructor(database: SimulatedDatabase, session: Session) {
    this.#database = database;
    this.#session = session;
    session.onKilled(() => this.#breakSoon("terminating connection due to administrator command"));
  }

  onBroken(listener: () => void): void {
    this.#listeners.push(listener);
  }

  onWarning(listener: () => void): void {
    this.#warningListeners.push(listener);
  }

  expectNoWarning(): void {
    if (this.#hasWarned) throw new OutcomeUnknown(new Error("the database warned"));
  }

  send(text: string, values: readonly unknown[]): Promise<Row[]> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    const { time } = this.#database.postgres;
    const fate = this.#database.network.fate(text === "commit");
    const late = fate.kind === "late" ? fate.lateMs : 0;
    const arrival = Math.max(this.#lastArrival, time.now + this.#database.network.latencyMs() + late);
    this.#lastArrival = arrival;
    const answer = new Promise<Row[]>((resolve, reject) => {
      const pending = { resolve, reject };
      this.#pending.add(pending);
      time.after(arrival - time.now, () => {
        if (fate.kind !== "lost") this.#session.submit({ text, values, answer: this.#answering(pending, fate) });
        if (fate.kind === "lost" || fate.kind === "late") this.#session.hangUp();
      });
    });
    if (fate.kind === "silent") this.#isSilent = true;
    if (fate.kind !== "arrives") this.#database.onFailure(fate, text);
    if (fate.kind === "lost" || fate.kind === "late") this.#breakSoon("read ECONNRESET");
    return answer;
  }

  /** The client closes it. What was sent arrives. */
  destroy(): void {
    const { time } = this.#database.postgres;
    this.#database.lines.delete(this);
    if (this.#pending.size === 0 && this.#lastArrival <= time.now) {
      this.#broken ??= new Error("Connection terminated");
      this.#session.hangUp();
      return;
    }
    time.after(Math.max(0, this.#lastArrival - time.now), () => this.#session.hangUp());
    this.#breakSoon("Connection terminated");
  }

  #answering(pending: Pending, { kind }: Fate) {
    return (result: Row[] | Error, isWarned: boolean): void => {
      if (kind === "unheard") {
        this.#session.hangUp();
        this.#breakSoon("read ECONNRESET");
      }
      if (kind !== "arrives" || this.#isSilent) return;
      const { time } = this.#database.postgres;
      const at = Math.max(this.#lastAnswer, time.now + this.#database.network.latencyMs());
      this.#lastAnswer = at;
      time.afterFor(this.#database.process, at - time.now, () => {
        if (!this.#pending.delete(pending)) return;
        if (isWarned) this.#warn();
        if (result instanceof Error) pending.reject(result);
        else pending.resolve(result);
      });
    };
  }

  #warn(): void {
    this.#hasWarned = true;
    for (const listener of this.#warningListeners) listener();
  }

  #breakSoon(why: string): void {
    const { time } = this.#database.postgres;
    time.afterFor(this.#database.process, this.#database.network.latencyMs(), () => this.#break(new Error(why)));
  }

  #break(error: Error): void {
    if (this.#broken !== undefined) return;
    this.#broken = error;
    this.#database.lines.delete(this);
    for (const { reject } of this.#pending) reject(error);
    this.#pending.clear();
    for (const listener of this.#listeners) listener();
  }
}

export class SimulatedDatabase
  implements Pick<Database, "rows" | "commits" | "transaction" | "connect" | "close" | "history">
{
  readonly postgres: SimulatedPostgres;
  readonly network: Network;
  readonly process: Process;
  readonly lines = new Set<Line>();
  readonly onFailure: (fate: Fate, text: string) => void;
  readonly commits = this;
  /** That of the last session. */
  history = "";

  constructor(
    postgres: SimulatedPostgres,
    network: Network,
    process: Process,
    onFailure: (fate: Fate, text: string) => void,
  ) {
    this.postgres = postgres;
    this.network = network;
    this.process = process;
    this.onFailure = onFailure;
  }

  /** For parameters of the class type, whose private fields make it nominal. */
  asDatabase(): Database {
    return this as unknown as Database;
  }

  async rows<Value>(text: string, values: readonly unknown[] = []): Promise<Value[]> {
    try {
      const line = await this.#open(POOL);
      try {
        const rows = await withTimeout(line.send(text, values));
        line.expectNoWarning();
        return rows as Value[];
      } finally {
        line.destroy();
      }
    } catch (error) {
      throw asFault(error);
    }
  }

  /** As `Database` does it. */
  async transaction<Value>(
    work: (transaction: Transaction) => Promise<Value>,
    _takes?: "seconds",
    begins?: "at once",
  ): Promise<Value> {
    let line: Line | undefined;
    try {
      line = await this.#open(POOL);
      const send = (text: string, values: readonly unknown[] = []) => withTimeout((line as Line).send(text, values));
      const begun = send("begin");
      begun.catch(() => undefined);
      if (begins !== "at once") await begun;
      let last: Parameters<Transaction["commitWith"]> | undefined;
      const value = await work({
        rows: async <One>(text: string, values?: readonly unknown[]) => {
          const [answer] = await Promise.all([send(text, values), begun]);
          return answer as One[];
        },
        commitWith: (...statement) => {
          last = statement;
        },
      });
      await begun;
      const answer = last && send(...last);
      // It is waited for behind the commit.
      answer?.catch(() => undefined);
      const [ended] = await send("commit");
      line.expectNoWarning();
      await answer;
      assert(ended?.command === "COMMIT", `a transaction ends with COMMIT, but here it ended with ${ended?.command}`);
      return value;
    } catch (error) {
      throw asFault(error);
    } finally {
      line?.destroy();
    }
  }

  /** What `LaneConnection` uses of a client. */
  async connect(_settings: pg.ClientConfig): Promise<pg.Client> {
    let line: Line;
    try {
      line = await this.#open(LANE);
    } catch (error) {
      throw asFault(error);
    }
    const client = {
      on: (event: string, listener: (notice: { readonly message?: string }) => void) => {
        const onEvent = () => listener({ message: "canceling wait for synchronous replication due to user request" });
        if (event === "end") line.onBroken(onEvent);
        if (event === "notice") line.onWarning(onEvent);
      },
      query: async (statement: ClientStatement) => {
        const answer = line.send(statement.text, statement.values ?? []);
        const { query_timeout: mostMs } = statement;
        return { rows: await (mostMs === undefined ? answer : withTimeout(answer, mostMs)) };
      },
      end: async () => line.destroy(),
      connection: { stream: { destroy: () => line.destroy() } },
    };
    return client as unknown as pg.Client;
  }

  async close(): Promise<void> {
    this.hangUp();
  }

  /** The process has ended, and the operating system closes its connections. */
  hangUp(): void {
    for (const line of [...this.lines]) line.destroy();
  }

  async #open(settings: typeof POOL): Promise<Line> {
    const { time } = this.postgres;
    await new Promise<void>((resolve) => void time.afterFor(this.process, this.network.latencyMs(), resolve));
    if (!this.postgres.isUp) throw new Error("connect ECONNREFUSED");
    const line = new Line(this, new Session(this.postgres, { ...settings, client: this.process.name }));
    this.lines.add(line);
    this.history = this.postgres.history;
    return line;
  }
}

/** As the driver's `query_timeout`. */
async function withTimeout(answer: Promise<Row[]>, mostMs = QUERY_TIMEOUT_MS): Promise<Row[]> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("Query read timeout")), mostMs);
  });
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}
