import { Counter, Histogram, type Registry } from "prom-client";
import type { EngineEvent, Engines } from "../../exchange/engine/engines.ts";
import type { FeedEvent } from "../../http/feeds/feeds.ts";
import type { MakerEvent } from "../../market-maker/maker.ts";
import { gauge, plainGauge } from "./gauge.ts";

const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The engines, feeds and market maker of this process. */
export class ExchangeMetrics {
  readonly #registry: Registry;
  readonly #roundSeconds: Histogram<"market">;
  readonly #failures: Counter<"market" | "kind">;
  readonly #sentAway: Counter<"why">;
  readonly #gaps: Counter<"market">;
  readonly #makerTrouble: Counter<"kind">;
  #readers = 0;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.#roundSeconds = new Histogram({
      name: "parbook_engine_round_seconds",
      help: "Rounds of the engines here: reading what waits, matching, committing. Slow: the commit, see parbook_lane_commit_seconds.",
      labelNames: ["market"],
      buckets: SECONDS,
      registers,
    });
    this.#failures = new Counter({
      name: "parbook_engine_failures_total",
      help: "What engines here have met: market_failed (the book was thrown away and built again), market_lost (another node took over), listener_failed.",
      labelNames: ["market", "kind"],
      registers,
    });
    this.#sentAway = new Counter({
      name: "parbook_feed_readers_sent_away_total",
      help: "Readers of feeds that were sent away: too_slow, silent (no answer to a ping), talks (sent more than a reader may), bug (the log has it).",
      labelNames: ["why"],
      registers,
    });
    this.#gaps = new Counter({
      name: "parbook_feed_gaps_total",
      help: "Books that were read again because a change was missing. Often: engines are killed, or changes are written late.",
      labelNames: ["market"],
      registers,
    });
    this.#makerTrouble = new Counter({
      name: "parbook_maker_trouble_total",
      help: "What the sandbox's market maker has met: pass_failed, order_refused, deposit_refused.",
      labelNames: ["kind"],
      registers,
    });
    plainGauge(registry, "parbook_feed_readers", "Open WebSockets of market data here.", () => this.#readers);
  }

  readonly engineTold = (event: EngineEvent): void => {
    const { kind, market } = event;
    if (event.kind === "round_committed") this.#roundSeconds.observe({ market }, event.ms / 1_000);
    else if (kind !== "market_opened") this.#failures.inc({ market, kind });
  };

  readonly feedTold = (event: FeedEvent): void => {
    this.#readers += event.kind === "reader_came" ? 1 : -1;
    if (event.kind === "reader_gone" && event.sentAway !== undefined) this.#sentAway.inc({ why: event.sentAway });
  };

  readonly feedGap = (market: string): void => this.#gaps.inc({ market });

  readonly makerTold = ({ kind }: MakerEvent): void => this.#makerTrouble.inc({ kind });

  watch(engines: Pick<Engines, "report">): void {
    gauge(
      this.#registry,
      {
        name: "parbook_engine_serving",
        help: "1: the market's engine is served by this process; 0: it stands by, is being opened, or fails.",
        labels: ["market"],
      },
      () => engines.report().map(({ market, state }) => [{ market }, state === "serving" ? 1 : 0]),
    );
  }
}
