/**
 * A service in the middle of much trading, to which bad things happen. It is started as a user starts it, with an
 * embedded PostgreSQL on a data directory of its own, and it is judged by what it answers, before and after.
 */
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assert, must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import { dataDirectory, parbook, type ServiceProcess, type Settings, startService } from "../cli/parbook.ts";
import { type Random, seeded } from "../support/random.ts";
import { until } from "../support/until.ts";
import { STORM_MARKETS } from "./orders-at-random.ts";
import { Trader, type TraderSeed } from "./trader.ts";

/**
 * What happens to it. `service` and `postmaster` are killed, `both` at once; `paused` stops the service for longer than
 * its leases last, lets it go on, and then kills it.
 */
export type Blow = "service" | "postmaster" | "both" | "paused";

export interface RoundReport {
  readonly blow: Blow;
  /** Orders that were answered with 200 in the storm. */
  readonly answered: number;
  readonly unanswered: number;
  /** Of those that were not answered: how many were there afterwards. */
  readonly booked: number;
  /** Until the service served again: from its new start, or from the end of the database. */
  readonly recoveryMs: number;
}

/** Those of engines and lanes last 15 s. */
const PAUSED_MS = 17_000;
/** Of each customer, at once. */
const REQUESTS = 4;
const STORMERS = ["ann", "bob", "cat"];
const OTHERS = ["buyer", "seller"];

type StormSettings = Settings & { readonly PARBOOK_DATA_DIR: string };

export class Storm {
  readonly #random: Random;
  readonly #traders: readonly Trader[];
  readonly #settings: StormSettings;
  readonly #removeData: () => Promise<void>;
  #service: ServiceProcess | undefined;

  private constructor(
    random: Random,
    traders: readonly Trader[],
    settings: StormSettings,
    removeData: () => Promise<void>,
  ) {
    this.#random = random;
    this.#traders = traders;
    this.#settings = settings;
    this.#removeData = removeData;
  }

  static async open(seed: number): Promise<Storm> {
    const data = await dataDirectory();
    const seeds = [...STORMERS, ...OTHERS].map(seedOf);
    const bootstrap = join(data.path, "storm.json");
    await writeFile(bootstrap, JSON.stringify({ customers: seeds.map(bootstrapCustomer) }));
    const settings = { PARBOOK_DATA_DIR: data.path, PARBOOK_BOOTSTRAP: bootstrap, PARBOOK_LOG_LEVEL: "warn" };
    const traders = seeds.map((one, number) => new Trader(one, seeded(seed * 100 + number)));
    const storm = new Storm(seeded(seed), traders, settings, data.remove);
    await storm.#start();
    return storm;
  }

  async close(): Promise<void> {
    await this.#service?.end("SIGKILL");
    await this.#removeData();
  }

