/** Lists of made-up events: how a request that may wait searches. */
import { expect, onTestFinished, test } from "vitest";
import { ask, GRANT, startToyApi } from "../../../test/support/http/toy-api.ts";
import type { EventFilter, Events } from "../../events/events.ts";
import { Waiters } from "../event-streams/waiters.ts";
import { eventRoutes } from "./events.ts";

const MOST = { all: 10, ofCustomer: 10, ofClient: 10, ofAddress: 10 };

test("a request that may wait is answered at once while there is more to be searched, and says how far it has come", async () => {
  const searched: bigint[] = [];
  const events: Pick<Events, "list" | "bounds" | "onNews"> = {
    list: async ({ after }: EventFilter) => {
      searched.push(after);
      return { events: [], searchedTo: after + 10_000n, isLast: false };
    },
    bounds: async () => ({ first: 1n, last: 1_000_000n }),
    onNews: () => () => undefined,
  };
  const deliveries = { countUndelivered: async () => new Map<bigint, number>() };
  const options = { events: events as Events, deliveries, exchange: {} as never, isTest: true };
  const toy = await startToyApi((api) => eventRoutes(api, { ...options, waiters: new Waiters(MOST) }), {
    verify: async () => ({ ...GRANT, scopes: new Set(["events:read_event"]) }),
  });
  onTestFinished(() => toy.close());
  const list = "/v2/events?type=profile.created&wait_millis=30000";
  const { body } = await ask(toy, list);
  expect(body).toEqual({ events: [], next_page_cursor: expect.stringMatching(/./), first_number: 1 });
  const { next_page_cursor: cursor } = body as { readonly next_page_cursor: string };
  expect((await ask(toy, `${list}&page_cursor=${cursor}`)).status).toBe(200);
  expect(searched).toEqual([0n, 10_000n]);
});
