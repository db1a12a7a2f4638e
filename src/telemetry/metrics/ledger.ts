import { Counter, Histogram, type Registry } from "prom-client";
import type { Lane } from "../../ledger/writer/lane.ts";
import type { CommittedBatch, LaneEvent, LaneState } from "../../ledger/writer/lane-options.ts";
import { type Database, DatabaseAway, DatabaseReadOnly, serverError } from "../../postgres/database.ts";
import { gauge, plainGauge } from "./gauge.ts";

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const COMMANDS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const STATES: readonly LaneState[] = ["closed", "running", "locking", "recovering"];

/** Metrics of the lane, through which all money moves, and of the shared database connections. */
export class LedgerMetrics {
  readonly #registry: Registry;
  readonly #commitSeconds: Histogram;
  readonly #commands: Histogram;
  readonly #failed: Counter<"cause">;
  readonly #recoveries: Counter;
  readonly #voided: Counter;
  readonly #bugs: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.#commitSeconds = new Histogram({
      name: "parbook_lane_commit_seconds",
      help: "Time from sending a batch to its durable commit. If slow: the disk of the database, or locks.",
      buckets: SECONDS,
      registers,
    });
    this.#commands = new Histogram({
      name: "parbook_lane_batch_commands",
      help: "Commands in a committed batch. 500 is the maximum: more commands arrive than the lane commits.",
      buckets: COMMANDS,
      registers,
    });
    this.#failed = new Counter({
      name: "parbook_lane_batches_failed_total",
      help: "Failed batches, by violated constraint or error code. rows_changed_meanwhile: several nodes changed the same rows. claim_pkey, claims_already_made, transfer_ref_id_already_used: a ref_id was already used. Others are unexpected.",
      labelNames: ["cause"],
      registers,
    });
    this.#recoveries = new Counter({
      name: "parbook_lane_recoveries_total",
      help: "How often the lane checked the outcome of its batches and retried. If frequent, see why batches fail.",
      registers,
    });
    this.#voided = new Counter({
      name: "parbook_lane_batches_void_total",
      help: "Batches in flight at a recovery that did not commit, and never will.",
      registers,
    });
    this.#bugs = new Counter({
      name: "parbook_lane_commands_failed_total",
      help: "Commands that failed because of a bug (see the log). They had no effect.",
      registers,
    });
  }

  readonly onCommitted = ({ commands, ms }: CommittedBatch): void => {
    this.#commitSeconds.observe(ms / 1_000);
    this.#commands.observe(commands.length);
  };

  readonly onLaneEvent = (event: LaneEvent): void => {
    if (event.kind === "batch_failed") this.#failed.inc({ cause: causeOf(event.error) });
    else if (event.kind === "command_failed") this.#bugs.inc();
    else if (event.kind === "recovered") {
      this.#recoveries.inc();
      this.#voided.inc(event.voided);
    }
  };

  watch(lane: Pick<Lane, "report">, database: Pick<Database, "report">): void {
    const registry = this.#registry;
    const plain = (name: string, help: string, read: () => number) => plainGauge(registry, name, help, read);
    plain(
      "parbook_lane_commands_pending",
      "Commands pending or in flight. At 10,000 (2,000 for one customer) callers get 503.",
      () => lane.report().depth,
    );
    plain(
      "parbook_lane_commands_to_lock",
      "Commands waiting for row locks, on rows that several nodes change at once.",
      () => lane.report().toLock,
    );
    plain("parbook_lane_batches_in_flight", "Batches sent and not yet committed: at most two.", () => {
      return lane.report().inFlight;
    });
    plain("parbook_lane_slot", "The ledger slot, 1 to 64, that this process writes.", () => lane.report().slot);
    plain(
      "parbook_lane_database_away",
      "1: the lane's last database request failed, because the database is away or read-only.",
      () => (lane.report().databaseAway ? 1 : 0),
    );
    plain(
      "parbook_lane_clock_wrong",
      "1: this node's clock is too far from the database's; commands are suspended until it is corrected.",
      () => (lane.report().clockFault === undefined ? 0 : 1),
    );
    gauge(
      registry,
      {
        name: "parbook_lane_state",
        help: "1 for the current state of the lane. If recovering for long, the database does not respond.",
        labels: ["state"],
      },
      () => STATES.map((state) => [{ state }, lane.report().state === state ? 1 : 0]),
    );
    gauge(
      registry,
      {
        name: "parbook_database_connections",
        help: "Shared database connections, at most 20, by state. All busy for long: reads are slow.",
        labels: ["state"],
      },
      () => {
        const { open, idle } = database.report();
        return [
          [{ state: "busy" }, open - idle],
          [{ state: "idle" }, idle],
        ];
      },
    );
    plain(
      "parbook_database_connections_waiting",
      "Operations waiting for a shared database connection. After 5 s the caller gets 503.",
      () => database.report().waiting,
    );
  }
}

/** A bounded set: constraint names and SQLSTATE codes. */
function causeOf(error: Error): string {
  if (error instanceof DatabaseReadOnly) return "read_only";
  if (error instanceof DatabaseAway) return "database_away";
  const sent = serverError(error);
  return sent?.constraint ?? sent?.code ?? "other";
}
