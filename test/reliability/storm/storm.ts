/**
 * A service under full load with injected faults. The storm checks its responses, during and after the faults, and its
 * database.
 */
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { DatabaseAway, isTimeout } from "../../../src/postgres/database.ts";
import { pause } from "../../../src/std/pause.ts";
import { stepDone } from "../../support/long-run.ts";
import { type Random, seeded } from "../../support/random.ts";
import { until } from "../../support/until.ts";
import { Client, type ClientSeed, type Tally } from "../client.ts";
import { EventFollower } from "../event-follower.ts";
import type { Inject } from "../faults.ts";
import { expectExecuted, type Shown } from "../lifecycles.ts";
import { Operators, type OperatorTally } from "../operators.ts";
import { orderOf, STORM_MARKETS } from "../requests-at-random.ts";
import { expectTotals, expectTotalsOverHttp, readTotals } from "../totals.ts";
import {
  expectBooks,
  expectIndexesWhole,
  expectNothingAhead,
  expectOneEffect,
  expectSound,
  findDoubled,
  findLost,
} from "./storm-checks.ts";
import type { StormSite } from "./storm-site.ts";

export interface RoundReport extends Tally, OperatorTally {
  readonly faults: readonly string[];
  /** Snapshots of all balances that were taken during the storm and compared with those of the start. */
  readonly snapshots: number;
  /** For each fault: from its start (a kill) or its end (all others) to the next confirmed movement of money. */
  readonly recoveriesMs: readonly number[];
}

/** Concurrent requests of each customer. */
const REQUESTS = 4;
const STORMERS = ["ann", "bob", "cat"];
const OTHERS = ["buyer", "seller"];
const PROFILES = 3;
const OPENING = { USD: "10000000", PYUSD: "100000", USDG: "100000", USDP: "100000", ETH: "100000", LTC: "100000" };
/** What operators do in every round, at least. */
const FEWEST_COMMANDS = 60;
/** Within this time the service recovers from all faults, on a busy machine. */
const PATIENCE_S = 150;

export class Storm<Place extends StormSite, Fault extends string> {
  readonly site: Place;
  readonly #faults: Readonly<Record<Fault, Inject<Place>>>;
  readonly #random: Random;
  /** The clients of the storm, and two that trade afterwards. */
  readonly #stormers: readonly Client[];
  readonly #others: readonly Client[];
  readonly #operators: Operators;
  readonly #followers: readonly EventFollower[];
  #opening: Awaited<ReturnType<typeof readTotals>> = new Map();

  private constructor(
    site: Place,
    faults: Readonly<Record<Fault, Inject<Place>>>,
    seed: number,
    clients: readonly Client[],
  ) {
    this.site = site;
    this.#faults = faults;
    this.#random = seeded(seed);
    this.#stormers = clients.slice(0, STORMERS.length);
    this.#others = clients.slice(STORMERS.length);
    this.#followers = this.#stormers.map((client) => new EventFollower(client));
    this.#operators = new Operators(site.databaseUrl, this.#stormers, seeded(seed * 100 + clients.length));
  }

