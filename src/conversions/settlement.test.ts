/** When settlement does its work; what it does is in rules.test.ts and test/protocol/conversions.test.ts. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Caller } from "../ledger/caller.ts";
import type { Lane } from "../ledger/writer/lane.ts";
import type { Clock, Instant } from "../std/clock.ts";
import { type Conversion, conversionTable } from "./conversion.ts";
import { cancellationOf, createConversions, settlementOf } from "./conversions.ts";
import { Settlement } from "./settlement.ts";

const DELAY_MS = 5_000;
const CALLER: Caller = { house: "settlement" };
const conversion = (id: string) =>
  ({ id, customerId: "acme", profileId: "p", sourceAsset: "USD", targetAsset: "USDG" }) as Conversion & never;
const clock: Clock = { now: () => Date.now() as Instant };

let settlements: number;
let searches: (readonly unknown[])[];
let fault: Error | undefined;
/** Of searches. */
let searchFault: Error | undefined;
/** If it is set, settlements and searches end when these are called. */
let held: (() => void)[] | undefined;
/** By a search: rows, as the driver returns them. */
let found: object[];
let reports: unknown[];
let delayMs: number;
let settlement: Settlement;

beforeEach(() => {
  delayMs = DELAY_MS;
  vi.useFakeTimers({ now: Date.parse("2026-11-21T09:30:00.000Z") });
  [settlements, searches, fault, searchFault, held, found, reports] = [0, [], undefined, undefined, undefined, [], []];
  const whenReleased = () => new Promise<void>((resolve) => (held === undefined ? resolve() : held.push(resolve)));
  settlement = new Settlement({
    database: {
      rows: async (_text: string, values: readonly unknown[] = []) => {
        searches.push(values);
        await whenReleased();
        if (searchFault !== undefined) throw searchFault;
        return found;
      },
    } as never,
    lane: {
      execute: (async () => {
        settlements += 1;
        if (fault !== undefined) throw fault;
        await whenReleased();
        return { kind: "done" };
      }) as unknown as Lane["execute"],
    },
    clock,
    get delayMs() {
      return delayMs;
    },
    onError: (error) => reports.push(error),
    onRecovered: (failures) => reports.push(failures),
  });
});

afterEach(() => {
  settlement.stop();
  if (fault === undefined) expect(reports).toEqual([]);
  vi.useRealTimers();
});

test("what was created here is settled when its delay is over, and not a millisecond before", async () => {
  settlement.onCreated(conversion("one"));
  await vi.advanceTimersByTimeAsync(2_000);
  settlement.onCreated(conversion("two"));
  await vi.advanceTimersByTimeAsync(DELAY_MS - 2_000 - 1);
  expect(settlements).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(settlements).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000 - 1);
  expect(settlements).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(settlements).toBe(2);
});

test("a delay that is longer than a timer can be is waited for all the same", async () => {
  delayMs = 30 * 86_400_000;
  const began = Date.now();
  settlement.onCreated(conversion("one"));
  await vi.advanceTimersToNextTimerAsync();
  expect([Date.now() - began, settlements]).toEqual([2 ** 31 - 1, 0]);
  await vi.advanceTimersToNextTimerAsync();
  expect([Date.now() - began, settlements]).toEqual([delayMs, 1]);
});

test("what was created is reported once it is durable, and what was rejected or existed is not", async () => {
  const one = conversion("one");
  const told: Conversion[] = [];
  let outcome: unknown;
  const conversions = createConversions({
    database: {} as never,
    lane: { execute: async () => outcome } as never,
    catalogue: { findAsset: () => undefined, listAssets: () => [] } as never,
    ids: { next: () => "one" } as never,
    onCreated: (created) => void told.push(created),
  });
  for (outcome of [{ kind: "rejected" }, { kind: "exists" }, { kind: "done", value: one }])
    expect(await conversions.create({ profileId: "p" } as never, CALLER)).toBe(outcome);
  expect(told).toEqual([one]);
});

test("a settlement waits with those of its customer, however many other commands that has sent; a cancel waits with those", () => {
  const [settling, cancelling] = [settlementOf, cancellationOf].map((of) => of(conversion("one"), CALLER));
  expect([settling?.queueKey, cancelling?.queueKey]).toEqual(["settlements of acme", "acme"]);
});

