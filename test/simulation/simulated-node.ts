/** One process of the service, but for HTTP: the real lane, front doors, settlement and engines on a simulated database. */
import type { Catalogue } from "../../src/catalogue/catalogue.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { type Conversions, createConversions } from "../../src/conversions/conversions.ts";
import { Settlement } from "../../src/conversions/settlement.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createLegalHolds, type LegalHolds } from "../../src/customers/legal-holds/legal-holds.ts";
import { Publisher } from "../../src/events/publishing/publisher.ts";
import { RecentBatches } from "../../src/events/publishing/recent-batches.ts";
import { Fees } from "../../src/exchange/customer-fees/customer-fees.ts";
import { createEngines, type EngineBounds, type Engines } from "../../src/exchange/engine/engines.ts";
import { haltMarket, resumeMarket } from "../../src/exchange/market-status/halt.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import { cancel, place } from "../../src/exchange/orders/orders.ts";
import type { OrderRequest } from "../../src/exchange/orders/rules.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import type { Caller } from "../../src/ledger/caller.ts";
import { DatabaseComparedClock } from "../../src/ledger/compared-clock.ts";
import { Unavailable } from "../../src/ledger/decision.ts";
import { Lane } from "../../src/ledger/writer/lane.ts";
import { asFault, DatabaseAway, isTimeout } from "../../src/postgres/database.ts";
import type { Clock, Instant } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";
import { WakeSignal } from "../../src/std/wake-signal.ts";
import { createTransfers, type Transfers } from "../../src/transfers/transfers.ts";
import type { Random } from "../support/random.ts";
import type { Faults } from "./faults.ts";
import { SimulatedDatabase } from "./postgres/simulated-database.ts";
import type { SimulatedPostgres } from "./postgres/simulated-postgres.ts";
import type { Process, VirtualTime } from "./virtual-time.ts";

/** How far the clock of a node may be from the database's. */
export const CLOCK_TOLERANCE_MS = 2_000;

export interface NodeParts {
  readonly name: string;
  readonly time: VirtualTime;
  readonly postgres: SimulatedPostgres;
  readonly faults: Faults;
  readonly random: Random;
  readonly catalogue: Catalogue;
  readonly leaseMs: number;
  /** How much of the ledger's rows its lane keeps. */
  readonly cachedBytes: number;
  readonly settlementDelayMs: number;
  /** How many resting orders one order meets at once. If it has to meet more, it is paused. */
  readonly bounds: Partial<EngineBounds>;
  /** Whether it publishes events: from memory and the database, or from the database alone. */
  readonly publishes: "from memory" | "from the database" | undefined;
  readonly log: (words: string) => void;
  /** Called with what can only be a bug. */
  readonly onBug: (error: unknown) => void;
}

export class SimulatedNode implements Process {
  readonly name: string;
  readonly database: SimulatedDatabase;
  readonly transfers: Transfers;
  readonly conversions: Conversions;
  readonly legalHolds: LegalHolds;
  readonly engines: Engines;
  readonly lane: Lane;
  readonly #parts: NodeParts;
  readonly #settlement: Settlement;
  readonly #publisher: Publisher | undefined;
  readonly #ids: IdSource;
  readonly #clock: DatabaseComparedClock;
  readonly #fees: Fees;
  isDead = false;
  pausedUntil = 0;
  isServing = false;
  clockAheadMs = 0;

