/** What happened when something was posted to a webhook, and what follows from the answer. */
import type { WebhookId } from "../customers/webhooks/webhook.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { Outcome } from "./queues/delivery-queue.ts";
import type { Answer } from "./sender.ts";

export interface Attempt {
  readonly webhookId: WebhookId;
  readonly id: Uuid;
  /** The header `webhook-id`. */
  readonly messageId: string;
  /** The event, or the first of the batch. Undefined: a test. */
  readonly number: bigint | undefined;
  /** How many events were posted. */
  readonly events: number;
  readonly at: Instant;
  readonly ms: number;
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** Why it was not accepted; undefined: it was. */
  readonly error: string | undefined;
  /** The first KiB of the answer. */
  readonly answer: Buffer | undefined;
}

export function attemptOf(
  what: Pick<Attempt, "webhookId" | "id" | "messageId" | "number" | "events">,
  answer: Answer,
  outcome: Outcome,
  now: Instant,
): Attempt {
  const ms = Math.max(0, Math.round(answer.ms));
  return {
    ...what,
    at: (now - ms) as Instant,
    ms,
    status: answer.kind === "answered" ? answer.status : undefined,
    error: outcome.kind === "accepted" ? undefined : outcome.error,
    answer: answer.kind === "answered" && answer.body.length > 0 ? answer.body : undefined,
  };
}
