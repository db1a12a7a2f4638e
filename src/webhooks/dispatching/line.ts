/** A webhook that is delivered to, while this process does. */
import { type DeliverableWebhook, isOfType, type WebhookId } from "../../customers/webhooks/webhook.ts";
import { type CustomerEvent, EVENT_TYPES, type EventId, type EventType } from "../../events/events.ts";
import type { Instant } from "../../std/clock.ts";
import type { DeliveryQueue, QueueOptions, ReadEvent } from "../queues/delivery-queue.ts";
import { ObjectQueue } from "../queues/object-queue.ts";
import { StrictQueue } from "../queues/strict-queue.ts";

/** An event with the body that is posted. */
export interface QueuedEvent extends ReadEvent {
  readonly id: EventId;
  readonly body: string;
}

export class Line {
  readonly webhook: DeliverableWebhook;
  /** Of its progress, under which it writes. */
  readonly version: bigint;
  /** Where its place was. */
  readonly openedAt: bigint;
  readonly queue: DeliveryQueue<QueuedEvent>;
  readonly types: readonly EventType[] | undefined;
  /**
   * closing: it is disabled or was changed: nothing more is sent, and it is removed once what was sent has been written.
   * stale: somebody else has set its place: the same, but what was sent cannot be written.
   */
  state: "open" | "closing" | "stale" = "open";
  /** When it may have something to send without anything else happening. */
  dueAt: Instant | undefined;
  isReading = false;
  /** After a failure of ours, in time of the process. */
  restsUntilMs = 0;
  /** What it counted for when it was last looked at. */
  size = 0;
  attemptsSinceTrim = 0;
  stopListening: () => void = () => undefined;

  constructor(webhook: DeliverableWebhook, version: bigint, options: Omit<QueueOptions, "deliveriesPerSecond">) {
    this.webhook = webhook;
    this.version = version;
    this.openedAt = options.stored.readTo;
    this.types = matchingTypes(webhook.types);
    const { deliveryOrder, deliveriesPerSecond } = webhook;
    const settings = { ...options, deliveriesPerSecond };
    this.queue =
      deliveryOrder === "strict"
        ? new StrictQueue(settings)
        : new ObjectQueue(deliveryOrder === "per_object", settings);
  }

  get id(): WebhookId {
    return this.webhook.id;
  }

  /** It can be removed. */
  get isDrained(): boolean {
    return this.state !== "open" && this.queue.inFlight === 0 && !this.isReading;
  }
}

/** @returns undefined: all */
function matchingTypes(entries: readonly string[]): EventType[] | undefined {
  const matching = EVENT_TYPES.filter((type) => entries.some((entry) => isOfType(type, entry)));
  return matching.length === EVENT_TYPES.length ? undefined : matching;
}

export function queued(event: CustomerEvent, body: string): QueuedEvent {
  const { value } = event.object;
  const objectId = String("id" in value ? value.id : value.code);
  return { id: event.id, number: event.number, objectId, body, bytes: Buffer.byteLength(body) };
}
