import { expect, test } from "vitest";
import { deliverableWebhook } from "../../../test/support/deliverable-webhook.ts";
import { NOTHING_YET } from "../../../test/support/queue-world.ts";
import type { EventFilter } from "../../events/events.ts";
import type { Instant } from "../../std/clock.ts";
import { EventReads } from "./event-reads.ts";
import { Line } from "./line.ts";

test.each<[string[], string[] | undefined]>([
  [
    ["order.filled", "market.*"],
    ["order.filled", "market.halted", "market.resumed"],
  ],
  [["webhook.disabled"], ["webhook.disabled"]],
  [["order.filled", "*"], undefined],
])("of a webhook of %j the events of these types are read, and no others", async (types, read) => {
  const asked: EventFilter[] = [];
  const list = async (filter: EventFilter) => {
    asked.push(filter);
    return { events: [], searchedTo: 9n, isLast: true };
  };
  const webhook = deliverableWebhook({ types });
  const options = { now: 1_000_000 as Instant, random: () => 0.5, stored: NOTHING_YET, rows: [] };
  const reads = new EventReads({ events: { list } as never, bodyOf: () => "{}" });
  await reads.page(new Line(webhook, 1n, options), 7n, 100);
  expect(asked).toEqual([
    { customerId: webhook.customerId, types: read, after: 7n, limit: 100, mostBytes: 128 * 1024 },
  ]);
});
