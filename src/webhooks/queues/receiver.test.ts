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

test("a clock that is set back delays the next request by no more than the pace does", () => {
  const receiver = new Receiver(1, NOTHING_YET);
  receiver.onSent(NOW);
  const anHourAgo = (NOW - 3_600_000) as Instant;
  expect(receiver.readyAt(anHourAgo) - anHourAgo).toBe(1_000);
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
