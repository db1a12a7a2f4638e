/**
 * The whole system in one process, from one seed: nodes, clients, a database, and injected faults. When the faults stop,
 * every command must complete, and the tables must match the responses of the clients.
 */
import { createHash } from "node:crypto";
import { openProfile } from "../../src/customers/profiles/profiles.ts";
import type { Instant } from "../../src/std/clock.ts";
import { type Random, seeded } from "../support/random.ts";
import { Auditor } from "./auditor/auditor.ts";
import { areAllPublished, checkEvents } from "./auditor/event-invariants.ts";
import { Clients } from "./clients.ts";
import { Faults, type Incident } from "./faults.ts";
import { catalogue, markets, residents } from "./fixtures.ts";
import { SimulatedPostgres, type Transcript } from "./postgres/simulated-postgres.ts";
import { SimulatedNode } from "./simulated-node.ts";
import { LATE_EVENING, MORNING, VirtualTime } from "./virtual-time.ts";
import { Workload } from "./workload.ts";

/** A failing seed, with the last log lines. */
class SimulationFailed extends Error {
  override readonly name = "SimulationFailed";
}

const A_MONTH_MS = 30 * 86_400_000;
const LAST_EVENTS = 60;
/** By seed: how events are published, if they are. */
const PUBLISHING = ["from the database", undefined, "from memory", "from the database", "from memory"] as const;
/** By seed, of seven: how much of the ledger's rows the lanes keep. Some ten rows, or none after a batch; else all of them. */
const CACHED_BYTES = new Map([
  [2, 10_000],
  [3, 1],
]);
const ALL_ROWS_BYTES = 16 * 2 ** 20;
/** For everything to complete when the faults have stopped: longer than any lease, deadline or timeout. */
const COMPLETES_WITHIN_MS = 120_000;

/**
 * Runs one seed.
 *
 * @param onTranscript receives every transaction that was sent to the database
 * @returns a digest of the log: the same for the same seed
 * @throws SimulationFailed with the log's end, when an invariant does not hold
 */
export async function simulate(seed: number, onTranscript?: (transcript: Transcript) => void): Promise<string> {
  const simulation = new Simulation(seed, onTranscript);
  return simulation.run();
}

class Simulation {
  readonly #seed: number;
  readonly #random: Random;
  readonly #time: VirtualTime;
  readonly #faults: Faults;
  readonly #postgres: SimulatedPostgres;
  readonly #auditor: Auditor;
  readonly #clients: Clients;
  readonly #workload: Workload;
  readonly #leaseMs: number;
  readonly #settlementDelayMs: number;
  readonly #nodes: SimulatedNode[] = [];
  readonly #digest = createHash("sha256");
  readonly #last: string[] = [];
  readonly #hasSweeps: boolean;
  readonly #publishes: (typeof PUBLISHING)[number];
  #started = 0;
  /** Whether the times that nodes measured cannot be relied on. */
  #hasSteppedClock = false;
  #bug: unknown;