test("the search looks for what has been due for a second, or was made by a clock that is a minute ahead", async () => {
  settlement.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(searches).toEqual([
    [new Date("2026-11-21T09:29:54.000Z"), new Date("2026-11-21T09:31:00.000Z"), 500],
    [new Date("2026-11-21T09:29:55.000Z"), new Date("2026-11-21T09:31:01.000Z"), 500],
  ]);
});

test("once it is stopped, what is not due yet is left to the next start", async () => {
  settlement.start();
  settlement.onCreated(conversion("one"));
  await vi.advanceTimersByTimeAsync(DELAY_MS - 1);
  settlement.stop();
  const searched = searches.length;
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  settlement.onCreated(conversion("two"));
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  expect([settlements, searches.length]).toEqual([0, searched]);
});

/** A conversion of another node, as a search finds it. */
const LATE = { ...Object.fromEntries(conversionTable.columns.map(({ name }) => [name, null])), id: "late" };

test("what is being settled is not settled again by the searches that find it meanwhile", async () => {
  [found, held] = [[LATE], []];
  settlement.start();
  for (let second = 0; second < 3; second += 1) {
    // The search; the settlement goes on.
    held.splice(second === 0 ? 0 : 1, 1)[0]?.();
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect([settlements, searches.length]).toEqual([1, 4]);
  for (const release of held) release();
  await vi.advanceTimersByTimeAsync(0);
});

test("once it is stopped, what a search under way finds is left to the next start", async () => {
  found = [LATE];
  settlement.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(settlements).toBe(1);
  held = [];
  await vi.advanceTimersByTimeAsync(1_000);
  settlement.stop();
  expect([searches.length, held.length]).toEqual([2, 1]);
  held.shift()?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(settlements).toBe(1);
});

test("of all that is due, 500 are settled at a time, and the search asks for no more than that", async () => {
  held = [];
  for (let i = 0; i < 499; i += 1) settlement.onCreated(conversion(`conversion ${i}`));
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  settlement.start();
  expect([settlements, searches.map(([, , limit]) => limit)]).toEqual([499, [1]]);
  for (const id of ["one", "two"]) settlement.onCreated(conversion(id));
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  const searched = searches.length;
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  expect([settlements, searches.length]).toEqual([500, searched]);
  held.shift()?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(settlements).toBe(501);
  for (const release of held) release();
  await vi.advanceTimersByTimeAsync(0);
});

test("10,000 wait here until they are due; the search finds what was created beyond them", async () => {
  for (let i = 0; i < 10_001; i += 1) settlement.onCreated(conversion(`conversion ${i}`));
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  expect(settlements).toBe(10_000);
  settlement.onCreated(conversion("later"));
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  expect(settlements).toBe(10_001);
});

test("an outage is reported once, and when it is over with the number of failures", async () => {
  fault = new Error("the database is read-only");
  for (const id of ["one", "two", "three"]) settlement.onCreated(conversion(id));
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  expect([settlements, reports]).toEqual([3, [fault]]);
  fault = undefined;
  settlement.onCreated(conversion("four"));
  await vi.advanceTimersByTimeAsync(DELAY_MS);
  expect(reports.splice(0)).toEqual([new Error("the database is read-only"), 3]);
});

test("searches that fail are reported once, and when they succeed again with the number of failures", async () => {
  searchFault = new Error("the database is away");
  settlement.start();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(reports).toEqual([searchFault]);
  searchFault = undefined;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(reports.splice(0)).toEqual([new Error("the database is away"), 3]);
});

test("on a database that is read-only, where searches succeed, the failure to settle is reported once", async () => {
  [found, fault] = [[LATE], new Error("read-only")];
  settlement.start();
  await vi.advanceTimersByTimeAsync(3_000);
  expect([settlements, reports]).toEqual([4, [fault]]);
});

test("one timer is set, however many conversions wait, and none once it is stopped", () => {
  for (const id of ["one", "two", "three"]) settlement.onCreated(conversion(id));
  expect(vi.getTimerCount()).toBe(1);
  settlement.stop();
  expect(vi.getTimerCount()).toBe(0);
});
