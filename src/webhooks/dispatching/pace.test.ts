import { expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import { LEAST_PER_SECOND, MOST_OF_CUSTOMER_PER_SECOND, MOST_PER_SECOND, Pace } from "./pace.ts";

const [ann, bob] = ["ann", "bob"] as [CustomerId, CustomerId];

/** What is taken in so many seconds, if somebody tries each millisecond. */
function takenIn(seconds: number, pace: Pace, customers: readonly CustomerId[]): Map<CustomerId, number> {
  const taken = new Map(customers.map((customer) => [customer, 0]));
  for (let nowMs = 1_000; nowMs < 1_000 + seconds * 1_000; nowMs += 1)
    for (const customer of customers) {
      pace.adapt(nowMs);
      while (pace.mayTake(nowMs) && pace.mayTakeOf(customer, nowMs)) {
        pace.onTaken(customer, nowMs);
        taken.set(customer, (taken.get(customer) ?? 0) + 1);
      }
    }
  return taken;
}

/** A tenth of a second at once, and as much as comes meanwhile. */
const withBurst = (perSecond: number, seconds: number): number => perSecond * (seconds + 0.1) + 1;

test("a customer has its own pace, whatever the others do", () => {
  const taken = takenIn(2, new Pace({ utilization: 0 }), [ann, bob]);
  for (const customer of [ann, bob]) {
    expect(taken.get(customer)).toBeLessThanOrEqual(withBurst(MOST_OF_CUSTOMER_PER_SECOND, 2));
    expect(taken.get(customer)).toBeGreaterThan(0.98 * MOST_OF_CUSTOMER_PER_SECOND * 2);
  }
});

test("all customers together have one, too", () => {
  const customers = Array.from({ length: 20 }, (_, i) => `customer ${i}` as CustomerId);
  const all = [...takenIn(2, new Pace({ utilization: 0 }), customers).values()].reduce((sum, one) => sum + one, 0);
  expect(all).toBeLessThanOrEqual(withBurst(MOST_PER_SECOND, 2));
  expect(all).toBeGreaterThan(0.98 * MOST_PER_SECOND * 2);
});

test("of a customer a large delivery counts once more for each 16 KiB", () => {
  const pace = new Pace({ utilization: 0 });
  // A batch of a hundred of the largest events.
  pace.onTaken(ann, 0);
  pace.onBody(ann, 1_048_576, 0);
  pace.onTaken(bob, 0);
  pace.onBody(bob, 16_383, 0);
  // 65 of 500 a second, of which a tenth of a second is there at once.
  const restMs = (1_000 * 65) / MOST_OF_CUSTOMER_PER_SECOND - 100;
  expect([restMs - 1, restMs].map((ms) => pace.mayTakeOf(ann, ms))).toEqual([false, true]);
  expect([pace.mayTakeOf(bob, 0), pace.mayTake(0)]).toEqual([true, true]);
});

test("while the thread is busy a large delivery of a customer counts for more, and a small one does not", () => {
  const pace = new Pace({ utilization: 1 });
  for (let nowMs = 1_000; nowMs < 10_000; nowMs += 100) pace.adapt(nowMs);
  const restOf = (customer: CustomerId): number => {
    let restMs = 0;
    while (!pace.mayTakeOf(customer, 10_000 + restMs)) restMs += 1;
    return restMs;
  };
  pace.onTaken(ann, 10_000);
  pace.onBody(ann, 131_072, 10_000);
  pace.onTaken(bob, 10_000);
  pace.onBody(bob, 1_000, 10_000);
  // 2,500 of all by 200 are 12.5 for each 16 KiB: 101 of 500 a second, of which a tenth of a second is there at once.
  expect([restOf(ann), restOf(bob)]).toEqual([102, 0]);
});

test("of all a large delivery counts once more for each 64 KiB", () => {
  const pace = new Pace({ utilization: 1 });
  for (let nowMs = 1_000; nowMs < 10_000; nowMs += 100) pace.adapt(nowMs);
  expect(pace.perSecond).toBe(LEAST_PER_SECOND);
  // Two mebibytes: 34 of 200 a second, of which a tenth of a second is there at once.
  for (const customer of [ann, bob]) {
    pace.onTaken(customer, 10_000);
    pace.onBody(customer, 1_048_576, 10_000);
  }
  expect([10_069, 10_070].map((ms) => pace.mayTake(ms))).toEqual([false, true]);
});

test("a turn is over after sixteen deliveries, or after 128 KiB", () => {
  const pace = new Pace({ utilization: 0 });
  const takenInTurn = (bytes: number): number => {
    pace.beginTurn();
    let taken = 0;
    while (!pace.isTurnOver) {
      pace.onTaken(ann, 0);
      pace.onBody(ann, bytes, 0);
      taken += 1;
    }
    return taken;
  };
  expect([1_000, 65_536, 131_071, 1_048_576, 1_000].map(takenInTurn)).toEqual([16, 2, 2, 1, 16]);
});

test("while the thread is busy there are fewer, down to a bound, and as many as before when it has time again", () => {
  const load = { utilization: 0.95 };
  const pace = new Pace(load);
  const adapted = (fromMs: number): number => {
    for (let nowMs = fromMs; nowMs < fromMs + 5_000; nowMs += 25) pace.adapt(nowMs);
    return pace.perSecond;
  };
  expect(pace.perSecond).toBe(MOST_PER_SECOND);
  expect(adapted(1_000)).toBe(LEAST_PER_SECOND);
  load.utilization = 0.75;
  expect(adapted(10_000)).toBe(LEAST_PER_SECOND);
  load.utilization = 0.2;
  expect(adapted(20_000)).toBe(MOST_PER_SECOND);
});