  /** @param openSite starts the service with the customers of a bootstrap file */
  static async open<Place extends StormSite, Fault extends string>(
    seed: number,
    faults: Readonly<Record<Fault, Inject<Place>>>,
    openSite: (bootstrap: object) => Promise<Place>,
  ): Promise<Storm<Place, Fault>> {
    const seeds = [...STORMERS, ...OTHERS].map(seedOf);
    const site = await openSite({ customers: seeds.map(bootstrapCustomer) });
    try {
      const clients = seeds.map((one, number) => new Client(one, seeds, site, seeded(seed * 100 + number)));
      const storm = new Storm(site, faults, seed, clients);
      storm.#opening = await readTotals(site.database);
      return storm;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#operators.close();
    await this.site.close();
  }

  /** Sends requests, injects faults at random times, and checks everything that was confirmed. */
  async round(faults: readonly Fault[]): Promise<RoundReport> {
    const before = this.#tally();
    const { snapshots, recoveriesMs } = await this.#storm(faults);
    await this.check();
    const after = this.#tally();
    return {
      faults,
      answered: after.answered - before.answered,
      unknown: after.unknown - before.unknown,
      unavailable: after.unavailable - before.unavailable,
      retried: after.retried - before.retried,
      booked: after.booked - before.booked,
      commands: after.commands - before.commands,
      unknownCommands: after.unknownCommands - before.unknownCommands,
      snapshots,
      recoveriesMs,
    };
  }

  /** A round whose report is kept and printed. */
  async reportRound(faults: readonly Fault[], reports: RoundReport[]): Promise<void> {
    const started = performance.now();
    const report = await this.round(faults);
    reports.push(report);
    stepDone();
    const took = `${Math.round((performance.now() - started) / 1_000)} s`;
    process.stdout.write(`${reports.length} (${took}): ${JSON.stringify(report)}\n`);
  }

  /** Stops the service, which leaves a database that was shut down properly. */
  async end(): Promise<void> {
    await this.#operators.close();
    await this.site.stop();
    await expectSound(this.site);
  }

  async check(): Promise<void> {
    await this.expectKept();
    await this.#expectTrading();
    for (const client of this.#clients) await client.expectSettled();
    for (const client of this.#clients) expectExecuted(await client.list("order"), await client.listExecutions());
    await this.expectEvents();
    await this.expectTotals();
    await this.expectTotalsOverHttp();
    await expectOneEffect(this.site.database);
    await expectBooks(this.site.database);
    await expectNothingAhead(this.site.database);
    await expectIndexesWhole(this.site.database);
    await expectSound(this.site);
  }

  async expectKept(): Promise<void> {
    await Promise.all([
      ...this.#clients.map((client) => client.expectKept()),
      this.#operators.expectKept(this.site.database),
    ]);
  }

  /** How many of the answered requests of customers have no record, and how many have more than one. */
  async countWrong(): Promise<{ readonly lost: number; readonly doubled: number }> {
    const answered = this.#clients.flatMap((client) => client.listAnswered());
    const [lost, doubled] = [await findLost(this.site.database, answered), await findDoubled(this.site.database)];
    return { lost: lost.length, doubled: doubled.length };
  }

  async expectEvents(): Promise<void> {
    await Promise.all(this.#followers.map((follower) => follower.expectAll(this.site.database)));
  }

  async expectTotals(): Promise<void> {
    expectTotals(await readTotals(this.site.database), this.#opening);
  }

  expectTotalsOverHttp(): Promise<void> {
    const holds = [...this.#operators.answers.legal_hold.shown.values()];
    return expectTotalsOverHttp(this.#clients, OPENING, this.#momentsOfChance(), holds);
  }

  async #storm(faults: readonly Fault[]): Promise<Pick<RoundReport, "snapshots" | "recoveriesMs">> {
    const flow = new StormFlow();
    const trading = this.#stormers.flatMap((client) => Array.from({ length: REQUESTS }, () => client.trade(flow)));
    const reading = this.#readTotals(flow);
    // What cannot be right ends the round at once.
    const running = Promise.all([
      ...trading,
      ...this.#followers.map((follower) => follower.follow(flow)),
      reading,
      this.#operators.work(flow),
    ]);
    const unlessWrong = (what: string, holds: () => boolean): Promise<void> =>
      Promise.race([running.then(() => undefined), until(what, holds, PATIENCE_S)]);
    const more = (count: number): Promise<void> => {
      const wanted = flow.moves.length + count;
      return unlessWrong(`there are ${count} more answers`, () => flow.moves.length >= wanted);
    };
    const commands = this.#operators.tally.commands + FEWEST_COMMANDS;
    const recoveriesMs: number[] = [];
    try {
      for (const fault of faults) {
        await more(50 + this.#random(150));
        await pause(this.#random(40));
        const { since, over } = await this.#faults[fault]({ site: this.site, random: this.#random, more });
        await unlessWrong(`money moves after ${fault}`, () => flow.movedSince(over) !== undefined);
        recoveriesMs.push((flow.movedSince(over) ?? over) - since);
      }
      await more(faults.length === 0 ? 100 : 30);
      await unlessWrong("the operators are answered", () => this.#operators.tally.commands >= commands);
    } finally {
      flow.isOver = true;
      await running;
    }
    return { snapshots: await reading, recoveriesMs };
  }

  /** Sums all balances up, again and again, and counts how often. */
  async #readTotals(flow: { readonly isOver: boolean }): Promise<number> {
    for (let snapshots = 0; ; await pause(50)) {
      if (flow.isOver) return snapshots;
      try {
        await this.expectTotals();
        snapshots += 1;
      } catch (error) {
        // A statement that is interrupted by a long pause has run out of time.
        if (!(error instanceof DatabaseAway || isTimeout(error))) throw error;
      }
    }
  }

  /** A buy above all other prices and a sell below them: whatever rests there, one of them trades. */
  async #expectTrading(): Promise<void> {
    const [buyer, seller] = this.#others as [Client, Client];
    for (const market of STORM_MARKETS) {
      const place = (client: Client, side: string, price: string): Promise<Shown | undefined> => {
        const body = { market, type: "LIMIT", base_amount: "0.1", await_fill_millis: 200, side, price };
        return client.place(orderOf(String(client.profileIds[0]), body, client.nextRefId()));
      };
      const [buy, sell] = [await place(buyer, "BUY", "106.5"), await place(seller, "SELL", "94.5")];
      const hasTraded = async (): Promise<boolean> => (await buyer.hasTraded(buy)) || (await seller.hasTraded(sell));
      await until(`${market} trades`, hasTraded, 60).catch(async (error: Error) => {
        throw new Error(`${error.message}: ${await this.#sceneOf(market, [buy, sell])}`);
      });
    }
  }

  /** What an operator would look at where a market does not trade. */
  async #sceneOf(market: string, placed: readonly (Shown | undefined)[]): Promise<string> {
    const ids = placed.map((order) => order?.id);
    const looks = [
      this.site.database.rows("select clock_timestamp() as now"),
      this.site.database.rows("select * from lease"),
      this.site.database.rows("select * from orders where id = any($1)", [ids]),
      this.site.database.rows("select * from market_head where market = $1", [market]),
      this.site.database.rows("select * from pg_stat_activity where usename = 'parbook'"),
    ];
    return inspect(await Promise.allSettled(looks), { depth: 5, breakLength: 200 });
  }

  /** By the service's clock: when something was done that it has answered. */
  #momentsOfChance(): string[] {
    const moments = this.#stormers.flatMap(({ answers }) =>
      [...answers.transfer.shown.values()].map((transfer) => String(transfer.created_at)),
    );
    return Array.from({ length: Math.min(3, moments.length) }, () => moments[this.#random(moments.length)] as string);
  }

  get #clients(): readonly Client[] {
    return [...this.#stormers, ...this.#others];
  }

  #tally(): Tally & OperatorTally {
    const sum = (field: keyof Tally): number => this.#clients.reduce((total, { tally }) => total + tally[field], 0);
    return {
      answered: sum("answered"),
      unknown: sum("unknown"),
      unavailable: sum("unavailable"),
      retried: sum("retried"),
      booked: sum("booked"),
      ...this.#operators.tally,
    };
  }
}

class StormFlow {
  isOver = false;
  /** Of each answer that money was moved: when it was asked for, and when it came. */
  readonly moves: { readonly sentAt: number; readonly at: number }[] = [];

  moved(sentAt: number): void {
    this.moves.push({ sentAt, at: performance.now() });
  }

  /** When the first answer came to what was asked for since then. */
  movedSince(moment: number): number | undefined {
    return this.moves.find(({ sentAt }) => sentAt >= moment)?.at;
  }
}

const seedOf = (name: string): ClientSeed => ({
  id: randomUUID(),
  name,
  profileIds: Array.from({ length: PROFILES }, () => randomUUID()),
  secret: randomUUID(),
});

function bootstrapCustomer({ id, name, profileIds, secret }: ClientSeed) {
  return {
    id,
    name,
    clients: [{ client_id: name, client_secret: secret, scopes: ["*"] }],
    profiles: profileIds.map((profileId, number) => ({
      id: profileId,
      nickname: `${name} ${number}`,
      balances: OPENING,
    })),
  };
}
