/**
 * The whole system in one process, from one seed: some nodes, their clients, a database and what goes wrong between them.
 * After the storm everything has to come to an end, and the books have to be what the answers said.
 */
import { createHash } from "node:crypto";
import { openProfile } from "../../src/customers/profiles/profiles.ts";
import type { Instant } from "../../src/std/clock.ts";
import { type Random, seeded } from "../support/random.ts";
import { Judge } from "./auditor.ts";
import { Clients } from "./clients.ts";
import { type Disaster, Weather } from "./faults.ts";
import { catalogue, markets, residents } from "./fixtures.ts";
import { SimulatedNode } from "./simulated-node.ts";
import { SimulatedPostgres, type Told } from "./simulated-postgres.ts";
import { LATE_EVENING, MORNING, VirtualTime } from "./virtual-time.ts";
import { Wishes } from "./workload.ts";

/** A seed at which something was not as it has to be, with the last of what happened. */
class SimulationFailed extends Error {
  override readonly name = "SimulationFailed";
}

const A_MONTH_MS = 30 * 86_400_000;
const LAST_EVENTS = 60;
/** After the storm: longer than any lease, deadline and patience. */
const COMES_TO_AN_END_MS = 120_000;

/**
 * Answers a digest of all that happened, in order: the same for the same seed. `onTold` hears what the database was told.
 */
export async function simulate(seed: number, onTold?: (told: Told) => void): Promise<string> {
  const simulation = new Simulation(seed, onTold);
  return simulation.run();
}

class Simulation {
  readonly #seed: number;
  readonly #random: Random;
  readonly #time: VirtualTime;
  readonly #weather: Weather;
  readonly #postgres: SimulatedPostgres;
  readonly #judge: Judge;
  readonly #clients: Clients;
  readonly #wishes: Wishes;
  readonly #leaseMs: number;
  readonly #settlementDelayMs: number;
  readonly #nodes: SimulatedNode[] = [];
  readonly #story = createHash("sha256");
  readonly #last: string[] = [];
  #started = 0;
  /** Whether what a node's clock has measured may be worth nothing to a judge. */
  #hasSteppedClock = false;
  #bug: unknown;

