/**
 * A customer's events, followed through a storm: each number once and in order, as it will always be told, and every record
 * in it as it was.
 */
import { deepStrictEqual } from "node:assert/strict";
import { readEventLag } from "../../src/events/event-lag.ts";
import type { Queryable } from "../../src/postgres/database.ts";
import { assert, must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import { until } from "../support/until.ts";
import type { Client, ShownEvent } from "./client.ts";
import type { Kind } from "./lifecycles.ts";
import { NoAnswer } from "./send.ts";

const WAIT_MS = 1_000;
const PUBLISHED_WITHIN_S = 120;
const MOST_TRIES = 20;
const KINDS = ["transfer", "conversion", "order"] as const;

export class EventFollower {
  readonly #client: Client;
  readonly #events: ShownEvent[] = [];

  constructor(client: Client) {
    this.#client = client;
  }

  /** Until the storm is over. */
  async follow(flow: { readonly isOver: boolean }): Promise<void> {
    while (!flow.isOver) {
      try {
        this.#take(await this.#client.readEvents(this.#events.length, WAIT_MS));
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        await pause(200);
      }
    }
  }

  #take(events: readonly ShownEvent[]): void {
    for (const event of events) {
      const due = this.#events.length + 1;
      assert(event.number === due, `event ${due} of ${this.#client.name} comes next, not ${event.number}`);
      this.#events.push(event);
    }
  }

  /** All that has happened was told, and is told again in the same way. */
  async expectAll(database: Queryable): Promise<void> {
    const again: ShownEvent[] = [];
    let lists: (readonly [Kind, Awaited<ReturnType<Client["list"]>>])[] = [];
    for (let tries = 1; ; tries += 1) {
      await until("all events are published", async () => (await readEventLag(database)) === 0, PUBLISHED_WITHIN_S);
      const more = await this.#readFrom(again.length);
      again.push(...more);
      // An order that expires between the events and the lists is read again with both.
      if (more.length === 0) break;
      assert(tries < MOST_TRIES, "events come to an end");
      lists = await Promise.all(KINDS.map(async (kind) => [kind, await this.#client.list(kind)] as const));
    }
    this.#take(again.slice(this.#events.length));
    const name = ({ id, number, type, version }: ShownEvent) => `${number} ${id} ${type} ${version ?? ""}`;
    deepStrictEqual(again.map(name), this.#events.map(name), "events are told again as they were");
    for (const [kind, records] of lists) expectRecords(kind, records, again);
    for (const event of again) expectItsStatus(event);
  }

  async #readFrom(after: number): Promise<ShownEvent[]> {
    const events: ShownEvent[] = [];
    for (;;) {
      const page = await this.#client.readEventsForSure(after + events.length);
      if (page.length === 0) return events;
      events.push(...page);
    }
  }
}

/** The events of each record rise with its versions, and the last one shows it as it is. */
function expectRecords(kind: Kind, records: Awaited<ReturnType<Client["list"]>>, events: readonly ShownEvent[]): void {
  const byId = new Map<string, ShownEvent[]>();
  for (const event of events) {
    if (!event.type.startsWith(`${kind}.`)) continue;
    const own = byId.get(event.object.id) ?? [];
    byId.set(event.object.id, [...own, event]);
  }
  for (const record of records) {
    const own = byId.get(record.id) ?? [];
    const last = must(own.at(-1), `${kind} ${record.id} is told`);
    const versions = own.map(({ version = 0 }) => version);
    assert(
      versions.every((version, place) => place === 0 || version >= (versions[place - 1] as number)),
      `the versions of ${kind} ${record.id} rise: ${versions}`,
    );
    deepStrictEqual(last.object, record, `the last event of ${kind} ${record.id} shows it as it is`);
  }
}

/** What a record shows in its event, whatever became of it later. */
const STATUSES: Readonly<Record<string, string | readonly string[]>> = {
  "conversion.created": "CREATED",
  "conversion.settled": "SETTLED",
  "conversion.cancelled": "CANCELLED",
  "order.created": "PENDING_SUBMISSION",
  "order.submitted": "SUBMITTED",
  "order.open": "OPEN",
  "order.partially_filled": ["OPEN", "SUBMITTED"],
  "order.filled": "FILLED",
  "order.cancelled": "CANCELLED",
  "order.rejected": "REJECTED",
};

function expectItsStatus({ number, type, object }: ShownEvent): void {
  const statuses = [STATUSES[type] ?? []].flat();
  assert(
    statuses.length === 0 || statuses.includes(String(object.status)),
    `event ${number}, ${type}, shows ${object.status}`,
  );
}
