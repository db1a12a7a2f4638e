import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { DeliverableWebhook, WebhookId } from "../../src/customers/webhooks/webhook.ts";
import type { Instant } from "../../src/std/clock.ts";

const MADE_AT = 1_000_000 as Instant;

/** An active webhook of all events, for tests of deliveries that need no database. */
export function deliverableWebhook(more: Partial<DeliverableWebhook> = {}): DeliverableWebhook {
  return {
    id: "0190d5a4-0000-7000-8000-000000000001" as WebhookId,
    customerId: "0190d5a4-0000-7000-8000-000000000002" as CustomerId,
    name: "orders",
    url: "https://example.com",
    types: ["*"],
    body: "thin",
    deliveryOrder: "per_object",
    deliveriesPerSecond: 100,
    receiverAccess: undefined,
    receiverSecret: undefined,
    status: "ACTIVE",
    disabledReason: undefined,
    disabledAt: undefined,
    publicKeys: [],
    signingSecrets: [],
    createdAt: MADE_AT,
    updatedAt: MADE_AT,
    version: 1n,
    ...more,
  };
}
