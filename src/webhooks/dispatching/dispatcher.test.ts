/** Who delivers, without a database: its time is the test's. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Database, DatabaseAway } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { DeliveryEvent } from "./options.ts";
import { Pace } from "./pace.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-11-21T09:30:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

const LEASE_MS = 4_000;
const IDLE = { webhooks: 0, failing: 0, inFlight: 0, mostPerSecond: 0 };

/** There are no webhooks. @param failures how its lease cannot be taken at first */
function dispatching(failures: Error[] = []) {
  const asked = { take: 0, renew: 0, release: 0 };
  let renewal: "kept" | "lost" | "away" = "kept";
  const rows = async (text: string): Promise<unknown[]> => {
    if (text.startsWith("insert into lease")) {
      asked.take += 1;
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return [{ fence: "1" }];
    }
    if (text.includes("clock_timestamp(), fence")) asked.release += 1;
    if (!text.includes("clock_timestamp() +")) return [];
    asked.renew += 1;
    if (renewal === "away") throw new DatabaseAway("it is away");
    return renewal === "kept" ? [{}] : [];
  };
  const log: DeliveryEvent[] = [];
  const database = { rows, commits: { rows }, history: "first" };
  const dispatcher = new Dispatcher({
    database: database as unknown as Database,
    clock: { now: () => Date.now() as Instant, fault: undefined },
    ...{
      ids: new IdSource(),
      holder: "here",
      leaseMs: LEASE_MS,
      bodyOf: () => "{}",
      pace: new Pace({ utilization: 0 }),
    },
    events: { list: expect.fail, bounds: expect.fail, onNews: expect.fail },
    webhooks: {
      listActive: async () => ({ active: new Set(), changed: [], unreadable: [], hasMore: false }),
      disable: expect.fail,
    },
    sender: { send: () => expect.fail() },
    recordDisabled: async () => undefined,
    log: (event) => void log.push(event),
  });
  dispatcher.start();
  const stop = async (): Promise<void> => {
    const stopping = dispatcher.stop();
    await vi.advanceTimersByTimeAsync(2_000);
    await stopping;
  };
  const renewals = (from: typeof renewal): void => {
    renewal = from;
  };
  return { dispatcher, asked, log, renewals, database, stop };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("it renews its lease, releases it at the end, and leaves nothing behind", async () => {
  const { dispatcher, asked, log, stop } = dispatching();
  expect(dispatcher.report()).toEqual(IDLE);
  await pass(LEASE_MS);
  expect([asked, dispatcher.report().mostPerSecond]).toEqual([{ take: 1, renew: 4, release: 0 }, 2_500]);
  await pass(10 * LEASE_MS);
  await stop();
  expect([asked.take, asked.release, vi.getTimerCount()]).toEqual([1, 1, 0]);
  expect([log, dispatcher.report()]).toEqual([[{ kind: "leading" }, { kind: "ended" }], IDLE]);
});

test("once its lease is lost it delivers nothing more, until it has taken it again", async () => {
  const { log, renewals, stop } = dispatching();
  await pass(10);
  renewals("lost");
  await pass(LEASE_MS / 4 + 100);
  expect(log).toEqual([{ kind: "leading" }, { kind: "ended" }]);
  renewals("kept");
  await pass(1_500);
  expect(log.slice(2)).toEqual([{ kind: "leading" }]);
  await stop();
});

test("in another history of the database, as after a failover, it begins anew: versions may stand for something else", async () => {
  const { log, database, stop } = dispatching();
  await pass(10);
  database.history = "second";
  // It looks each second, and the lease is taken again within 1.5 s.
  await pass(1_000 + 1_500);
  expect(log).toEqual([{ kind: "leading" }, { kind: "ended" }, { kind: "leading" }]);
  await pass(2 * LEASE_MS);
  await stop();
  expect(log.slice(3)).toEqual([{ kind: "ended" }]);
});

test("a lease that cannot be renewed is good for four fifths of its time", async () => {
  const { log, renewals, stop } = dispatching();
  await pass(LEASE_MS / 4);
  renewals("away");
  await pass(0.8 * LEASE_MS - 50);
  expect(log).toEqual([{ kind: "leading" }]);
  await pass(200);
  expect(log).toEqual([{ kind: "leading" }, { kind: "ended" }]);
  await stop();
});

test("a lease that cannot be taken is no failure while the database is away, and one otherwise", async () => {
  const bug = new Error("a bug");
  const { log, stop } = dispatching([new DatabaseAway("it is away"), bug]);
  await pass(5_000);
  expect(log).toEqual([{ kind: "failed", error: bug }, { kind: "leading" }, { kind: "recovered", failures: 1 }]);
  await stop();
});
