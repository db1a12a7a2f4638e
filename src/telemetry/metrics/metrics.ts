/**
 * The metrics of this process, in the Prometheus text format. No label identifies a customer, account or caller, and
 * every label has a bounded set of values.
 */
import { Registry } from "prom-client";
import type { Engines } from "../../exchange/engine/engines.ts";
import type { Lane } from "../../ledger/writer/lane.ts";
import type { Database } from "../../postgres/database.ts";
import { AccessMetrics } from "./access.ts";
import { addDatabaseMetrics } from "./database.ts";
import { type DatabaseSnapshot, DatabaseWatch } from "./database-watch.ts";
import { ExchangeMetrics } from "./exchange.ts";
import { LedgerMetrics } from "./ledger.ts";
import { addProcessMetrics, type ProcessSources } from "./process.ts";
import { RequestMetrics } from "./requests.ts";
import { WebhookMetrics } from "./webhooks.ts";

export interface MetricsSources {
  readonly lane: Pick<Lane, "report">;
  readonly database: Pick<Database, "report">;
  /** Undefined if this process has no engines. */
  readonly engines: Pick<Engines, "report"> | undefined;
  /** Called at most once in ten seconds. */
  readonly readSnapshot: () => Promise<DatabaseSnapshot>;
  readonly machine: ProcessSources;
}

export class Metrics {
  readonly #registry = new Registry();
  #watch: DatabaseWatch | undefined;
  readonly requests = new RequestMetrics(this.#registry);
  readonly access = new AccessMetrics(this.#registry);
  readonly ledger = new LedgerMetrics(this.#registry);
  readonly exchange = new ExchangeMetrics(this.#registry);
  readonly webhooks = new WebhookMetrics(this.#registry);

  /** Adds the metrics that need the core. */
  watch({ lane, database, engines, readSnapshot, machine }: MetricsSources): void {
    this.#watch = new DatabaseWatch(readSnapshot);
    this.ledger.watch(lane, database);
    if (engines !== undefined) this.exchange.watch(engines);
    addDatabaseMetrics(this.#registry, this.#watch);
    addProcessMetrics(this.#registry, machine);
  }

  async text(): Promise<string> {
    await this.#watch?.refresh();
    return this.#registry.metrics();
  }
}
