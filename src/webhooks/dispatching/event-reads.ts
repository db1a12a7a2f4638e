/** Reads the events of webhooks, with the bodies that are posted, at a pace that leaves thread and database to others. */
import type { CustomerEvent, EventFilter, EventPage, Events } from "../../events/events.ts";
import { must } from "../../std/assert.ts";
import { pause, restMs } from "../../std/pause.ts";
import { FairAdmission, PATIENT } from "../../web/limits/fair-admission.ts";
import { MOST_BATCH_BYTES, type Page } from "../queues/delivery-queue.ts";
import { type Line, type QueuedEvent, queued } from "./line.ts";
import type { DispatcherOptions } from "./options.ts";

/** One waits for each webhook, and for each post in flight. */
const READS = { ...PATIENT, atOnce: 6, alone: 2, share: 2 };
/** A search without a find is followed by a rest so many times longer: ten webhooks may wait for what never happens. */
const RESTS = 3;

export class EventReads {
  readonly #options: Pick<DispatcherOptions, "events" | "bodyOf">;
  readonly #admission = new FairAdmission(READS);

  constructor(options: Pick<DispatcherOptions, "events" | "bodyOf">) {
    this.#options = options;
  }

  /** Runs what uses the database for a webhook when it is its customer's turn. */
  async inTurn<Value>({ webhook }: Line, work: () => Promise<Value>): Promise<Value> {
    return must(
      await this.#admission.run(webhook.customerId, async () => ({ value: await work() })),
      "it waits without a limit",
    ).value;
  }

  async page(line: Line, after: bigint, limit: number): Promise<Page<QueuedEvent>> {
    const { customerId } = line.webhook;
    const filter = { customerId, types: line.types, after, limit, mostBytes: MOST_BATCH_BYTES };
    const page = await listAtPace(this.#options.events, filter);
    return { ...page, events: page.events.map((event) => this.#withBody(line, event)) };
  }

  /** What is tried again is not kept in memory. @returns none if it is no longer listed */
  async again(line: Line, number: bigint): Promise<QueuedEvent[]> {
    const filter = { customerId: line.webhook.customerId, after: number - 1n, limit: 1 };
    const { events } = await this.inTurn(line, () => this.#options.events.list(filter));
    return events.filter((event) => event.number === number).map((event) => this.#withBody(line, event));
  }

  #withBody({ webhook }: Line, event: CustomerEvent): QueuedEvent {
    return queued(event, this.#options.bodyOf(event, webhook));
  }
}

/** A page, after the rest if nothing was found and there is more to be searched. */
export async function listAtPace(events: Pick<Events, "list">, filter: EventFilter): Promise<EventPage> {
  const startedMs = performance.now();
  const page = await events.list(filter);
  const tookMs = performance.now() - startedMs;
  if (page.events.length === 0 && !page.isLast) await pause(restMs(tookMs, RESTS));
  return page;
}
