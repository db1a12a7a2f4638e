import { expect, onTestFinished, test, vi } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Database } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { Retention } from "./retention.ts";

test.each(["attempts", "deliveries"])("it runs once an hour, and again after 5 s while %s are left", async (left) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let [runs, most] = [0, 5_000];
  const rows = async (text: string) => {
    const isOf = text.includes("delete from webhook_attempt") ? "attempts" : "deliveries";
    if (isOf === "attempts") runs += 1;
    return Array.from({ length: isOf === left ? most : 0 }, () => ({}));
  };
  const database = { rows: async () => [], commits: { rows } } as unknown as Database;
  const events = { list: expect.fail, onNews: expect.fail, bounds: expect.fail };
  const clock = { now: () => Date.parse("2026-11-21T09:30:00Z") as Instant, fault: undefined };
  const retention = new Retention({ database, clock, events });
  const runsAfter = async (ms: number): Promise<number> => {
    vi.advanceTimersByTime(ms);
    await retention.run();
    return runs;
  };
  // What is too old is not removed before the clock has been looked at twice.
  most = 4_999;
  expect([await runsAfter(0), await runsAfter(3_599_999)]).toEqual([0, 0]);
  most = 5_000;
  expect([await runsAfter(1), await runsAfter(4_999)]).toEqual([1, 1]);
  most = 4_999;
  expect([await runsAfter(1), await runsAfter(3_599_999), await runsAfter(1)]).toEqual([2, 2, 3]);
});

test("what was given up of a customer's events that are no longer kept is removed", async () => {
  const removed: unknown[] = [];
  const rows = async (text: string, values: unknown[]) => {
    if (text.includes("where customer_id")) removed.push(values);
    return [];
  };
  const firstOf = new Map<string, bigint>([
    ["acme", 5n],
    ["shop", 1n],
    // None is kept.
    ["closed", 0n],
  ]);
  const customers = [...firstOf.keys()];
  const database = {
    rows: async () => customers.map((customer_id) => ({ customer_id })),
    commits: { rows },
    history: "first",
  };
  const bounds = async (customer: CustomerId) => ({ first: firstOf.get(customer) ?? expect.fail(customer), last: 9n });
  const events = { list: expect.fail, onNews: expect.fail, bounds };
  const clock = { now: () => Date.parse("2026-11-21T09:30:00Z") as Instant, fault: undefined };
  await new Retention({ database: database as unknown as Database, clock, events }).run();
  expect(removed).toEqual([
    ["acme", 5n, "first"],
    ["closed", 10n, "first"],
  ]);
});
