/** What is posted to a receiver, and what its answer means. */
import { createHash } from "node:crypto";
import type { DeliverableWebhook } from "../customers/webhooks/webhook.ts";
import type { CustomerEvent } from "../events/events.ts";
import type { Instant } from "../std/clock.ts";
import type { Outcome } from "./queues/delivery-queue.ts";

export interface Message {
  /** `webhook-id`: the same for the same events, however often they are sent. */
  readonly id: string;
  readonly body: string;
}

export type Answer =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter: string | undefined;
      /** The first KiB. */
      readonly body: Buffer;
      readonly ms: number;
    }
  | { readonly kind: "unanswered"; readonly error: string; readonly ms: number };

/** For how long something is to be posted. Nothing given: whatever happens meanwhile. */
export interface Wanted {
  /** Cuts off what is in flight, whose outcome is then unknown. */
  readonly signal?: AbortSignal;
  /** Asked right before each post: the webhook may have been moved while a token for it was fetched. */
  readonly mayPost?: () => boolean;
}

/** Signs a message and posts it, within its own time limit. */
export interface Sender {
  /** @returns "not posted": it might not be any more, and nothing was */
  send(webhook: DeliverableWebhook, message: Message, wanted: Wanted): Promise<Answer | "not posted">;
}

/** The body of one event, in the form that the webhook has. */
export type BodyOf = (event: CustomerEvent, webhook: DeliverableWebhook) => string;

/** @param events one, or, of a strict webhook, a batch */
export function messageOf({ deliveryOrder }: DeliverableWebhook, events: readonly Message[]): Message {
  const [first] = events;
  if (deliveryOrder !== "strict") return { id: first?.id ?? "", body: first?.body ?? "" };
  const ids = events.map(({ id }) => id);
  // The webhook's types may change between two attempts: another batch must not have the same id.
  const digest = createHash("sha256").update(ids.join()).digest("hex").slice(0, 16);
  return {
    id: `${first?.id}_${ids.length}_${digest}`,
    body: `{"object":"list","data":[${events.map(({ body }) => body).join(",")}]}`,
  };
}

const LONGEST_ERROR = 500;

/** Only 2xx accepts, and 410 ends it: a redirect is not followed, and any other answer is tried again. */
export function outcomeOf(answer: Answer, now: Instant): Outcome {
  if (answer.kind === "unanswered") return { kind: "failed", error: answer.error.slice(0, LONGEST_ERROR) };
  const { status, retryAfter } = answer;
  if (status >= 200 && status < 300) return { kind: "accepted" };
  const error = `answered ${status}`;
  if (status === 410) return { kind: "gone", error };
  const waits = status === 429 || status === 503;
  return { kind: "failed", error, retryAfterMs: waits ? retryAfterMs(retryAfter, now) : undefined };
}

/** RFC 9110, section 10.2.3: seconds, or a date. */
function retryAfterMs(value: string | undefined, now: Instant): number | undefined {
  if (value === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1_000;
  const until = Date.parse(value);
  return Number.isNaN(until) ? undefined : Math.max(0, until - now);
}
