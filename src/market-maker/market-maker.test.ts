/** When the maker makes its passes, and what becomes of its lease. What a pass does is in test/market-maker. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Maker, type MakerParts } from "./market-maker.ts";
import type { MakerEvent } from "./market-quoters.ts";

/** Whether the lease can be taken, and is kept when it is renewed. */
let isFree: boolean;
let isKept: boolean;
/** Whether the lease cannot be released. */
let isAway: boolean;
/** What every pass fails with, if anything. */
let fault: Error | undefined;
let isCustomer: boolean;
/** What the opening of the maker's customer waits for. */
let opening: Promise<void>;
/** What was done, and when: by the clock in seconds, after the name. */
let done: string[];
let events: MakerEvent[];
let began: number;
let maker: Maker;

const note = (what: string): void => void done.push(`${what} ${Math.round(performance.now() - began) / 1_000}`);

beforeEach(() => {
  vi.useFakeTimers();
  [isFree, isKept, isAway, fault, isCustomer] = [true, true, false, undefined, true];
  [opening, done, events, began] = [Promise.resolve(), [], [], performance.now()];
  const leases = async (text: string): Promise<object[]> => {
    if (text.includes("insert into lease")) {
      note("take");
      return isFree ? [{ fence: "1" }] : [];
    }
    const isRenewal = text.includes("synchronous_commit");
    note(isRenewal ? "renew" : "release");
    if (!isRenewal && isAway) throw new Error("the database is away");
    return isRenewal && isKept ? [{}] : [];
  };
  const parts = {
    database: { rows: leases },
    // There is no market to make, so a pass that does not fail is settled.
    catalogue: {
      findMarket: () => {
        note("pass");
        if (fault !== undefined) throw fault;
      },
    },
    customers: { find: async () => (isCustomer ? {} : undefined), ensure: () => opening.then(() => note("open")) },
    profiles: { getDefault: async () => ({ id: "profile" }) },
    holder: "this process",
    seed: "seed",
    log: (event: MakerEvent) => void events.push(event),
  };
  maker = new Maker(parts as unknown as MakerParts);
});

afterEach(() => vi.useRealTimers());

/** What was done, of these kinds: the first one in each row of the same in the same moment. */
function noted(...names: readonly string[]): string[] {
  return [...new Set(done.filter((what) => names.includes(what.split(" ")[0] ?? "")))];
}

async function runFor(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1_000);
}

test("passes that fail are reported, and repeated after longer and longer pauses, of half a minute at most", async () => {
  fault = new Error("the disk is full");
  void maker.start();
  await runFor(100);
  expect(noted("pass")).toEqual([0, 1, 3, 7, 15, 31, 61, 91].map((at) => `pass ${at}`));
  expect(events).toEqual(Array.from({ length: 8 }, () => ({ kind: "pass_failed", error: fault })));
  fault = undefined;
  // It looks at all markets again after a minute.
  await runFor(21.5);
  expect(noted("pass")).toHaveLength(9);
  fault = new Error("it is full again");
  await runFor(60);
  expect(events).toHaveLength(9);
  await runFor(1);
  expect(events.slice(8).map((event) => event.kind === "pass_failed" && event.error)).toEqual([fault, fault]);
  await maker.stop();
});

test.each([
  ["not at all where the ladders rest", true, undefined, 0],
  ["not at all where another process has the lease", false, undefined, 0],
  ["ten seconds where its passes fail", true, new Error("no"), 10_000],
])("a start waits %s", async (_what, free, failure, ms) => {
  [isFree, fault] = [free, failure];
  const before = performance.now();
  const starting = maker.start().then(() => performance.now() - before);
  await runFor(20);
  expect(Math.round(await starting)).toBe(ms);
  await maker.stop();
});

test("the lease is renewed before it ends; after another process had it, all is read again", async () => {
  void maker.start();
  await runFor(11);
  expect(noted("open", "take", "renew")).toEqual(["take 0", "open 0", "renew 5", "renew 10"]);
  [isKept, isFree] = [false, false];
  await runFor(5);
  const passes = noted("pass").length;
  await runFor(5);
  expect(noted("pass")).toHaveLength(passes);
  expect(noted("open")).toEqual(["open 0"]);
  isFree = true;
  await runFor(2);
  expect(noted("open")).toHaveLength(2);
  await maker.stop();
});

test("a stop releases the lease, if there is one, and ends the passes", async () => {
  void maker.start();
  await runFor(1);
  await maker.stop();
  expect(noted("release")).toEqual(["release 1"]);
  const passes = noted("pass").length;
  await runFor(60);
  expect(noted("pass")).toHaveLength(passes);
  expect(vi.getTimerCount()).toBe(0);
});

test("a stop waits for the pass in progress", async () => {
  let answer: (() => void) | undefined;
  opening = new Promise((resolve) => {
    answer = resolve;
  });
  void maker.start();
  await runFor(1);
  const stopping = maker.stop();
  await runFor(1);
  expect(noted("pass", "release")).toEqual([]);
  answer?.();
  await stopping;
  expect(noted("pass", "release")).toEqual(["pass 2", "release 2"]);
});

test("a stop while the database is away leaves the lease to end", async () => {
  void maker.start();
  await runFor(1);
  isAway = true;
  await maker.stop();
  expect(noted("release")).toEqual(["release 1"]);
});

test("where the maker is turned off, what it has left is cancelled under the lease, which is released", async () => {
  await maker.cancelAll();
  expect(noted("open", "take", "release")).toEqual(["take 0", "open 0", "release 0"]);
  done = [];
  isFree = false;
  await maker.cancelAll();
  expect(noted("open", "take", "release")).toEqual(["take 0"]);
  done = [];
  [isFree, isCustomer] = [true, false];
  await maker.cancelAll();
  expect(done).toEqual([]);
});
