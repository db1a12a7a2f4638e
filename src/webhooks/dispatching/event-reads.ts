/** Reads the events of webhooks, with the bodies that are posted, at a pace that leaves thread and database to others. */
import type { WebhookId } from "../../customers/webhooks/webhook.ts";
import type { CustomerEvent } from "../../events/events.ts";
import { must } from "../../std/assert.ts";
import { FairAdmission, PATIENT } from "../../web/limits/fair-admission.ts";
import type { Page } from "../queues/delivery-queue.ts";
import { type Line, type QueuedEvent, queued } from "./line.ts";
import type { DispatcherOptions } from "./options.ts";
import { listAtPace } from "./searches.ts";

/** One waits for each webhook, and for each post in flight. */
const READS = { ...PATIENT, atOnce: 6, alone: 2, share: 2 };
/** What a page has, as far as the size of the last events tells: the API has its turns between. */
const MOST_PAGE_BYTES = 128 * 1024;

export class EventReads {
  readonly #options: Pick<DispatcherOptions, "events" | "bodyOf">;
  readonly #admission = new FairAdmission(READS);
  /** How large the last events of each were, on average: kept while it is active, however often it is opened anew. */
  readonly #eventBytesOf = new Map<WebhookId, number>();

  constructor(options: Pick<DispatcherOptions, "events" | "bodyOf">) {
    this.#options = options;
  }

  /** Runs what uses the database for a webhook when it is its customer's turn. */
  async inTurn<Value>({ webhook }: Line, work: () => Promise<Value>): Promise<Value> {
    return must(await this.#admission.run(webhook.customerId, async () => ({ value: await work() })), "it waits").value;
  }

  async page(line: Line, after: bigint, limit: number): Promise<Page<QueuedEvent>> {
    const most = Math.min(limit, Math.ceil(MOST_PAGE_BYTES / (this.#eventBytesOf.get(line.id) ?? 1)));
    const filter = { customerId: line.webhook.customerId, types: line.types, after, limit: most };
    const page = await listAtPace(this.#options.events, filter);
    const events = page.events.map((event) => this.#withBody(line, event));
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
    if (bytes > 0) this.#eventBytesOf.set(line.id, bytes / events.length);
    return { ...page, events };
  }

  /** What is tried again is not kept in memory. @returns none if it is no longer listed */
  async again(line: Line, number: bigint): Promise<QueuedEvent[]> {
    const filter = { customerId: line.webhook.customerId, after: number - 1n, limit: 1 };
    const { events } = await this.inTurn(line, () => this.#options.events.list(filter));
    return events.filter((event) => event.number === number).map((event) => this.#withBody(line, event));
  }

  forgetAllBut(active: ReadonlySet<WebhookId>): void {
    for (const id of this.#eventBytesOf.keys()) if (!active.has(id)) this.#eventBytesOf.delete(id);
  }

  #withBody({ webhook }: Line, event: CustomerEvent): QueuedEvent {
    return queued(event, this.#options.bodyOf(event, webhook));
  }
}
