import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { WebhookId } from "../../customers/webhooks/webhook.ts";
import { WebhookMetrics } from "./webhooks.ts";

const webhookId = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00" as WebhookId;

test("attempts are timed by outcome; events are counted that were accepted, and that were too old", async () => {
  const registry = new Registry();
  const metrics = new WebhookMetrics(registry);
  metrics.watch({ report: () => ({ webhooks: 3, failing: 1, inFlight: 2, mostPerSecond: 2_500 }) });
  metrics.onDeliveryEvent({ kind: "leading" });
  metrics.onDeliveryEvent({ kind: "attempted", webhookId, outcome: "accepted", events: 7, ms: 20 });
  metrics.onDeliveryEvent({ kind: "attempted", webhookId, outcome: "failed", events: 7, ms: 15_000 });
  metrics.onDeliveryEvent({ kind: "attempted", webhookId, outcome: "gone", events: 7, ms: 30 });
  metrics.onDeliveryEvent({ kind: "disabled", webhook: undefined as never, reason: "gone" });
  metrics.onDeliveryEvent({ kind: "expired", webhookId, from: 5n, to: 9n });
  metrics.onDeliveryEvent({ kind: "failed", error: new Error("away") });
  metrics.onDeliveryEvent({ kind: "thread_ended", error: new Error("stuck") });
  metrics.onDeliveryEvent({ kind: "recovered", failures: 4 });
  const lines = (await registry.metrics())
    .split("\n")
    .filter((line) => /^parbook_/.test(line) && !/_bucket/.test(line));
  expect(lines).toEqual([
    'parbook_webhook_attempt_seconds_sum{outcome="accepted"} 0.02',
    'parbook_webhook_attempt_seconds_count{outcome="accepted"} 1',
    'parbook_webhook_attempt_seconds_sum{outcome="failed"} 15',
    'parbook_webhook_attempt_seconds_count{outcome="failed"} 1',
    'parbook_webhook_attempt_seconds_sum{outcome="gone"} 0.03',
    'parbook_webhook_attempt_seconds_count{outcome="gone"} 1',
    "parbook_webhook_events_accepted_total 7",
    'parbook_webhooks_disabled_total{reason="gone"} 1',
    "parbook_webhook_events_expired_total 5",
    "parbook_webhook_dispatcher_failures_total 1",
    "parbook_webhook_outgoing_thread_ended_total 1",
    "parbook_webhooks_delivering 3",
    "parbook_webhook_posts_in_flight 2",
    "parbook_webhook_most_deliveries_per_second 2500",
  ]);
});
