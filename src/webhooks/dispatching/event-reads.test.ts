import { expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { CustomerEvent, EventPage } from "../../events/events.ts";
import { pause } from "../../std/pause.ts";
import { listAtPace } from "./event-reads.ts";

const FILTER = { customerId: "ann" as CustomerId, after: 0n, limit: 1 };

/** How long it takes with a page that takes 30 ms. */
async function msFor(page: EventPage): Promise<number> {
  const startedMs = performance.now();
  const list = async (): Promise<EventPage> => {
    await pause(30);
    return page;
  };
  expect(await listAtPace({ list }, FILTER)).toBe(page);
  return performance.now() - startedMs;
}

test("only a search that has found nothing and has to go on is followed by a rest, three times as long", async () => {
  const [event, none] = [[{}] as unknown as CustomerEvent[], []];
  expect(await msFor({ events: none, searchedTo: 9n, isLast: false })).toBeGreaterThan(115);
  for (const page of [
    { events: event, searchedTo: 9n, isLast: false },
    { events: none, searchedTo: 9n, isLast: true },
  ])
    expect(await msFor(page)).toBeLessThan(90);
});
