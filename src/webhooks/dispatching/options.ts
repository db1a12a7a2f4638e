import type { DisablingReason, Webhook, WebhookId } from "../../customers/webhooks/webhook.ts";
import type { Webhooks } from "../../customers/webhooks/webhooks.ts";
import type { Events } from "../../events/events.ts";
import type { Database } from "../../postgres/database.ts";
import type { ComparedClock } from "../../std/clock.ts";
import type { IdSource } from "../../std/id.ts";
import type { Outcome } from "../queues/delivery-queue.ts";
import type { BodyOf, Sender } from "../sender.ts";
import type { Pace } from "./pace.ts";

export type DeliveryEvent =
  /** This process has the lease, and no longer has it. */
  | { readonly kind: "leading" | "ended" }
  | {
      readonly kind: "attempted";
      readonly webhookId: WebhookId;
      readonly outcome: Outcome["kind"];
      readonly events: number;
      readonly ms: number;
    }
  /** The service has disabled it. */
  | { readonly kind: "disabled"; readonly webhook: Webhook; readonly reason: DisablingReason }
  /** Events that were not delivered are no longer kept. */
  | { readonly kind: "expired"; readonly webhookId: WebhookId; readonly from: bigint; readonly to: bigint }
  /** Its place was behind its customer's last event, which is now its place. */
  | { readonly kind: "returned"; readonly webhookId: WebhookId; readonly from: bigint; readonly to: bigint }
  /** Its secrets cannot be decrypted: nothing is delivered to it. */
  | { readonly kind: "unreadable"; readonly webhookId: WebhookId; readonly error: Error }
  /** What posts has ended by a bug, or was stuck: what was in flight has failed. It begins again. */
  | { readonly kind: "thread_ended"; readonly error: Error }
  /** The first failure of several in a row: of the database, or a bug. */
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "recovered"; readonly failures: number };

export interface DispatcherOptions {
  readonly database: Database;
  /** Of schedules: while it has a fault nothing is sent. Time limits go by the time of the process. */
  readonly clock: ComparedClock;
  readonly ids: IdSource;
  readonly holder: string;
  readonly events: Pick<Events, "list" | "onNews" | "bounds">;
  readonly webhooks: Pick<Webhooks, "listActive" | "disable">;
  readonly sender: Sender;
  readonly bodyOf: BodyOf;
  /** Records which webhooks the service has disabled, so that their customers are told. May be called again. */
  readonly recordDisabled: () => Promise<unknown>;
  /** Must not throw. */
  readonly log: (event: DeliveryEvent) => void;
  /** Only tests have one of their own. */
  readonly pace?: Pace;
  readonly leaseMs?: number;
}
