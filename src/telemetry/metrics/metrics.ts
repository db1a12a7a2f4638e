/**
 * What an operator sees of this process, in the text format of Prometheus. The parts of the program tell what happens,
 * or can be asked; here it becomes numbers. Nothing that names a customer, an account or a caller becomes a label, and
 * no label has values without a bound.
 */
import { Registry } from "prom-client";
import type { Engines } from "../../exchange/engine/engines.ts";
import type { Lane } from "../../ledger/lane/lane.ts";
import type { Database } from "../../postgres/database.ts";
import { AccessMetrics } from "./access.ts";
import { addBooks } from "./books.ts";
import { DatabaseWatch, type Seen } from "./database-watch.ts";
import { ExchangeMetrics } from "./exchange.ts";
import { LedgerMetrics } from "./ledger.ts";
import { addMachine, type Machine } from "./machine.ts";
import { RequestMetrics } from "./requests.ts";

export interface Watched {
  readonly lane: Pick<Lane, "report">;
  readonly database: Pick<Database, "report">;
  /** Undefined where this process has no engines. */
  readonly engines: Pick<Engines, "report"> | undefined;
  /** What only the database knows; asked for at most once in ten seconds. */
  readonly look: () => Promise<Seen>;
  readonly machine: Machine;
}

export class Metrics {
  readonly #registry = new Registry();
  #watch: DatabaseWatch | undefined;
  readonly requests = new RequestMetrics(this.#registry);
  readonly access = new AccessMetrics(this.#registry);
  readonly ledger = new LedgerMetrics(this.#registry);
  readonly exchange = new ExchangeMetrics(this.#registry);

  /** What is there once the core is built. */
  watch({ lane, database, engines, look, machine }: Watched): void {
    this.#watch = new DatabaseWatch(look);
    this.ledger.watch(lane, database);
    if (engines !== undefined) this.exchange.watch(engines);
    addBooks(this.#registry, this.#watch);
    addMachine(this.#registry, machine);
  }

  async text(): Promise<string> {
    await this.#watch?.refresh();
    return this.#registry.metrics();
  }
}
