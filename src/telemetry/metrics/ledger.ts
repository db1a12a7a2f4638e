import { Counter, Histogram, type Registry } from "prom-client";
import type { Lane } from "../../ledger/lane/lane.ts";
import type { CommittedBatch, LaneEvent, LaneState } from "../../ledger/lane/lane-options.ts";
import { type Database, DatabaseAway, serverError } from "../../postgres/database.ts";
import { gauge, plainGauge } from "./gauge.ts";

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const COMMANDS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const STATES: readonly LaneState[] = ["closed", "running", "locking", "recovering"];

/** The lane of this process, through which all money moves, and the connections beside it. */
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
      help: "Batches committed, from sending one to knowing that it is durable. Slow: the disk of the database, or locks.",
      buckets: SECONDS,
      registers,
    });
    this.#commands = new Histogram({
      name: "parbook_lane_batch_commands",
      help: "Commands in a committed batch. At 500 the lane takes as many as it may: more comes in than commits.",
      buckets: COMMANDS,
      registers,
    });
    this.#failed = new Counter({
      name: "parbook_lane_batches_failed_total",
      help: "Batches that failed, by the constraint that stopped them or the code of the error. states_moved is several nodes at work on the same rows, claim_pkey and refs_taken are a ref_id that was used before; others are not expected.",
      labelNames: ["cause"],
      registers,
    });
    this.#recoveries = new Counter({
      name: "parbook_lane_recoveries_total",
      help: "How often the lane had to find out what became of its batches and decide again. Again and again: see why batches fail.",
      registers,
    });
    this.#voided = new Counter({
      name: "parbook_lane_batches_void_total",
      help: "Batches under way at a recovery that did not commit, and never will.",
      registers,
    });
    this.#bugs = new Counter({
      name: "parbook_lane_commands_failed_total",
      help: "Commands that failed by a bug of ours, which the log has. Nothing of them was done.",
      registers,
    });
  }

  readonly committed = ({ commands, ms }: CommittedBatch): void => {
    this.#commitSeconds.observe(ms / 1_000);
    this.#commands.observe(commands.length);
  };

  readonly told = (event: LaneEvent): void => {
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
      "parbook_lane_commands_inside",
      "Commands that wait for the ledger or are being committed. At 10,000 (of one customer 2,000) callers hear 503.",
      () => lane.report().depth,
    );
    plain(
      "parbook_lane_commands_to_lock",
      "Commands whose rows have to be locked first: rows that several nodes change at once.",
      () => lane.report().toLock,
    );
    plain("parbook_lane_batches_in_flight", "Batches that were sent and are not answered yet: two at most.", () => {
      return lane.report().inFlight;
    });
    plain("parbook_lane_slot", "The slot of the ledger, 1 to 64, that this process writes.", () => lane.report().slot);
    plain("parbook_lane_database_away", "1: the lane got no answer from the database when it last asked.", () =>
      lane.report().databaseAway ? 1 : 0,
    );
    plain(
      "parbook_lane_clock_wrong",
      "1: the clock of this node is too far from the database's, and nothing is decided until they agree.",
      () => (lane.report().clockFault === undefined ? 0 : 1),
    );
    gauge(
      registry,
      {
        name: "parbook_lane_state",
        help: "1 for the state that the lane is in. recovering for long: the database does not answer.",
        labels: ["state"],
      },
      () => STATES.map((state) => [{ state }, lane.report().state === state ? 1 : 0]),
    );
    gauge(
      registry,
      {
        name: "parbook_database_connections",
        help: "Shared connections to the database, 20 at most, by state. All busy for long: reads are slow.",
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
      "parbook_database_connections_awaited",
      "Who waits for a shared connection to the database. Longer than 5 s, and a caller hears 503.",
      () => database.report().waiting,
    );
  }
}

/** The names of constraints and the codes of errors are the schema's and PostgreSQL's: there are not many. */
function causeOf(error: Error): string {
  if (error instanceof DatabaseAway) return "database_away";
  const sent = serverError(error);
  return sent?.constraint ?? sent?.code ?? "other";
}