  constructor(seed: number, onTranscript: (transcript: Transcript) => void = () => undefined) {
    this.#seed = seed;
    this.#hasSweeps = seed % 4 === 2;
    this.#publishes = PUBLISHING[seed % PUBLISHING.length];
    this.#time = new VirtualTime(seed % 3 === 0 ? LATE_EVENING : MORNING);
    this.#random = seeded(seed);
    const random = this.#random;
    this.#faults = new Faults(random);
    this.#leaseMs = [2_000, 5_000, 15_000][random(3)] ?? 15_000;
    this.#settlementDelayMs = [0, 0, 300, 2_000][random(4)] ?? 0;
    const onBug = (error: unknown): void => this.#found(error);
    this.#postgres = new SimulatedPostgres(this.#time, this.#faults, onBug);
    this.#postgres.onTranscript = onTranscript;
    this.#auditor = new Auditor(this.#postgres, () => this.#hasSteppedClock, onBug);
    this.#workload = new Workload(random, { hasBulks: seed % 4 === 3, hasSweeps: this.#hasSweeps });
    this.#clients = new Clients({
      time: this.#time,
      faults: this.#faults,
      random,
      nodes: () => this.#nodes.filter((node) => node.isServing),
      log: (words) => this.#log(words),
      onBug,
      onSend: (command) => this.#auditor.sent(command),
      onAnswer: (command, answer, sentAt) => this.#auditor.answered(command, answer, sentAt),
    });
  }

  async run(): Promise<string> {
    const restore = this.#time.replaceTimers(this.#random);
    try {
      await this.#open();
      await this.#injectFaults();
      await this.#complete();
      this.#auditor.end();
      if (this.#bug !== undefined) throw this.#bug;
    } catch (error) {
      throw this.#failure(error);
    } finally {
      restore();
    }
    return this.#digest.digest("hex");
  }

  /** Catalogue, nodes, profiles and their money, without faults. */
  async #open(): Promise<void> {
    for (const { code } of markets) {
      const row = { code, status: "OPEN", version: "1", slot: null, batch: null };
      this.#postgres.tables.apply({ table: "market", key: code, row });
    }
    const nodes = 1 + this.#random(3);
    this.#log(`${nodes} nodes, leases of ${this.#leaseMs} ms; ${this.#faults}`);
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
        this.#clients.send(this.#workload.opening(profileId, customerId, asset, amount));
      }
    }
    await this.#until("the profiles have their money", () => this.#clients.open === 0, 10_000);
  }

  async #injectFaults(): Promise<void> {
    const random = this.#random;
    const lastsMs = 2_000 + random(8_000);
    this.#faults.areOff = false;
    const count = 10 + random(40);
    for (let i = 0; i < count; i += 1) {
      const burst = 1 + random(2);
      this.#time.after(random(lastsMs), () => {
        for (let j = 0; j < burst; j += 1) this.#clients.send(this.#workload.next(this.#clients.known, this.#time.now));
      });
    }
    const { incidents } = this.#faults;
    for (let i = incidents.length === 0 ? 0 : 1 + random(4); i > 0; i -= 1) {
      const incident = incidents[random(incidents.length)] as Incident;
      this.#time.after(random(lastsMs), () => this.#inject(incident));
    }
    await this.#time.runUntil(() => this.#bug !== undefined, lastsMs);
    this.#faults.areOff = true;
    this.#log("no more faults");
    // A node whose clock stays wrong would never serve again.
    for (const node of this.#nodes) node.clockAheadMs = 0;
  }

  #inject(incident: Incident): void {
    const random = this.#random;
    const node = this.#nodes[random(this.#nodes.length)] as SimulatedNode;
    switch (incident) {
      case "node_killed":
        this.#log(`${node.name} is killed`);
        node.kill();
        this.#nodes.splice(this.#nodes.indexOf(node), 1);
        this.#startNode(random(2_000));
        break;
      case "node_paused": {
        const ms = random(2) === 0 ? random(3_000) : random(25_000);
        this.#log(`${node.name} is paused for ${ms} ms`);
        node.pausedUntil = this.#time.now + ms;
        break;
      }
      case "server_restarted": {
        const ms = 50 + random(random(2) === 0 ? 500 : 6_000);
        this.#log(`the server is away for ${ms} ms`);
        this.#postgres.crash();
        this.#time.after(ms, () => this.#postgres.restart());
        break;
      }
      case "connections_ended":
        this.#log("the server ends some connections");
        for (const session of [...this.#postgres.sessions]) if (random(2) === 0) session.kill();
        break;
      case "clock_stepped": {
        const step = (random(2) === 0 ? 1 : -1) * random([50, 3_000, 600_000, A_MONTH_MS][random(4)] ?? 50);
        // Most of the time, the next step corrects the clock.
        const ms = node.clockAheadMs !== 0 && random(4) > 0 ? -node.clockAheadMs : step;
        this.#log(`the clock of ${node.name} steps by ${ms} ms`);
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
      faults: this.#faults,
      random: this.#random,
      catalogue,
      leaseMs: this.#leaseMs,
      cachedBytes: CACHED_BYTES.get(this.#seed % 7) ?? ALL_ROWS_BYTES,
      settlementDelayMs: this.#settlementDelayMs,
      bounds: this.#hasSweeps ? { maxMetAtOnce: 1, maxExpired: 1, maxExpiredBeside: 0 } : {},
      publishes: this.#publishes,
      log: (words) => this.#log(words),
      onBug: (error) => this.#found(error),
    });
    this.#nodes.push(node);
    this.#time.afterFor(node, afterMs, () => void node.start());
  }

  /** Every command completes, a new one succeeds, and the nodes stop. */
  async #complete(): Promise<void> {
    await this.#until("all nodes serve again", () => this.#nodes.every((node) => node.isServing), COMPLETES_WITHIN_MS);
    await this.#until("every command has completed", () => this.#clients.open === 0, COMPLETES_WITHIN_MS);
    // A halted market keeps its open orders; pending ones are rejected.
    await this.#until("no order or conversion is pending", () => this.#auditor.isIdle(), COMPLETES_WITHIN_MS);
    const { answered } = this.#clients;
    this.#clients.send(this.#workload.next(this.#clients.known, this.#time.now));
    await this.#until("a new command is answered", () => this.#clients.open === 0, 30_000);
    if (this.#bug === undefined && this.#clients.answered === answered && this.#clients.givenUp === 0) {
      throw new Error("a new command was not answered");
    }
    await this.#until("no order or conversion is pending", () => this.#auditor.isIdle(), COMPLETES_WITHIN_MS);
    const { tables } = this.#postgres;
    if (this.#publishes !== undefined) {
      await this.#until("all events are published", () => areAllPublished(tables), COMPLETES_WITHIN_MS);
      checkEvents(tables);
    }
    let stopped = 0;
    for (const node of this.#nodes) this.#time.afterFor(node, 0, () => void node.stop().then(() => (stopped += 1)));
    await this.#until("the nodes have stopped", () => stopped === this.#nodes.length, 60_000);
  }

  async #until(what: string, holds: () => boolean, mostMs: number): Promise<void> {
    const isMet = await this.#time.runUntil(() => this.#bug !== undefined || holds(), mostMs);
    if (this.#bug !== undefined) throw this.#bug;
    if (!isMet) throw new Error(`timed out after ${mostMs} ms waiting until ${what}`);
  }

  #found(error: unknown): void {
    this.#bug ??= error;
  }

  #log(words: string): void {
    const line = `${(this.#time.elapsed / 1_000).toFixed(4).padStart(9)} ${words}`;
    this.#digest.update(`${line}\n`);
    this.#last.push(line);
    if (this.#last.length > LAST_EVENTS) this.#last.shift();
  }

  #failure(error: unknown): SimulationFailed {
    const message = error instanceof Error ? error.message : String(error);
    const lines = [
      `seed ${this.#seed}: ${message}`,
      `Replay it: npm run simulate -- --seed ${this.#seed}`,
      "The end of the log:",
      ...this.#last,
    ];
    return new SimulationFailed(lines.join("\n"), { cause: error });
  }
}
