/** What a publisher does besides cuts, without a database: its time is the test's. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Database, DatabaseAway } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import { Publisher, type PublisherEvent } from "./publisher.ts";
import type { RecentBatches } from "./recent-batches.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-11-21T09:30:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

const HOUR_MS = 3_600_000;
const LEASE_MS = 3_000;
const KINDS = {
  take: /^insert into lease/,
  renew: /^update lease set expires_at = clock_timestamp\(\) \+/,
  release: /^update lease set expires_at = clock_timestamp\(\), fence/,
  "last cut": /from event_cut order by cut desc/,
  news: /from batch/,
  retention: /from event_retention/,
};
type Kind = keyof typeof KINDS;

/** Nothing is ever to be published. @param failures how these statements fail at first */
function publishing(failures: Partial<Record<Kind, Error[]>> = {}) {
  const asked: Record<Kind, number> = { take: 0, renew: 0, release: 0, "last cut": 0, news: 0, retention: 0 };
  let isHolder = true;
  const rows = async (text: string): Promise<unknown[]> => {
    const kind = (Object.keys(KINDS) as Kind[]).find((one) => KINDS[one].test(text));
    if (kind === undefined) return [];
    asked[kind] += 1;
    const failure = failures[kind]?.shift();
    if (failure !== undefined) throw failure;
    return kind === "take" || (kind === "renew" && isHolder) ? [{ fence: "1" }] : [];
  };
  const clock: { now: () => Instant; fault?: string | undefined } = { now: () => Date.now() as Instant };
  const log: PublisherEvent[] = [];
  const collecting: boolean[] = [];
  const database = { rows, commits: { rows }, history: "first" };
  const publisher = new Publisher({
    database: database as unknown as Database,
    clock,
    ...{ clockToleranceMs: 2_000, keptMs: 400 * 24 * HOUR_MS, holder: "here", leaseMs: LEASE_MS },
    committed: new WakeSignal(),
    recentBatches: {
      collect: (is: boolean) => void collecting.push(is),
      within: () => undefined,
    } as unknown as RecentBatches,
    log: (event) => void log.push(event),
  });
  publisher.start();
  const stop = async (): Promise<void> => {
    const stopping = publisher.stop();
    await vi.advanceTimersByTimeAsync(2_000);
    await stopping;
  };
  const lose = (): void => {
    isHolder = false;
  };
  return { asked, log, collecting, lose, database, clock, stop };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("it renews its lease, looks each hour for what is too old, and leaves nothing behind", async () => {
  const { asked, log, collecting, stop } = publishing();
  await pass(LEASE_MS);
  expect(asked).toMatchObject({ take: 1, renew: 3, retention: 0, release: 0 });
  // The first look is the clock's alone.
  for (const looks of [1, 2]) {
    await pass(HOUR_MS);
    expect(asked.retention).toBe(looks);
  }
  await stop();
  expect([asked.release, vi.getTimerCount(), collecting]).toEqual([1, 0, [true, false]]);
  expect(log).toEqual([{ kind: "leading" }, { kind: "ended" }]);
});

test("in another history of the database, as after a failover, it reads the last cut anew", async () => {
  const { asked, log, database, stop } = publishing();
  await pass(2_000);
  const { "last cut": before } = asked;
  database.history = "second";
  await pass(2_000);
  // Once to open, and each look asks for what is behind it.
  expect(asked["last cut"]).toBe(before + 1);
  await stop();
  expect(log).toEqual([{ kind: "leading" }, { kind: "ended" }]);
});

test("while the clock has a fault it makes no cuts: no later event could be earlier", async () => {
  const { asked, clock, stop } = publishing();
  await pass(1_000);
  clock.fault = "the database's clock is ahead";
  await pass(100);
  const { news } = asked;
  expect(news).toBeGreaterThan(10);
  await pass(60_000);
  expect(asked.news).toBe(news);
  clock.fault = undefined;
  await pass(1_000);
  expect(asked.news).toBeGreaterThan(news);
  await stop();
});

test("of failures in a row the first is reported, and how many there were; half a second lies between two", async () => {
  const [first, second] = [new Error("the database is away"), new Error("it is still away")];
  const { asked, log, stop } = publishing({ "last cut": [first, second] });
  await pass(499);
  expect([asked["last cut"], log]).toEqual([1, [{ kind: "leading" }, { kind: "failed", error: first }]]);
  await pass(1);
  expect([asked["last cut"], log.length]).toEqual([2, 2]);
  await pass(500);
  expect([asked["last cut"], log[2]]).toEqual([3, { kind: "recovered", failures: 2 }]);
  await stop();
});

test("a lease that cannot be taken is no failure while the database is away, and one otherwise", async () => {
  const bug = new Error("a bug");
  const { log, stop } = publishing({ take: [new DatabaseAway("it is away"), bug] });
  await pass(5_000);
  expect(log).toEqual([{ kind: "failed", error: bug }, { kind: "leading" }, { kind: "recovered", failures: 1 }]);
  await stop();
});

test("once its lease is lost it publishes nothing more, until it has taken it again", async () => {
  const { log, lose, stop } = publishing();
  await pass(10);
  lose();
  await pass(LEASE_MS / 3);
  expect(log).toEqual([{ kind: "leading" }, { kind: "ended" }]);
  await pass(1_500);
  expect(log.slice(2)).toEqual([{ kind: "leading" }]);
  await stop();
});
