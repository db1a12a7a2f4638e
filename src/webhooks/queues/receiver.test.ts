import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { Receiver } from "./receiver.ts";

const NOW = 1_000_000_000 as Instant;
const NOTHING_YET = {
  readTo: 0n,
  accepted: [],
  batchEnd: undefined,
  failingSince: undefined,
  lastFailureAt: undefined,
  lastSuccessAt: undefined,
};
const FAILED = { kind: "failed", error: "answered 500" } as const;

test("what only fails is tried less and less often, until something is accepted", () => {
  const receiver = new Receiver(100, NOTHING_YET);
  const restAfter = (outcome: Parameters<Receiver["onOutcome"]>[0]): number => {
    receiver.onOutcome(outcome, NOW);
    return receiver.readyAt(NOW) - NOW;
  };
  const rests = Array.from({ length: 20 }, () => restAfter(FAILED));
  const doubled = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600];
  expect(rests).toEqual([...Array.from({ length: 8 }, () => 0), ...doubled, 30_000, 30_000, 30_000]);
  expect(restAfter({ ...FAILED, retryAfterMs: 40_000 })).toBe(40_000);
  receiver.onOutcome({ kind: "accepted" }, NOW);
  expect(restAfter(FAILED)).toBe(0);
});

test("a clock that is set back delays the next request by no more than the pace does, or an hour if the receiver asked", () => {
  const receiver = new Receiver(1, NOTHING_YET);
  receiver.onSent(NOW);
  const aDayAgo = (NOW - 24 * 3_600_000) as Instant;
  expect(receiver.readyAt(aDayAgo) - aDayAgo).toBe(1_000);
  receiver.onOutcome({ ...FAILED, retryAfterMs: 60_000 }, NOW);
  expect(receiver.readyAt(aDayAgo) - aDayAgo).toBe(3_600_000);
});

test("as much may be sent at once as in a second, and then as often as its webhook says", () => {
  const receiver = new Receiver(10, NOTHING_YET);
  const sentBy = (now: number): number => {
    let sent = 0;
    for (; receiver.readyAt(now as Instant) <= now; sent += 1) receiver.onSent(now as Instant);
    return sent;
  };
  expect([sentBy(NOW), sentBy(NOW + 99), sentBy(NOW + 100), sentBy(NOW + 300)]).toEqual([10, 0, 1, 2]);
  // However long nothing was sent.
  expect(sentBy(NOW + 3_600_000)).toBe(10);
});

test("with each acceptance twice as many may be in flight, 16 at most, and one after a failure", () => {
  const receiver = new Receiver(100, NOTHING_YET);
  const most = (outcome: Parameters<Receiver["onOutcome"]>[0]): number => {
    receiver.onOutcome(outcome, NOW);
    return receiver.mostInFlight;
  };
  expect(receiver.mostInFlight).toBe(1);
  expect(Array.from({ length: 6 }, () => most({ kind: "accepted" }))).toEqual([2, 4, 8, 16, 16, 16]);
  expect([most(FAILED), most({ kind: "accepted" }), most({ kind: "gone", error: "answered 410" })]).toEqual([1, 2, 0]);
});

const DAY = 24 * 60 * 60 * 1_000;

test.each([
  // Five days of failures disable; two days without any attempt begin them anew (docs/decisions/0043-webhooks.md).
  [5 * DAY - 1, 2 * DAY, undefined],
  [5 * DAY, 2 * DAY, "failing"],
  [5 * DAY, 2 * DAY + 1, undefined],
])("after %d ms of failures, the last of them %d ms ago, another one disables: %s", (since, last, disabling) => {
  const [failingSince, lastFailureAt] = [NOW - since, NOW - last] as Instant[];
  const receiver = new Receiver(100, { ...NOTHING_YET, failingSince, lastFailureAt });
  receiver.onOutcome(FAILED, NOW);
  expect(receiver.disabling).toBe(disabling);
});
