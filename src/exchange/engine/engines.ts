/**
 * The matching engines of this process: one for each market of the catalogue. Any number of processes may have them;
 * who takes a market's lease first has the market, and the others stand by.
 *
 * An engine is woken by intake in its own process as soon as an order is durable. For all else there is one look at the
 * database for all markets together, ten times a second: orders and cancels from other processes, and what is due.
 */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import type { Lane } from "../../ledger/lane/lane.ts";
import type { Database } from "../../postgres/database.ts";
import { LEASE_MS } from "../../postgres/leases.ts";
import { WakeSignal } from "../../std/bell.ts";
import type { Instant } from "../../std/clock.ts";
import {
  type AroundRound,
  type CommittedRound,
  Engine,
  type EngineClock,
  type EngineEvent,
  type EngineState,
} from "./engine.ts";
import { findOldestWork } from "./order-queue.ts";

export type { AroundRound, CommittedRound, EngineEvent, EngineState, RoundUnderWay } from "./engine.ts";

export interface Engines {
  start(): void;
  /** Finishes the rounds under way and lets go of the markets. */
  stop(): Promise<void>;
  /** Says that an order or a cancel of this market is durable. It costs nothing where the market is not served. */
  wake(market: MarketCode): void;
  /**
   * Told of every round of this process's engines, in the order of each market, once it is durable. Listeners are called
   * one after the other while the engine waits, so they put work that takes time aside. Returns how to stop listening.
   */
  onCommitted(listener: (round: CommittedRound) => void): () => void;
  report(): EngineReport[];
}

export interface EngineReport {
  readonly market: MarketCode;
  /** Here; another process may serve the market that is `standing_by`. */
  readonly state: EngineState;
  /** For how long the oldest order or cancel has been waiting for an engine, whosever; 0 when none is. */
  readonly lagMs: number;
}

export interface EnginesOptions {
  readonly database: Database;
  readonly lane: Pick<Lane, "execute">;
  readonly clock: EngineClock;
  readonly catalogue: Pick<Catalogue, "listMarkets">;
  /** Names this process among all that share the database; the same again after a restart on the same data. */
  readonly holder: string;
  readonly log: (event: EngineEvent) => void;
  readonly aroundRound?: AroundRound | undefined;
  readonly leaseMs?: number;
}

const LOOK_MS = 100;

export function createEngines(options: EnginesOptions): Engines {
  const { clock, log } = options;
  const engines = new Map<MarketCode, Engine>();
  const listeners = new Set<(round: CommittedRound) => void>();
  const end = new WakeSignal();
  let waitingSince: ReadonlyMap<MarketCode, Instant> = new Map();
  let isStopping = false;
  let looking: Promise<void> | undefined;

  const publish = (round: CommittedRound): void => {
    for (const listener of listeners) {
      try {
        listener(round);
      } catch (error) {
        log({ kind: "listener_failed", market: round.market.code, error: error as Error });
      }
    }
  };

  /** A market that the operator adds gets its engine when the catalogue is read again. */
  const startMissing = (): void => {
    for (const market of options.catalogue.listMarkets()) {
      if (engines.has(market.code)) continue;
      const engine = new Engine(market, { leaseMs: LEASE_MS, ...options, publish });
      engines.set(market.code, engine);
      engine.start();
    }
  };

  const look = async (): Promise<void> => {
    while (!isStopping) {
      startMissing();
      try {
        waitingSince = await findOldestWork(options.database, [...engines.keys()]);
      } catch {
        // The database is away. Every engine finds that out, and says so, when it has to do with it.
      }
      const now = clock.now();
      for (const [market, engine] of engines) if (waitingSince.has(market) || engine.hasDue(now)) engine.wake();
      await end.wait(LOOK_MS * (0.75 + Math.random() / 2));
    }
  };

  return {
    start: () => {
      looking ??= look();
    },
    stop: async () => {
      isStopping = true;
      end.ring();
      await looking;
      await Promise.all([...engines.values()].map((engine) => engine.stop()));
    },
    wake: (market) => engines.get(market)?.wake(),
    onCommitted: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    report: () =>
      [...engines].map(([market, engine]) => {
        const since = waitingSince.get(market);
        return { market, state: engine.state, lagMs: since === undefined ? 0 : Math.max(0, clock.now() - since) };
      }),
  };
}
