import { afterEach, expect, test, vi } from "vitest";
import type { Instant } from "../std/clock.ts";
import { DatabaseComparedClock, type DatabaseComparedClockOptions } from "./compared-clock.ts";

afterEach(() => vi.restoreAllMocks());

const NOON = Date.parse("2026-11-21T12:00:00Z");

/** A process and its database, each with a clock that a test sets, and the latency of a query each way. */
class Site {
  readonly clock: DatabaseComparedClock;
  steadyMs = 0;
  aheadMs = 0;
  databaseAheadMs = 0;
  thereMs = 2;
  backMs = 2;

  constructor(options: Partial<DatabaseComparedClockOptions> = {}) {
    this.clock = new DatabaseComparedClock(
      { now: () => Math.floor(NOON + this.steadyMs + this.aheadMs) as Instant },
      { toleranceMs: 2_000, ...options },
    );
    vi.spyOn(performance, "now").mockImplementation(() => this.steadyMs);
  }

  measure(anew = false): Promise<void> {
    return this.clock.measure(async () => {
      this.steadyMs += this.thereMs;
      const time = NOON + this.steadyMs + this.databaseAheadMs;
      this.steadyMs += this.backMs;
      return time;
    }, anew);
  }

  /** Our clock minus the database's. */
  get differenceMs(): number {
    return this.clock.now() - (NOON + this.steadyMs + this.databaseAheadMs);
  }
}

test("a clock that was never measured counts as right", () => {
  const site = new Site();
  site.aheadMs = 10_000;
  expect([site.clock.wrongByMs, site.clock.fault, site.differenceMs]).toEqual([0, undefined, 10_000]);
  expect(site.clock.databaseTime(NOON as Instant)).toBe(NOON);
});

test("within the tolerance the time is the process's own, to the millisecond", async () => {
  const site = new Site();
  await site.measure();
  for (const ms of [1_990, -1_990]) {
    site.aheadMs = ms;
    expect([site.clock.fault, site.differenceMs]).toEqual([undefined, ms]);
  }
});

test("beyond the tolerance the clock is wrong at once, and the database's time is used until it is right", async () => {
  const site = new Site();
  await site.measure();
  for (const [ms, words] of [
    [2_010, "2.0 s ahead of"],
    [-2_010, "2.0 s behind"],
    [30 * 86_400_000, "2592000.0 s ahead of"],
  ] as const) {
    site.aheadMs = ms;
    expect(site.clock.wrongByMs).toBe(ms);
    expect(site.clock.fault).toBe(`the clock of this node is ${words} the database's, and 2 s are allowed`);
    expect(site.differenceMs).toBe(0);
  }
  site.aheadMs = 0;
  expect(site.clock.fault).toBeUndefined();
});

test("a slow response never makes a correct clock wrong, and a step is still detected", async () => {
  const site = new Site();
  await site.measure();
  [site.thereMs, site.backMs] = [0, 8_000];
  await site.measure();
  expect([site.clock.fault, site.differenceMs]).toEqual([undefined, 0]);
  // The measurement alone may be wrong by half its duration; the earlier bounds still hold.
  site.aheadMs = 2_100;
  expect(site.clock.wrongByMs).toBeCloseTo(2_100, -2);
  site.aheadMs = 0;
  site.databaseAheadMs = -60_000;
  await site.measure();
  expect(site.clock.fault).toMatch(/ahead of the database's/);
  [site.thereMs, site.backMs] = [2, 2];
  await site.measure();
  expect(site.clock.wrongByMs).toBeCloseTo(60_000, -2);
});

test.each([
  [8_000, 0],
  [0, 8_000],
])("one measurement of %d ms there and %d ms back does not make the clock wrong", async (thereMs, backMs) => {
  const site = new Site();
  [site.thereMs, site.backMs] = [thereMs, backMs];
  await site.measure();
  expect([site.clock.fault, site.differenceMs]).toEqual([undefined, 0]);
});

test("after the monotonic clock stopped, as on a suspended machine, the next measurement corrects it", async () => {
  const site = new Site();
  await site.measure();
  site.aheadMs = 3_600_000;
  site.databaseAheadMs = 3_600_000;
  expect(site.clock.fault).toMatch(/3600.0 s ahead/);
  await site.measure();
  expect([site.clock.fault, site.differenceMs]).toEqual([undefined, 0]);
});

test("the drift of a slower or faster clock is followed", async () => {
  const site = new Site();
  for (let second = 0; second < 10_000; second += 1) {
    await site.measure();
    site.steadyMs += 1_000;
    site.databaseAheadMs += 0.4;
  }
  expect(site.clock.wrongByMs).toBeCloseTo(-4_000, -2);
});

test("measurements of another database are discarded", async () => {
  const site = new Site();
  await site.measure();
  site.databaseAheadMs = 3;
  await site.measure(true);
  expect(Math.abs(site.clock.databaseTime(NOON as Instant) - NOON - 3)).toBeLessThanOrEqual(1);
});

test("time bounds are in the database's time, without the installation's intended offset", async () => {
  const YEAR_MS = 365 * 86_400_000;
  const site = new Site({ businessOffsetMs: YEAR_MS });
  site.aheadMs = YEAR_MS + 1_000;
  await site.measure();
  const now = site.clock.now();
  expect(site.clock.fault).toBeUndefined();
  expect(site.clock.databaseTime(now)).toBe(now - YEAR_MS - 1_000);
  expect(site.clock.notBefore(now)).toBe(now - YEAR_MS - 2_000);
  site.aheadMs = 0;
  expect(site.clock.fault).toMatch(/31536000.0 s behind/);
});