  constructor(seed: number, onTold: (told: Told) => void = () => undefined) {
    this.#seed = seed;
    this.#time = new VirtualTime(seed % 3 === 0 ? LATE_EVENING : MORNING);
    this.#random = seeded(seed);
    const random = this.#random;
    this.#weather = new Weather(random);
    this.#leaseMs = [2_000, 5_000, 15_000][random(3)] ?? 15_000;
    this.#settlementDelayMs = [0, 0, 300, 2_000][random(4)] ?? 0;
    const onBug = (error: unknown): void => this.#found(error);
    this.#postgres = new SimulatedPostgres(this.#time, this.#weather, onBug);
    this.#postgres.onTold = onTold;
    this.#judge = new Judge(this.#postgres, () => this.#hasSteppedClock, onBug);
    this.#wishes = new Wishes(random);
    this.#clients = new Clients({
      time: this.#time,
      weather: this.#weather,
      random,
      nodes: () => this.#nodes.filter((node) => node.isServing),
      tell: (words) => this.#tell(words),
      onBug,
      onAsk: (ask) => this.#judge.asked(ask),
      judge: (ask, answer, askedAt) => this.#judge.answered(ask, answer, askedAt),
    });
  }

  async run(): Promise<string> {
    const restore = this.#time.replaceTimers(this.#random);
    try {
      await this.#open();
      await this.#storm();
      await this.#comeToAnEnd();
      this.#judge.end();
      if (this.#bug !== undefined) throw this.#bug;
    } catch (error) {
      throw this.#failure(error);
    } finally {
      restore();
    }
    return this.#story.digest("hex");
  }

  /** The catalogue's rows, the first nodes, profiles and their money. Nothing goes wrong yet. */
  async #open(): Promise<void> {
    for (const { code } of markets) {
      const row = { code, status: "OPEN", seq: "1", slot: null, batch: null };
      this.#postgres.tables.apply({ table: "market", key: code, row });
    }
    const nodes = 1 + this.#random(3);
    this.#tell(`${nodes} nodes, leases of ${this.#leaseMs} ms; ${this.#weather}`);
    for (let i = 0; i < nodes; i += 1) this.#startNode();
    await this.#until("the nodes serve", () => this.#nodes.every((node) => node.isServing), 10_000);
    const [first] = this.#nodes as [SimulatedNode];
    let opened = 0;
    for (const { customerId, profileId, kind } of residents) {
      const profile = { customerId, nickname: profileId, description: undefined };
      const opening = openProfile(profileId, kind, this.#time.now as Instant, profile, { house: "bootstrap" });
      this.#time.afterFor(first, 0, () => void first.lane.execute(opening).then(() => (opened += 1)));
    }
    await this.#until("the profiles are open", () => opened === residents.length, 10_000);
    for (const { customerId, profileId } of residents) {
      for (const [asset, amount] of [
        ["USD", "1000"],
        ["PYUSD", "300"],
        ["BTC", "3"],
      ] as const) {
        this.#clients.ask(this.#wishes.opening(profileId, customerId, asset, amount));
      }
    }
    await this.#until("the profiles have their money", () => this.#clients.open === 0, 10_000);
  }

  async #storm(): Promise<void> {
    const random = this.#random;
    const lastsMs = 2_000 + random(8_000);
    this.#weather.isCalm = false;
    const asks = 10 + random(40);
    for (let i = 0; i < asks; i += 1) {
      const burst = 1 + random(2);
      this.#time.after(random(lastsMs), () => {
        for (let j = 0; j < burst; j += 1) this.#clients.ask(this.#wishes.next(this.#clients.known, this.#time.now));
      });
    }
    const { disasters } = this.#weather;
    for (let i = disasters.length === 0 ? 0 : 1 + random(4); i > 0; i -= 1) {
      const disaster = disasters[random(disasters.length)] as Disaster;
      this.#time.after(random(lastsMs), () => this.#strike(disaster));
    }
    await this.#time.goOnUntil(() => this.#bug !== undefined, lastsMs);
    this.#weather.isCalm = true;
    this.#tell("the storm is over");
    // A node whose clock stays wrong would never work again.
    for (const node of this.#nodes) node.clockAheadMs = 0;
  }

  #strike(disaster: Disaster): void {
    const random = this.#random;
    const node = this.#nodes[random(this.#nodes.length)] as SimulatedNode;
    switch (disaster) {
      case "node_killed":
        this.#tell(`${node.name} is killed`);
        node.kill();
        this.#nodes.splice(this.#nodes.indexOf(node), 1);
        this.#startNode(random(2_000));
        break;
      case "node_paused": {
        const ms = random(2) === 0 ? random(3_000) : random(25_000);
        this.#tell(`${node.name} is paused for ${ms} ms`);
        node.pausedUntil = this.#time.now + ms;
        break;
      }
      case "server_restarted": {
        const ms = 50 + random(random(2) === 0 ? 500 : 6_000);
        this.#tell(`the server is away for ${ms} ms`);
        this.#postgres.crash();
        this.#time.after(ms, () => this.#postgres.restart());
        break;
      }
      case "connections_ended":
        this.#tell("the server ends some connections");
        for (const session of [...this.#postgres.sessions]) if (random(2) === 0) session.kill();
        break;
      case "clock_stepped": {
        const step = (random(2) === 0 ? 1 : -1) * random([50, 3_000, 600_000, A_MONTH_MS][random(4)] ?? 50);
        // What is wrong is also set right.
        const ms = node.clockAheadMs !== 0 && random(4) > 0 ? -node.clockAheadMs : step;
        this.#tell(`the clock of ${node.name} steps by ${ms} ms`);
        node.clockAheadMs += ms;
        this.#hasSteppedClock = true;
        break;
      }
    }
  }

  #startNode(afterMs = 0): void {
    this.#started += 1;
    const name = `node ${this.#started}`;
    const node = new SimulatedNode({
      name,
      time: this.#time,
      postgres: this.#postgres,
      weather: this.#weather,
      random: this.#random,
      catalogue,
      leaseMs: this.#leaseMs,
      settlementDelayMs: this.#settlementDelayMs,
      tell: (words) => this.#tell(words),
      onBug: (error) => this.#found(error),
    });
    this.#nodes.push(node);
    this.#time.afterFor(node, afterMs, () => void node.start());
  }

  /** Everything that was asked for is answered, done and put away; the service answers; the nodes can be stopped. */
  async #comeToAnEnd(): Promise<void> {
    await this.#until("all nodes serve again", () => this.#nodes.every((node) => node.isServing), COMES_TO_AN_END_MS);
    await this.#until("every ask has come to an end", () => this.#clients.open === 0, COMES_TO_AN_END_MS);
    // A market that is halted keeps its orders; those that wait for an engine are turned away.
    await this.#until("nothing waits for an engine or a settlement", () => this.#judge.isIdle(), COMES_TO_AN_END_MS);
    const { answered } = this.#clients;
    this.#clients.ask(this.#wishes.next(this.#clients.known, this.#time.now));
    await this.#until("a new ask is answered", () => this.#clients.open === 0, 30_000);
    if (this.#bug === undefined && this.#clients.answered === answered && this.#clients.givenUp === 0) {
      throw new Error("a new ask was not answered");
    }
    await this.#until("nothing waits for an engine or a settlement", () => this.#judge.isIdle(), COMES_TO_AN_END_MS);
    let stopped = 0;
    for (const node of this.#nodes) this.#time.afterFor(node, 0, () => void node.stop().then(() => (stopped += 1)));
    await this.#until("the nodes have stopped", () => stopped === this.#nodes.length, 60_000);
  }

  async #until(what: string, holds: () => boolean, mostMs: number): Promise<void> {
    const isMet = await this.#time.goOnUntil(() => this.#bug !== undefined || holds(), mostMs);
    if (this.#bug !== undefined) throw this.#bug;
    if (!isMet) throw new Error(`${mostMs} ms went by, but not until ${what}`);
  }

  #found(error: unknown): void {
    this.#bug ??= error;
  }

  #tell(words: string): void {
    const line = `${(this.#time.elapsed / 1_000).toFixed(4).padStart(9)} ${words}`;
    this.#story.update(`${line}\n`);
    this.#last.push(line);
    if (this.#last.length > LAST_EVENTS) this.#last.shift();
  }

  #failure(error: unknown): SimulationFailed {
    const message = error instanceof Error ? error.message : String(error);
    const lines = [
      `seed ${this.#seed}: ${message}`,
      `Replay it: npm run simulate -- --seed ${this.#seed}`,
      "The last that happened:",
      ...this.#last,
    ];
    return new SimulationFailed(lines.join("\n"), { cause: error });
  }
}