  constructor(parts: NodeParts) {
    const { name, time, postgres, faults, random, catalogue, leaseMs, cachedBytes, log, onBug } = parts;
    this.#parts = parts;
    this.name = name;
    const system: Clock = { now: () => Math.floor(time.now + this.clockAheadMs) as Instant };
    this.#clock = new DatabaseComparedClock(system, { toleranceMs: CLOCK_TOLERANCE_MS });
    this.database = new SimulatedDatabase(postgres, faults, this, ({ kind, lateMs }, text) => {
      log(`${name}: ${kind}${kind === "late" ? ` ${lateMs} ms` : ""}: ${text.slice(0, 60).replace(/\s+/g, " ")}`);
    });
    const fill = (bytes: Uint8Array): void => {
      for (let i = 0; i < bytes.length; i += 1) bytes[i] = random(256);
    };
    this.#ids = new IdSource(this.#clock, { fill });
    const shared = { database: this.database.asDatabase(), clock: this.#clock, catalogue, ids: this.#ids };
    const committed = new WakeSignal();
    const recentBatches = new RecentBatches({ batches: 20, rows: 40, characters: 20_000 });
    this.lane = new Lane({
      ...shared,
      holder: name,
      onCommitted: (batch) => {
        recentBatches.add(batch);
        committed.notify();
      },
      bounds: { leaseMs, cachedBytes },
      log: (event) => {
        const error = "error" in event ? `: ${event.error.message}` : "";
        log(`${name}: lane ${event.kind}${error}`);
        if (event.kind === "command_failed") onBug(event.error);
      },
    });
    const onError = (error: unknown): void => {
      if (!isFault(error)) onBug(error);
    };
    this.#settlement = new Settlement({
      ...shared,
      lane: this.lane,
      delayMs: parts.settlementDelayMs,
      onError,
      onRecovered: () => undefined,
    });
    if (parts.publishes !== undefined) {
      this.#publisher = new Publisher({
        ...shared,
        clockToleranceMs: CLOCK_TOLERANCE_MS,
        keptMs: 400 * 86_400_000,
        holder: name,
        leaseMs,
        committed,
        ...(parts.publishes === "from memory" && { recentBatches }),
        log: (event) => {
          if (event.kind === "published") log(`${name}: cut ${event.cut.number}, ${event.cut.events} events`);
          else if (event.kind !== "failed") log(`${name}: publisher ${event.kind}`);
          else onError(event.error);
        },
      });
    }
    this.transfers = createTransfers({ ...shared, lane: this.lane });
    this.legalHolds = createLegalHolds({ ...shared, lane: this.lane });
    this.conversions = createConversions({
      ...shared,
      lane: this.lane,
      onCreated: (conversion) => this.#settlement.onCreated(conversion),
    });
    this.#fees = new Fees(shared);
    this.engines = createEngines({
      ...shared,
      lane: this.lane,
      holder: name,
      leaseMs,
      bounds: parts.bounds,
      log: (event) => {
        const error = "error" in event ? event.error : undefined;
        log(`${name}: ${event.kind} ${event.market}${error === undefined ? "" : `: ${error.message}`}`);
        if (error !== undefined && !isFault(error) && error.name !== "StaleBook") onBug(error);
      },
    });
  }

  /** Retries until the database accepts it. */
  async start(): Promise<void> {
    for (;;) {
      try {
        await this.lane.start();
        break;
      } catch (error) {
        if (!isFault(asFault(error))) this.#parts.onBug(error);
        await new Promise((resolve) => void this.#parts.time.afterFor(this, 500, () => resolve(undefined)));
      }
    }
    this.#settlement.start();
    this.#publisher?.start();
    this.engines.start();
    this.isServing = true;
  }

  /** In the order of the service. */
  async stop(): Promise<void> {
    this.isServing = false;
    await this.engines.stop();
    await this.#publisher?.stop();
    this.#settlement.stop();
    await this.lane.stop();
  }

  kill(): void {
    this.isServing = false;
    this.isDead = true;
    this.database.hangUp();
  }

  async place(request: OrderRequest, caller: Caller) {
    const outcome = await place(this.#exchangeParts(), request, caller);
    if (outcome.kind === "done" && outcome.value.closedAt === undefined) this.engines.wake(outcome.value.market);
    return outcome;
  }

  async cancelOrder(customerId: CustomerId, profileId: ProfileId, id: OrderId, caller: Caller) {
    const outcome = await cancel(this.#exchangeParts(), customerId, profileId, id, caller);
    if (outcome.kind === "done") this.engines.wake(outcome.value);
    return outcome;
  }

  halt(market: MarketCode, caller: Caller) {
    return this.lane.execute(haltMarket(market, caller));
  }

  resume(market: MarketCode, caller: Caller) {
    return this.lane.execute(resumeMarket(market, caller));
  }

  #exchangeParts() {
    const { catalogue } = this.#parts;
    const database = this.database.asDatabase();
    return { database, lane: this.lane, catalogue, ids: this.#ids, clock: this.#clock, fees: this.#fees };
  }
}

/** What callers see as 503: they may retry. */
export function isFault(error: unknown): boolean {
  return error instanceof Unavailable || error instanceof DatabaseAway || isTimeout(error);
}
