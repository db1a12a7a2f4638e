/** Lists of made-up events: how a request that may wait searches. */
import { expect, onTestFinished, test, vi } from "vitest";
import { ask, GRANT, problem, startToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import type { EventFilter, Events } from "../../events/events.ts";
import { pause } from "../../std/pause.ts";
import { createAdmissions } from "../access/request-admission.ts";
import { Waiters } from "../event-streams/waiters.ts";
import { eventRoutes } from "./events.ts";

const MOST = { all: 10, ofCustomer: 10, ofClient: 10, ofAddress: 10 };

test("a request that may wait searches on while there is more, and says how far it has come when its time is up", async () => {
  const searched: bigint[] = [];
  let last = 1_000_000n;
  const events: Pick<Events, "list" | "bounds" | "onNews"> = {
    list: async ({ after }: EventFilter) => {
      searched.push(after);
      await pause(20);
      return { events: [], searchedTo: after + 10_000n, isLast: false };
    },
    bounds: async () => ({ first: 1n, last }),
    onNews: () => () => undefined,
  };
  const deliveries = { countUndelivered: async () => new Map<bigint, number>() };
  const options = { events: events as Events, deliveries, exchange: {} as never, isTest: true };
  const toy = await startToyApi((api) => eventRoutes(api, { ...options, waiters: new Waiters(MOST) }), {
    verify: async () => ({ ...GRANT, scopes: new Set(["events:read_event"]) }),
  });
  onTestFinished(() => toy.close());
  const list = "/v2/events?type=profile.created&wait_millis=200";
  const { body } = await ask(toy, list);
  expect(body).toEqual({ events: [], next_page_cursor: expect.stringMatching(/./), first_number: 1 });
  const { next_page_cursor: cursor } = body as { readonly next_page_cursor: string };
  // With a rest twice as long as each search.
  expect(searched.length).toBeGreaterThan(1);
  expect(searched.length).toBeLessThan(6);
  expect((await ask(toy, `${list}&page_cursor=${cursor}`)).status).toBe(200);
  expect(searched).toEqual(searched.map((_, nth) => BigInt(nth) * 10_000n));
  const { length } = searched;
  // As after a restore.
  last = 9_999n;
  const rule = "is after the last event, 9999. If you have read it, the database was restored to an earlier time";
  expect(await ask(toy, `${list}&page_cursor=${cursor}`)).toEqual(
    problem(400, "Bad Request", `page_cursor ${rule}`, { meta: { errors: [{ field: "page_cursor", rule }] } }),
  );
  expect(searched).toHaveLength(length);
});

/**
 * A toy without events beyond the first one, and who listens for more; `inProgress` is the size of its queue at each look, which
 * takes so many milliseconds and comes one event further; `looked` is behind which one each began.
 */
async function startWaiting(waiters: Waiters, lookMs = 0) {
  const listeners = new Set<() => void>();
  const inProgress: number[] = [];
  const looked: bigint[] = [];
  const admissions = createAdmissions();
  const events: Pick<Events, "list" | "bounds" | "onNews"> = {
    list: async ({ after }: EventFilter) => {
      inProgress.push(admissions.reads.size);
      looked.push(after);
      if (lookMs > 0) await pause(lookMs);
      return { events: [], searchedTo: after + 1n, isLast: true };
    },
    bounds: async () => ({ first: 1n, last: 1n }),
    onNews: (_, listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const deliveries = { countUndelivered: async () => new Map<bigint, number>() };
  const options = { events: events as Events, deliveries, exchange: {} as never, isTest: true, waiters };
  const toy = await startToyApi((api) => eventRoutes(api, options), {
    admissions,
    verify: async () => ({ ...GRANT, scopes: new Set(["events:read_event"]) }),
  });
  onTestFinished(() => toy.close());
  return { toy, listeners, inProgress, looked, admissions };
}

test("a caller that waits and finds no place when there is news is told that there is nothing yet, not to go away", async () => {
  const { toy, listeners, admissions } = await startWaiting(new Waiters(MOST));
  const waiting = ask(toy, "/v2/events?after_number=1&wait_millis=30000&limit=1", { token: "good" });
  await until("it waits", () => listeners.size === 1 && admissions.reads.size === 0);
  vi.spyOn(admissions.reads, "enter").mockResolvedValue(false);
  for (const listener of listeners) listener();
  expect(await waiting).toMatchObject({
    status: 200,
    body: { events: [], next_page_cursor: "", first_number: 1 },
  });
  expect([listeners.size, admissions.reads.size]).toEqual([0, 0]);
});

test("a caller that waits when the service stops is told that there is nothing yet, and is not waited for", async () => {
  const { toy, listeners, admissions } = await startWaiting(new Waiters(MOST));
  const waiting = ask(toy, "/v2/events?after_number=1&wait_millis=30000&limit=1", { token: "good" });
  await until("it waits", () => listeners.size === 1 && admissions.reads.size === 0);
  const startedMs = performance.now();
  const closed = toy.api.close();
  expect(await waiting).toMatchObject({
    status: 200,
    body: { events: [], next_page_cursor: "", first_number: 1 },
  });
  await closed;
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  expect(listeners.size).toBe(0);
});

test("a caller that has gone is not waited for and gives its place back; while there is no place nobody waits", async () => {
  const { toy, listeners, inProgress, admissions } = await startWaiting(new Waiters({ ...MOST, ofClient: 1 }));
  const wait = (signal?: AbortSignal) =>
    fetch(`${toy.url}/v2/events?after_number=1&wait_millis=30000&limit=1`, {
      headers: { authorization: "Bearer good" },
      ...(signal && { signal }),
    });
  for (let times = 0; times < 2; times += 1) {
    const caller = new AbortController();
    const first = wait(caller.signal);
    await until("it waits", () => listeners.size === 1 && admissions.reads.size === 0);
    const second = await wait();
    expect([second.status, await second.json()]).toEqual([200, { events: [], next_page_cursor: "", first_number: 1 }]);
    // It looks again, in its turn.
    const before = inProgress.length;
    for (const listener of listeners) listener();
    await until("it has looked again", () => inProgress.length > before && admissions.reads.size === 0);
    caller.abort();
    await expect(first).rejects.toThrow("aborted");
    await until("nobody waits for it", () => listeners.size === 0);
  }
  expect(new Set(inProgress)).toEqual(new Set([1]));
});

test("callers that wait for what no event is look again one at a time, behind what they have seen, and rest twice as long", async () => {
  const { toy, listeners, inProgress, looked, admissions } = await startWaiting(new Waiters(MOST), 20);
  const never = "/v2/events?after_number=1&wait_millis=30000&limit=1&created_at.gte=2099-01-01T00:00:00Z";
  const callers = Array.from({ length: 4 }, () => new AbortController());
  const waiting = callers.map(({ signal }) =>
    fetch(`${toy.url}${never}`, { headers: { authorization: "Bearer good" }, signal }).catch(() => undefined),
  );
  await until("all wait", () => listeners.size === 4 && inProgress.length === 4 && admissions.longReads.size === 0);
  const startedMs = performance.now();
  for (const listener of listeners) listener();
  await until("all have looked again", () => inProgress.length === 8 && admissions.longReads.size === 0);
  // Timers may fire a millisecond early.
  expect(performance.now() - startedMs).toBeGreaterThan(4 * 57);
  expect(looked).toEqual([1n, 1n, 1n, 1n, 2n, 2n, 2n, 2n]);
  for (const caller of callers) caller.abort();
  await Promise.all(waiting);
  await until("nobody waits", () => listeners.size === 0);
});