  /** Trades, strikes at a moment of chance, and proves that everything that was answered holds. */
  async round(blow: Blow): Promise<RoundReport> {
    const before = this.#answered();
    const recoveryMs = await this.#strike(blow);
    const answered = this.#answered() - before;
    const unanswered = sum(this.#traders, ({ answers }) => answers.unanswered.size);
    let booked = 0;
    for (const trader of this.#traders) booked += await trader.expectKept();
    await this.#expectTrading();
    for (const trader of this.#traders) await trader.expectSettled();
    await this.#expectSound();
    return { blow, answered, unanswered, booked, recoveryMs };
  }

  /** In order: what is left is a database that was closed properly. */
  async end(): Promise<void> {
    const { exitCode, stderr } = await this.#running.end("SIGTERM");
    assert(exitCode === 0, `the service ends in order: ${stderr}`);
    this.#service = undefined;
    await this.#expectSound();
  }

  /** Returns how long it took until it served again. */
  async #strike(blow: Blow): Promise<number> {
    const storm = { isOver: false, replies: 0 };
    const trading = this.#traders.slice(0, STORMERS.length).flatMap((trader) => {
      return Array.from({ length: REQUESTS }, () => trader.trade(storm));
    });
    const stopped = Promise.all(trading);
    // An answer that cannot be right ends the round at once.
    const more = (count: number): Promise<unknown> => {
      const wanted = storm.replies + count;
      return Promise.race([stopped, until(`there are ${count} more answers`, () => storm.replies >= wanted, 90)]);
    };
    try {
      await more(50 + this.#random(250));
      await pause(this.#random(40));
      if (blow === "postmaster") return await this.#endDatabase(() => more(trading.length + 1));
      if (blow === "paused") await this.#pause(() => more(20));
      if (blow === "both" && this.#random(2) === 0) await this.#killDatabase();
      const ended = this.#running.end("SIGKILL");
      if (blow === "both") await this.#killDatabase();
      await ended;
    } finally {
      storm.isOver = true;
      await stopped;
    }
    return this.#start();
  }

  async #endDatabase(nextAnswer: () => Promise<unknown>): Promise<number> {
    await this.#killDatabase();
    const started = performance.now();
    await nextAnswer();
    return performance.now() - started;
  }

  async #pause(nextAnswers: () => Promise<unknown>): Promise<void> {
    process.kill(this.#running.ready.pid, "SIGSTOP");
    await pause(PAUSED_MS);
    process.kill(this.#running.ready.pid, "SIGCONT");
    await nextAnswers();
  }

  /** The postmaster alone; its children notice that, each in its time. Where there is none any more, it was killed before. */
  async #killDatabase(): Promise<void> {
    const pidFile = await readFile(join(this.#settings.PARBOOK_DATA_DIR, "postgres", "postmaster.pid"), "utf8");
    try {
      process.kill(Number(pidFile.split("\n")[0]), "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  /** Milliseconds from the start of the process until it serves. */
  async #start(): Promise<number> {
    const service = await startService(this.#settings);
    this.#service = service;
    for (const trader of this.#traders) await trader.meet(service.ready);
    return service.startMs;
  }

  get #running(): ServiceProcess {
    return must(this.#service, "the service was started");
  }

  #answered(): number {
    return sum(this.#traders, ({ answers }) => answers.orders.size);
  }

  /** A buy above all other prices and a sell below them: whatever rests there, one of them trades. */
  async #expectTrading(): Promise<void> {
    const [buyer, seller] = this.#traders.slice(STORMERS.length) as [Trader, Trader];
    for (const market of STORM_MARKETS) {
      const order = { market, type: "LIMIT", base_amount: "0.1", await_fill_millis: 200 };
      const buy = await buyer.placeAgain({ ...order, ref_id: buyer.nextRefId(), side: "BUY", price: "106.5" });
      const sell = await seller.placeAgain({ ...order, ref_id: seller.nextRefId(), side: "SELL", price: "94.5" });
      const hasTraded = async (): Promise<boolean> => (await buyer.hasTraded(buy)) || (await seller.hasTraded(sell));
      await until(`${market} trades`, hasTraded, 60);
    }
  }

  async #expectSound(): Promise<void> {
    const { exitCode, stdout, stderr } = await parbook(this.#settings, "verify");
    assert(exitCode === 0, `the books are sound after all: ${stdout}${stderr}`);
  }
}

const seedOf = (name: string): TraderSeed => ({
  id: randomUUID(),
  name,
  profileId: randomUUID(),
  clientId: name,
  secret: randomUUID(),
});

function bootstrapCustomer({ id, name, profileId, clientId, secret }: TraderSeed) {
  const balances = { USD: "10000000", ETH: "100000", LTC: "100000" };
  return {
    id,
    name,
    clients: [{ client_id: clientId, client_secret: secret, scopes: ["*"] }],
    profiles: [{ id: profileId, nickname: name, balances }],
  };
}

const sum = <Item>(items: Iterable<Item>, count: (item: Item) => number): number =>
  [...items].reduce((total, item) => total + count(item), 0);
