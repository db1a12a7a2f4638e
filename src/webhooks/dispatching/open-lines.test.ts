import { expect, test } from "vitest";
import { deliverableWebhook } from "../../../test/support/deliverable-webhook.ts";
import type { DeliveryOrder, WebhookId } from "../../customers/webhooks/webhook.ts";
import type { Database } from "../../postgres/database.ts";
import { systemClock } from "../../std/clock.ts";
import { openLines } from "./open-lines.ts";

test("what a strict webhook has behind its place stays: whether its batch is tried again, and how often it was", async () => {
  const webhooks = (["per_object", "strict", "any"] as const).map((deliveryOrder: DeliveryOrder, place) =>
    deliverableWebhook({ deliveryOrder, id: `0190d5a4-0000-7000-8000-00000000000${place}` as WebhookId }),
  );
  const removed: unknown[] = [];
  const rows = async (text: string, [ids]: [WebhookId[]]) => {
    if (text.includes("delete from webhook_delivery")) removed.push(ids);
    if (!text.includes("update webhook_progress")) return [];
    const none = { batch_end: null, failing_since: null, last_failure_at: null, last_success_at: null };
    return ids.map((webhook_id) => ({ webhook_id, read_to: "7", accepted_behind: [], version: "2", ...none }));
  };
  const database = { transaction: (work: (own: object) => unknown) => work({ rows }) } as unknown as Database;
  const lines = await openLines(
    { database, clock: systemClock, log: () => expect.fail() },
    { lease: { name: "webhooks", holder: "here", fence: 1n }, history: "first" },
    webhooks,
  );
  expect(lines.map(({ webhook: { deliveryOrder }, version }) => [deliveryOrder, version])).toEqual([
    ["per_object", 2n],
    ["strict", 2n],
    ["any", 2n],
  ]);
  expect(removed).toEqual([[webhooks[0]?.id, webhooks[2]?.id]]);
});
