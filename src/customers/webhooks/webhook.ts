/** What a webhook is: where a customer wants its events posted, and how. */
import type { Brand } from "../../std/brand.ts";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import type { CustomerId } from "../customer-id.ts";
import type { SigningSecret } from "./signing-secrets.ts";

export type WebhookId = Brand<Uuid, "WebhookId">;

/** thin: what happened to which object. full: the object too, as it was then. */
export const WEBHOOK_BODIES = ["thin", "full"] as const;
export type WebhookBody = (typeof WEBHOOK_BODIES)[number];

/**
 * per_object: never two events of one object at once, nor out of order. strict: a batch of up to 100 events at a time, all in
 * order. any: as they come.
 */
export const DELIVERY_ORDERS = ["per_object", "strict", "any"] as const;
export type DeliveryOrder = (typeof DELIVERY_ORDERS)[number];

/** How the receiver lets it in, beside its signature. The secret is stored apart. */
export type ReceiverAccess =
  | { readonly kind: "api_key"; readonly header: string }
  | {
      readonly kind: "oauth";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly scope: string | undefined;
    };

/** customer, operator: by them. gone: its receiver answered 410. failing: nothing was accepted for five days. */
export type DisabledReason = "customer" | "operator" | DisablingReason;
/** Of those, why the service does. */
export type DisablingReason = "gone" | "failing";

/** What its customer or the operator sets. */
export interface WebhookSettings {
  /** Unique among the customer's. */
  readonly name: string;
  readonly url: string;
  /** Types of events. `*` at the end of one stands for any rest. */
  readonly types: readonly string[];
  readonly body: WebhookBody;
  readonly deliveryOrder: DeliveryOrder;
  readonly deliveriesPerSecond: number;
  /** Undefined: by the signature alone. */
  readonly receiverAccess: ReceiverAccess | undefined;
}

export interface Webhook extends WebhookSettings {
  readonly id: WebhookId;
  readonly customerId: CustomerId;
  readonly status: "ACTIVE" | "DISABLED";
  readonly disabledReason: DisabledReason | undefined;
  /** Since when nothing is delivered. It keeps its place. */
  readonly disabledAt: Instant | undefined;
  /** `whpk_...`, with which receivers verify `v1a`; the newest first, and its predecessor while it is rotated. */
  readonly publicKeys: readonly string[];
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** Rises with each change. */
  readonly version: bigint;
}

/** With its secrets in clear: only for what delivers. */
export interface DeliverableWebhook extends Webhook {
  /** Those that sign at the time of reading this, at least one. */
  readonly signingSecrets: readonly SigningSecret[];
  /** The API key, or the client secret, of `receiverAccess`. */
  readonly receiverSecret: string | undefined;
}

/** Whether an event of this type is one that a webhook with this entry in `types` gets. */
export function isOfType(type: string, entry: string): boolean {
  if (entry === "*") return true;
  return entry.endsWith(".*") ? type.startsWith(entry.slice(0, -1)) : type === entry;
}
