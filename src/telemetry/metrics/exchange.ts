import { Counter, Histogram, type Registry } from "prom-client";
import type { FeedEvent } from "../../api/websocket-feeds/feeds.ts";
import type { EngineEvent, Engines } from "../../exchange/engine/engines.ts";
import type { MakerEvent } from "../../market-maker/market-maker.ts";
import { gauge, plainGauge } from "./gauge.ts";

const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Metrics of the engines, feeds and market maker of this process. */
export class ExchangeMetrics {
  readonly #registry: Registry;
  readonly #roundSeconds: Histogram<"market">;
  readonly #failures: Counter<"market" | "kind">;
  readonly #disconnected: Counter<"why">;
  readonly #gaps: Counter<"market">;
  readonly #makerFailures: Counter<"kind">;
  #readers = 0;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.#roundSeconds = new Histogram({
      name: "parbook_engine_round_seconds",
      help: "Duration of an engine round: read pending orders, match, commit. If slow, see parbook_lane_commit_seconds.",
      labelNames: ["market"],
      buckets: SECONDS,
      registers,
    });
    this.#failures = new Counter({
      name: "parbook_engine_failures_total",
      help: "Engine failures, by kind: market_failed (the order book was discarded and rebuilt), market_lost (another node took over), listener_failed.",
      labelNames: ["market", "kind"],
      registers,
    });
    this.#disconnected = new Counter({
      name: "parbook_feed_readers_disconnected_total",
      help: "Feed subscribers disconnected by the service: too_slow, silent (no pong), talks (sent more than allowed), too_many (of its address, while another one needs the place), bug (see the log).",
      labelNames: ["why"],
      registers,
    });
    this.#gaps = new Counter({
      name: "parbook_feed_gaps_total",
      help: "Order books reread because a change was missing. Often: engines are killed, or changes are written late.",
      labelNames: ["market"],
      registers,
    });
    this.#makerFailures = new Counter({
      name: "parbook_maker_failures_total",
      help: "Failures of the sandbox's market maker: pass_failed, order_rejected, deposit_rejected.",
      labelNames: ["kind"],
      registers,
    });
    plainGauge(registry, "parbook_feed_readers", "Open market data WebSockets on this node.", () => this.#readers);
  }

  readonly onEngineEvent = (event: EngineEvent): void => {
    const { kind, market } = event;
    if (event.kind === "round_committed") this.#roundSeconds.observe({ market }, event.ms / 1_000);
    else if (kind !== "market_opened") this.#failures.inc({ market, kind });
  };

  readonly onFeedEvent = (event: FeedEvent): void => {
    this.#readers += event.kind === "reader_came" ? 1 : -1;
    if (event.kind === "reader_gone" && event.sentAway !== undefined) this.#disconnected.inc({ why: event.sentAway });
  };

  readonly onFeedGap = (market: string): void => this.#gaps.inc({ market });

  readonly onMakerEvent = ({ kind }: MakerEvent): void => this.#makerFailures.inc({ kind });

  watch(engines: Pick<Engines, "report">): void {
    gauge(
      this.#registry,
      {
        name: "parbook_engine_serving",
        help: "1: this process runs the market's engine; 0: it is on standby, opening or failing.",
        labels: ["market"],
      },
      () => engines.report().map(({ market, state }) => [{ market }, state === "serving" ? 1 : 0]),
    );
  }
}
