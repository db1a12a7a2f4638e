/**
 * The matching engines of this process, one per market of the catalogue. Any number of processes may have engines; the
 * first to take a market's lease serves it, and the others are standbys.
 *
 * Order placement notifies the engine in its own process as soon as an order is durable. For everything else, all markets
 * are polled together ten times a second: orders and cancels from other processes, expiries and due stops.
 */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Market, MarketCode } from "../../catalogue/market.ts";
import type { Lane } from "../../ledger/writer/lane.ts";
import type { Database } from "../../postgres/database.ts";
import { LEASE_MS } from "../../postgres/leases.ts";
import type { Instant } from "../../std/clock.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import {
  type AroundRound,
  type CommittedRound,
  Engine,
  type EngineClock,
  type EngineEvent,
  type EngineState,
} from "./engine.ts";
import type { EngineBounds } from "./engine-book.ts";
import { ExpiryTurns } from "./expiry-turns.ts";
import { findOldestWork } from "./store.ts";

export type { AroundRound, CommittedRound, EngineEvent, EngineState, RoundInFlight } from "./engine.ts";
export type { EngineBounds } from "./engine-book.ts";

export interface Engines {
  start(): void;
  /** Finishes the rounds in flight and releases the leases. */
  stop(): Promise<void>;
  /** An order or a cancel of this market is durable. Has no effect where the market is not served. */
  wake(market: MarketCode): void;
  /**
   * Called for every durable round of this process's engines, in order per market. Calls are synchronous while the
   * engine waits, so listeners must defer slow work. @returns a function that removes the listener
   */
  onCommitted(listener: (round: CommittedRound) => void): () => void;
  report(): EngineReport[];
}

export interface EngineReport {
  readonly market: MarketCode;
  /** In this process; another one may serve a market that is `standing_by`. */
  readonly state: EngineState;
  /** How long the oldest order or cancel has waited for any engine; 0 when there is none. */
  readonly lagMs: number;
}

export interface EnginesOptions {
  readonly database: Database;
  readonly lane: Pick<Lane, "execute">;
  readonly clock: EngineClock;
  readonly catalogue: Pick<Catalogue, "listMarkets">;
  /** Identifies this process among all that share the database, also after a restart on the same data. */
  readonly holder: string;
  readonly log: (event: EngineEvent) => void;
  readonly aroundRound?: AroundRound | undefined;
  readonly leaseMs?: number;
  readonly bounds?: Partial<EngineBounds>;
}

const POLL_MS = 100;

export function createEngines(options: EnginesOptions): Engines {
  const { clock, log } = options;
  const engines = new Map<MarketCode, Engine>();
  const listeners = new Set<(round: CommittedRound) => void>();
  const expiryTurns = new ExpiryTurns();
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

  /** A market that the operator adds gets its engine when the catalogue is reloaded. */
  const startMissing = (): void => {
    for (const market of options.catalogue.listMarkets()) {
      if (engines.has(market.code)) continue;
      const find = (): Market => options.catalogue.listMarkets().find(({ code }) => code === market.code) ?? market;
      const engine = new Engine(find, { leaseMs: LEASE_MS, ...options, expiryTurns, publish });
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
        // The database is away: engines that serve a market report it themselves.
      }
      const now = clock.now();
      for (const [market, engine] of engines) if (waitingSince.has(market) || engine.hasDue(now)) engine.wake();
      await end.wait(POLL_MS * (0.75 + Math.random() / 2));
    }
  };

  return {
    start: () => {
      looking ??= look();
    },
    stop: async () => {
      isStopping = true;
      end.notify();
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
