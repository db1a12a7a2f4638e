/**
 * Caches a snapshot of values that only the database has. It is read on demand, at most once in ten seconds. A refresh
 * waits at most half a second; after that, or after a failure, there is no snapshot, while the read continues.
 */
import type { SettlementBacklog } from "../../conversions/settlement-backlog.ts";
import type { EngineLag } from "../../exchange/market-status/engine-lag.ts";
import type { OutstandingSupply } from "../../ledger/outstanding-supply.ts";
import { pause } from "../../std/pause.ts";
import type { DeliveryLag } from "../../webhooks/delivery-lag.ts";

export interface DatabaseSnapshot {
  /** Of each stablecoin. */
  readonly backing: readonly OutstandingSupply[];
  readonly due: SettlementBacklog;
  readonly markets: readonly EngineLag[];
  /** How long the oldest batch without events has waited; 0 when there is none. */
  readonly eventLagMs: number;
  readonly webhooks: DeliveryLag;
  /** The database's clock minus this machine's. */
  readonly clockSkewMs: number;
  /** Undefined: no WAL archive is configured. */
  readonly archiveFailing: boolean | undefined;
}

const FRESH_MS = 10_000;
const READ_TIMEOUT_MS = 500;

export class DatabaseWatch {
  readonly #read: () => Promise<DatabaseSnapshot>;
  readonly #freshMs: number;
  #pending: Promise<void> | undefined;
  #last: { readonly snapshot: DatabaseSnapshot; readonly atMs: number } | undefined;
  #snapshot: DatabaseSnapshot | undefined;

  constructor(read: () => Promise<DatabaseSnapshot>, freshMs = FRESH_MS) {
    this.#read = read;
    this.#freshMs = freshMs;
  }

  /** As of the last refresh; undefined if the database did not respond in time. */
  get snapshot(): DatabaseSnapshot | undefined {
    return this.#snapshot;
  }

  async refresh(): Promise<void> {
    if (!this.#isFresh) {
      this.#pending ??= this.#readOnce();
      await Promise.race([this.#pending, pause(READ_TIMEOUT_MS)]);
    }
    this.#snapshot = this.#isFresh ? this.#last?.snapshot : undefined;
  }

  get #isFresh(): boolean {
    return this.#last !== undefined && performance.now() - this.#last.atMs < this.#freshMs;
  }

  async #readOnce(): Promise<void> {
    try {
      this.#last = { snapshot: await this.#read(), atMs: performance.now() };
    } catch {
      // Other users of the database report the reason.
    } finally {
      this.#pending = undefined;
    }
  }
}
