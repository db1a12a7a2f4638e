import { Counter, Histogram, type Registry } from "prom-client";
import type { Deliveries, DeliveryEvent } from "../../webhooks/deliveries.ts";
import { plainGauge } from "./gauge.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

const NOTHING = { webhooks: 0, inFlight: 0, mostPerSecond: 0 };

/** Metrics of what this process delivers to webhooks: one process does at a time. */
export class WebhookMetrics {
  readonly #attemptSeconds: Histogram<"outcome">;
  readonly #accepted: Counter;
  readonly #disabled: Counter<"reason">;
  readonly #expired: Counter;
  readonly #failures: Counter;
  readonly #threadsEnded: Counter;
  /** Without the role worker, nothing. */
  #report: () => Omit<ReturnType<Deliveries["report"]>, "failing"> = () => NOTHING;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#attemptSeconds = new Histogram({
      name: "parbook_webhook_attempt_seconds",
      help: "Duration of posts to receivers of webhooks, by outcome: accepted, failed (tried again), gone (answered 410).",
      labelNames: ["outcome"],
      buckets: SECONDS,
      registers,
    });
    this.#accepted = new Counter({
      name: "parbook_webhook_events_accepted_total",
      help: "Events that receivers of webhooks have accepted.",
      registers,
    });
    this.#disabled = new Counter({
      name: "parbook_webhooks_disabled_total",
      help: "Webhooks that the service has disabled, by reason: gone (answered 410), failing (accepted nothing for five days).",
      labelNames: ["reason"],
      registers,
    });
    this.#expired = new Counter({
      name: "parbook_webhook_events_expired_total",
      help: "Events that were removed for their age before a webhook had read them.",
      registers,
    });
    this.#failures = new Counter({
      name: "parbook_webhook_dispatcher_failures_total",
      help: "Outages in which this process could not deliver for a fault of its own or of the database: see the log.",
      registers,
    });
    this.#threadsEnded = new Counter({
      name: "parbook_webhook_outgoing_thread_ended_total",
      help: "How often the thread that posts to receivers of webhooks ended or was stuck, and began again: a bug, see the log.",
      registers,
    });
    plainGauge(
      registry,
      "parbook_webhooks_delivering",
      "Webhooks that this process delivers to; 0 on all nodes but one.",
      () => this.#report().webhooks,
    );
    plainGauge(
      registry,
      "parbook_webhook_posts_in_flight",
      "Posts to receivers of webhooks that are not answered yet.",
      () => this.#report().inFlight,
    );
    plainGauge(
      registry,
      "parbook_webhook_most_deliveries_per_second",
      "How many deliveries a second this process has time for: fewer while it is busy with the API; 0 on all nodes but one.",
      () => this.#report().mostPerSecond,
    );
  }

  readonly onDeliveryEvent = (event: DeliveryEvent): void => {
    if (event.kind === "attempted") {
      this.#attemptSeconds.observe({ outcome: event.outcome }, event.ms / 1_000);
      if (event.outcome === "accepted") this.#accepted.inc(event.events);
    }
    if (event.kind === "disabled") this.#disabled.inc({ reason: event.reason });
    if (event.kind === "expired") this.#expired.inc(Number(event.to - event.from) + 1);
    if (event.kind === "thread_ended") this.#threadsEnded.inc();
    if (event.kind === "failed") this.#failures.inc();
  };

  watch(deliveries: Pick<Deliveries, "report">): void {
    this.#report = () => deliveries.report();
  }
}
